// Makes text safe to pass on: well-formed and not blank for the API (L58), without secrets, short,
// and visible in full on a terminal.
import { toUSVString } from 'node:util';

/** Matches lone surrogates only: with the `u` flag a pair is one code point. */
const LONE_SURROGATE = /\p{Surrogate}/gu;

/** Replaces lone surrogates by U+FFFD. */
export function wellFormedText(text: string): string {
  return text.replace(LONE_SURROGATE, '\ufffd');
}

/**
 * Replaces lone surrogates, which make a request unreadable, by U+FFFD wherever they stand in a
 * JSON value. Returns `value` itself when there is nothing to replace.
 */
export function replaceLoneSurrogates<T>(value: T): T {
  const json = JSON.stringify(value);
  // JSON.stringify escapes a surrogate only when it is alone.
  if (!json.includes('\\ud')) return value;
  return JSON.parse(json.replace(/\\(?:ud[89a-f][0-9a-f]{2}|.)/g, replaceEscape)) as T;
}

/** Keeps other escapes, an escaped backslash before "ud" among them. */
function replaceEscape(escape: string): string {
  return escape.startsWith('\\ud') ? '\\ufffd' : escape;
}

/** The API counts these as white space; JavaScript does not. */
const OTHER_BLANKS = new Set(['\u001c', '\u001d', '\u001e', '\u001f', '\u0085']);

/** Tells whether a text is white space only: the API refuses it as empty. */
export function isBlank(text: string): boolean {
  for (const character of text) {
    if (character.trim() !== '' && !OTHER_BLANKS.has(character)) return false;
  }
  return true;
}

/** Replaces each run of blanks and line ends by one blank. */
export function onOneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}

/**
 * Cuts a text to `limit` characters, well-formed, for places with little room: facts in the
 * history, reasons, notes.
 */
export function clip(text: string, limit = 2_000): string {
  return toUSVString(text.length <= limit ? text : `${text.slice(0, limit - 1)}…`);
}

/**
 * Quotes foreign words that are put among the loop's own, so that no line of them can be taken for
 * the loop's.
 */
export function quoteLines(text: string): string {
  return text.replaceAll(/^/gm, '> ');
}

/** Returns the first line of an error's message, for the end of a sentence. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n', 1)[0]?.trim() || 'no reason given';
}

/** Returns the `code` of a system error, such as ENOENT; undefined for any other value. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** Matches characters that act on a terminal or take no room, lone halves of characters too. */
const UNSEEN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
/**
 * Matches joiners and variation selectors that make one picture of two, and joiners of scripts that
 * are written with them.
 */
const JOINERS =
  /(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d(?=\p{Extended_Pictographic})|(?<=\p{Emoji})\ufe0f|(?<=[\p{scx=Arab}\p{scx=Deva}\p{scx=Beng}\p{scx=Mlym}\p{scx=Sinh}])[\u200c\u200d]/gu;

/** Matches what most texts are made of, which is all to be seen. */
const PLAIN = /^[ -~\n\t]*$/;

/**
 * Shows control characters, marks that turn the direction of text around, and characters that
 * cannot be seen by their names. Text from a model, a tool, a file or another workflow must not
 * drive a person's terminal, nor hide anything; line breaks and tabs stay.
 */
export function showUnseen(text: string): string {
  if (PLAIN.test(text)) return text;
  const joined = new Set([...text.matchAll(JOINERS)].map(({ index }) => index));
  return text.replace(UNSEEN, (character, at: number) =>
    character === '\n' || character === '\t' || joined.has(at) ? character : showCharacter(character),
  );
}

/** Returns a name such as `\r`, `\x1b`, `\u202e` or `\u{e0041}`. */
function showCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (character === '\r') return '\\r';
  const hex = code.toString(16);
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`;
}

/**
 * Returns JSON on one line that reads back the same, with every character escaped that acts on a
 * terminal or cannot be seen. JSON.stringify leaves some of those as they are.
 */
export function jsonLine(value: unknown): string {
  return escapeUnseen(JSON.stringify(value));
}

/** Escapes the unseen characters of `json`, which must be on one line. */
export function escapeUnseen(json: string): string {
  const escape = (character: string): string =>
    Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
      .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
      .join('');
  return json.replace(UNSEEN, escape);
}

type Exit = { readonly code: number | null; readonly signal: string | null };

/** Says how a program ended: the signal that killed it, or its status. */
export const describeExit = ({ code, signal }: Exit): string => signal ?? `status ${code}`;
