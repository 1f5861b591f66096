// Reads a model's suggestion of what a person may write next: one line that a terminal and a page
// can show as it is, and that can be sent as a message.
import { isBlank, showUnseen } from '../../system/text.ts';

/** Characters. */
const LONGEST_SUGGESTION = 200;

/**
 * Matches the beginning of a command of the chat, of a quotation, or of marks around words that are
 * not the user's.
 */
const NO_MESSAGE = /^[/>=<[({#`*-]|^(?:added by|from|notes?|system|user|assistant|human)\b[^.?!]*:/i;

export function isSuggestion(text: string): boolean {
  const isLine = text.length <= LONGEST_SUGGESTION && text.trim() === text && !/[\n\t]/.test(text);
  return isLine && !isBlank(text) && showUnseen(text) === text && !NO_MESSAGE.test(text);
}

/** Returns null when the answer is not a suggestion, or says that none fits. */
export function readSuggestion(answer: string): string | null {
  const text = answer.trim().replace(/^(["'“‘`])(.+)["'”’`]$/s, '$2');
  return isSuggestion(text) && !/^\W*none\W*$/i.test(text) ? text : null;
}
