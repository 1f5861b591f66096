// Words and rows for a session's events and entries, its end, its calls and decisions.
export {
  approvalHint,
  approvalText,
  approvalWhat,
  approvalWhy,
  areNumbered,
  callToDecideText,
  ofAgent,
  parseQuestion,
} from '../render/approval-text.ts';
export { compactionText, contextText, describeStaged, fullCommand, shortenedText } from '../render/context-words.ts';
export { changeOf, diffRows, SHOWN } from '../render/diff-rows.ts';
export {
  approvalWords,
  asideCost,
  endWord,
  nowText,
  outcomeWords,
  pairOutcomes,
  REPEATED,
} from '../render/outcome-words.ts';
export { endingText, endWords, errorOf, outcomeText, unlessSaid } from '../render/ending-words.ts';
export { inlineSpans } from '../render/inline-markdown.ts';
export {
  briefInput,
  callAgain,
  callLines,
  callWhat,
  compactInput,
  inputFields,
  NAME,
  resultLines,
} from '../render/tool-lines.ts';
export {
  budgetText,
  epochText,
  isOrdinary,
  noticeText,
  reasonText,
  searchBlockLine,
  searchLine,
  transitionText,
} from '../render/words.ts';
export { roundUsd, stopText, terminalDetail, wasInterrupted } from '../sessions/outcome.ts';
export { contextShare } from '../sessions/running/running-row.ts';
export { isTombstone, tombstoneOf } from '../../store/live/events.ts';
export { isUntimed, SHOWN_OF_OUTCOME } from '../../store/live/tell.ts';
export { createBodyReader, mediaNote } from '../../store/log/bodies.ts';
export { isRepeated } from '../../store/log/entries.ts';
export { splitQuestions } from '../../store/transcript/question-lists.ts';
export { WEB_SEARCH } from '../../store/transcript/server-tools.ts';
export { taskListOf, tasksAfter } from '../../store/view/task-list.ts';
