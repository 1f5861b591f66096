// Lists of sessions and schedules: filters, trees, states and tables.
export {
  clockChangeText,
  formatTable,
  scheduleStateText,
  scheduleTable,
  sessionTable,
  shortPhase,
} from '../render/tables.ts';
export { FilterProblem, parseFilter, stateMeant } from '../sessions/find/parse-filter.ts';
export { isFailedSession, isUnderWay, phaseText } from '../sessions/info.ts';
export { isAtLeast, isSilentSession, silenceOf, withRunning } from '../sessions/running/with-running.ts';
export { plantTrees, rowsOfTree, titleInTree } from '../sessions/trees.ts';
