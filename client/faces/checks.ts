// Checks of this machine and its network, with what to do about each finding.
export { deferralOf, prepareServers } from '../runtime/network-checks.ts';
export { runChecks } from '../runtime/doctor.ts';
export { canUseAttributes, ensureAttributes } from '../sessions/find/attributes.ts';
export { tryServer } from '../../tools/mcp/open-servers.ts';
