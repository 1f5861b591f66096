// Facts of a session that are computed from its transcript alone: items, iterations, bars, agents,
// files, rewinds and costs.
export {
  callsText,
  conversationText,
  countFiles,
  filesLines,
  markUnnamed,
  NOT_NAMED,
  notLookedText,
  warningLists,
} from '../render/files-words.ts';
export { findAgentCalls, matchAgents } from '../sessions/history/agent-calls.ts';
export { barOf, workerName } from '../sessions/history/bars.ts';
export { countTouchedFiles, listCommands, listReadFiles, listTouchedFiles } from '../sessions/history/changed-files.ts';
export { foldItems, isReply, positionOf, takeCalls, transcriptItems } from '../sessions/history/items.ts';
export { iterationName, iterationsOf, stepsByIteration, withUnstored } from '../sessions/history/iterations.ts';
export { isForked, sumSpend } from '../sessions/history/spend.ts';
