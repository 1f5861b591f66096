// Texts that the API refuses (L58). Lone surrogates make a request unreadable: they become U+FFFD, wherever they stand in a JSON
// value. A text of white space only is refused as empty.
import { toUSVString } from 'node:util';

/** In a pattern for code points, a pair is none. */
const lone = /\p{Surrogate}/gu;

export function wellFormedText(text: string): string {
  return text.replace(lone, '\ufffd');
}

/** The value itself when there is nothing to replace. */
export function replaceLoneSurrogates<T>(value: T): T {
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

// Returns the words for an error that is not ours.

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

// Text from a model, a tool, a file or another workflow is not allowed to drive a person's terminal, and not allowed to hide: control
// characters, marks that turn the direction of text around, and what no one sees are shown by their names, and nothing is left out. Line
// breaks and tabs stay.

/** Characters that act on a terminal or take no room, lone halves of characters too. */
const UNSEEN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
/** Joiners and variation selectors that make one picture of two, and joiners of scripts that are written with them. */
const JOINED =
  /(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d(?=\p{Extended_Pictographic})|(?<=\p{Emoji})\ufe0f|(?<=[\p{scx=Arab}\p{scx=Deva}\p{scx=Beng}\p{scx=Mlym}\p{scx=Sinh}])[\u200c\u200d]/gu;

export function showUnseen(text: string): string {
  const joined = new Set([...text.matchAll(JOINED)].map(({ index }) => index));
  return text.replace(UNSEEN, (character, at: number) =>
    character === '\n' || character === '\t' || joined.has(at) ? character : nameOf(character),
  );
}

/** \r, \x1b, \u202e, \u{e0041} */
function nameOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (character === '\r') return '\\r';
  const hex = code.toString(16);
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`;
}

/** JSON that no terminal acts on, and that reads back the same: what JSON leaves as it is although nobody sees it. */
export function jsonLine(value: unknown): string {
  return escapeUnseen(JSON.stringify(value));
}

/** `json`: on one line. */
export function escapeUnseen(json: string): string {
  const escape = (character: string): string =>
    Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
      .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
      .join('');
  return json.replace(UNSEEN, escape);
}
