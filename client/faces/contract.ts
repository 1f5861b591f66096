// Values of the contract that faces use: names, ids and sums. Its types are in types.ts.
export { LONGEST_ASIDE } from '../../workflows/contract/aside.ts';
export { AGENT_TOOL } from '../../workflows/contract/delegation.ts';
export { tagValues } from '../../workflows/contract/facts.ts';
export { agentName, agentSessionId, isTraceparent, keyHead } from '../../workflows/contract/ids.ts';
export { addSpend, noSpend, noUsage, totalTokens } from '../../workflows/contract/loop.ts';
export { forItsProgram, isForItsProgram } from '../../workflows/contract/task-queue.ts';
export { isBadEnd } from '../../workflows/contract/visibility.ts';
