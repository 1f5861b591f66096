// What every face needs first, light enough for the start of any command: problems, units, the widths
// and colours of a terminal, ids, versions, and what hides secrets.
export { abortWith, actOnAbort, LEAVING_MS } from '../async.ts';
export { createMailbox } from '../mailbox.ts';
export { COLUMNS, detectPaint, isPlain, oneLine, shellWord } from '../paint.ts';
export { ClientProblem } from '../problem.ts';
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
export { createRedactor } from '../../worker/redact.ts';
export { VERSION } from '../../worker/version.ts';
export { didYouMean } from '../../workflows/contract/did-you-mean.ts';
export { present } from '../../workflows/contract/present.ts';
