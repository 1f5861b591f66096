// A session before and after a call of the client: prompts and media, checks of decisions, whether
// it is at rest.
export { abortWith, actOnAbort, createMailbox, LEAVING_MS } from '../async.ts';
export { agentsAtWork, goalAfter, goalOf, hasNoRun, isAtRest } from '../follow/news.ts';
export { refuseUnknown } from '../options.ts';
export { answerProblem, isApprovalEvent, reasonProblem } from '../sessions/waiting-approval.ts';
export { openSessionsIn } from '../sessions/find/list-sessions.ts';
export { newMessageId } from '../sessions/ids.ts';
export { configurationName, describeNoWorker } from '../sessions/watch-pollers.ts';
export { promptProblem } from '../sessions/prompt.ts';
export { examineMedia, maxBytesOf, mediaBlock } from '../../store/transcript/media.ts';
export { hashOf, isDamage, keySegment, parseStored, StoreError } from '../../store/values/store.ts';
