// A session before and after a call of the client: prompts and media, checks of decisions, whether
// it is at rest.
export { abortWith, actOnAbort, LEAVING_MS } from '../async.ts';
export { agentsAtWork, goalAfter, goalOf, hasNoRun, isAtRest } from '../follow/goal.ts';
export { createMailbox } from '../mailbox.ts';
export { refuseUnknown } from '../options.ts';
export { answerProblem, reasonProblem } from '../sessions/decide.ts';
export { openSessionsIn } from '../sessions/find/list-sessions.ts';
export { newMessageId } from '../sessions/ids.ts';
export { configurationName, describeNoWorker } from '../sessions/no-worker.ts';
export { promptProblem } from '../sessions/prompt.ts';
export { isApprovalEvent } from '../sessions/waiting-approval.ts';
export { examineMedia, maxBytesOf, mediaBlock } from '../../store/transcript/media.ts';
export { hashOf, isDamage, keySegment, parseStored, StoreError } from '../../store/values/store.ts';
