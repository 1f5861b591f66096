// What programs outside send to a session and answer for it: prompts, results of calls that wait,
// servers and agents of a run.
export { messageBody } from '../sessions/message.ts';
export { newestStepOf } from '../sessions/newest-head.ts';
export { callUntilAnswered, impatient } from '../sessions/persist.ts';
export { parsePrompt } from '../sessions/prompt.ts';
export { sendSignal } from '../sessions/send.ts';
export { update } from '../sessions/updates/update.ts';
export { SERVER_PREFIX } from '../../store/transcript/found-tools.ts';
export { isOfWorker } from '../../workflows/contract/delegation.ts';
export { isHash } from '../../workflows/contract/ids.ts';
export { findRepeated } from '../../workflows/contract/list-problems.ts';
export { mcpServersProblem, MOST_VAULTS, SERVER_NAME } from '../../workflows/contract/mcp-servers.ts';
export { MOST_ROSTER } from '../../workflows/contract/roster.ts';
export { LONGEST_SYSTEM_MESSAGE } from '../../workflows/contract/people.ts';
export { LONGEST_REASON, SIGNALS, UPDATES } from '../../workflows/contract/session.ts';
export { describeLost, LARGEST_GIVEN, placeInName } from '../../workflows/contract/waits.ts';
