// What most commands need: units, the widths of a terminal, ids of sessions, fields that are absent.
export { abortWith, actOnAbort, LEAVING_MS } from '../async.ts';
export { createMailbox } from '../mailbox.ts';
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
export { present } from '../../workflows/contract/present.ts';
