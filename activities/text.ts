// Texts that the API refuses (L58). Lone surrogates make a request unreadable: they become U+FFFD, wherever they stand in a JSON
// value. A text of white space only is refused as empty.
import { toUSVString } from 'node:util';

/** In a pattern for code points, a pair is none. */
const lone = /\p{Surrogate}/gu;

export function wellFormedText(text: string): string {
  return text.replace(lone, '\ufffd');
}

/** The value itself when there is nothing to replace. */
export function wellFormed<T>(value: T): T {
  const json = JSON.stringify(value);
  // JSON.stringify escapes a surrogate only when it is alone.
  if (!json.includes('\\ud')) return value;
  return JSON.parse(json.replace(/\\(?:ud[89a-f][0-9a-f]{2}|.)/g, replaced)) as T;
}

/** Other escapes stay, an escaped backslash before "ud" among them. */
function replaced(escape: string): string {
  return escape.startsWith('\\ud') ? '\\ufffd' : escape;
}

/** White space to others, though not to JavaScript. */
const alsoBlank = new Set(['\u001c', '\u001d', '\u001e', '\u001f', '\u0085']);

export function isBlank(text: string): boolean {
  for (const character of text) {
    if (character.trim() !== '' && !alsoBlank.has(character)) return false;
  }
  return true;
}

// Cuts text that goes where there is little room: facts in the history, reasons, notes.

/** At most `limit` characters, well-formed. */
export function clip(text: string, limit = 2_000): string {
  return toUSVString(text.length <= limit ? text : `${text.slice(0, limit - 1)}…`);
}

/** The text without the secrets of this process. */
export type Redact = (text: string) => string;

// What is said of an error that is not ours.

/** The first line of an error's message, for the end of a sentence. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n', 1)[0]?.trim() || 'no reason given';
}

/** The `code` of a system error, such as ENOENT; undefined for any other value. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
