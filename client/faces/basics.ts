// Basics for most commands: units, widths of a terminal, ids and names, absent fields.
export {
  displayWidth,
  graphemeWidth,
  markRows,
  rowsText,
  setAmbiguousWide,
  splitGraphemes,
  truncateToWidth,
  wrapLine,
} from '../render/width.ts';
export { newSessionId, parseSessionId, sessionIdProblem } from '../sessions/ids.ts';
export {
  formatCount,
  formatMoment,
  formatMoney,
  formatSize,
  formatTokens,
  parseDuration,
  shortAge,
  shortTime,
} from '../units.ts';
export { didYouMean } from '../../workflows/contract/did-you-mean.ts';
export { isElicited, isName, MEDIA_TYPES } from '../../workflows/contract/people.ts';
export { present } from '../../workflows/contract/present.ts';
export { hostQueue, LONGEST_ID, TASK_QUEUE, WORKFLOW_TYPE } from '../../workflows/contract/session.ts';
