// What is found on this machine and its network, and what to do about it.
export { deferralOf } from '../runtime/deferred-tools.ts';
export { runChecks } from '../runtime/doctor.ts';
export { prepareServers } from '../runtime/network-checks.ts';
export { canUseAttributes, ensureAttributes } from '../sessions/find/attributes.ts';
export { tryServer } from '../../tools/mcp/open-servers.ts';
