// What a person may write next, as a model has put it: one line that a terminal and a page can show
// as it is, and that is a message when it is sent.
import { isBlank, showUnseen } from '../../system/text.ts';

/** Characters. */
export const LONGEST_SUGGESTION = 200;

/**
 * The beginning of a command of the chat, of a quotation, or of marks around what others than the
 * user say.
 */
const NO_MESSAGE = /^[/>=<[({#`*-]|^(?:added by|from|notes?|system|user|assistant|human)\b[^.?!]*:/i;

export function isSuggestion(text: string): boolean {
  const isLine = text.length <= LONGEST_SUGGESTION && text.trim() === text && !/[\n\t]/.test(text);
  return isLine && !isBlank(text) && showUnseen(text) === text && !NO_MESSAGE.test(text);
}

/** Null where the answer is none of the kind, or says that there is none. */
export function readSuggestion(answer: string): string | null {
  const text = answer.trim().replace(/^(["'“‘`])(.+)["'”’`]$/s, '$2');
  return isSuggestion(text) && !/^\W*none\W*$/i.test(text) ? text : null;
}
