// What a face does with a session before and after it asks the client: ids and prompts, checks of
// decisions, rules for `always allow`, whether it rests.
export { agentsAtWork, goalAfter, goalOf, hasNoRun, isAtRest } from '../follow/goal.ts';
export { refuseUnknown } from '../options.ts';
export { createAlwaysRules, ruleFor, rulesFor } from '../sessions/always-allow.ts';
export { answerProblem, reasonProblem } from '../sessions/decide.ts';
export { openSessionsIn } from '../sessions/find/in-folder.ts';
export { newMessageId } from '../sessions/ids.ts';
export { configurationName, describeNoWorker } from '../sessions/no-worker.ts';
export { promptProblem } from '../sessions/prompt.ts';
export { isApprovalEvent } from '../sessions/waiting-approval.ts';
export { examineMedia, maxBytesOf, mediaBlock } from '../../store/transcript/media.ts';
export { hashOf, isDamage, keySegment, parseStored, StoreError } from '../../store/values/store.ts';
export { builtinNames } from '../../tools/builtin/builtin-names.ts';
export { mayReadByRules, mistakenRule } from '../../tools/rules/match-rules.ts';
