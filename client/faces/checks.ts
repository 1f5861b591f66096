// Checks of this machine and its network, with what to do about each finding.
export { deferralOf } from '../runtime/deferred-tools.ts';
export { runChecks } from '../runtime/doctor.ts';
export { prepareServers } from '../runtime/network-checks.ts';
export { canUseAttributes, ensureAttributes } from '../sessions/find/attributes.ts';
export { tryServer } from '../../tools/mcp/open-servers.ts';
