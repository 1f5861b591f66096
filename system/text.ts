// Texts that the API refuses (L58). Lone surrogates make a request unreadable: they become U+FFFD,
// wherever they stand in a JSON value. A text of white space only is refused as empty.
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

/** Each run of blanks and line ends as one blank. */
export function onOneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}

// Cuts text that goes where there is little room: facts in the history, reasons, notes.

/** At most `limit` characters, well-formed. */
export function clip(text: string, limit = 2_000): string {
  return toUSVString(text.length <= limit ? text : `${text.slice(0, limit - 1)}…`);
}

/**
 * Words of others that stand beside what the loop itself says: no line of them can be taken for
 * that.
 */
export function quoteLines(text: string): string {
  return text.replaceAll(/^/gm, '> ');
}

/** The text without the secrets of this process. */
export type Redact = (text: string) => string;

// Hides secrets, in whatever spelling they come back: as they are, percent-encoded, JSON-escaped,
// in base64 at any offset. For texts that people read and the store keeps; what a model says in a
// reply is not touched (L16).

/** Characters. A shorter one would also be found where it is no secret. */
const LEAST = 6;

const INSTEAD = '[redacted]';

/**
 * JSON within JSON doubles a backslash each time. Bounded: a run of them must not be looked at
 * again from each.
 */
const ESCAPE = String.raw`\\{1,8}`;

export function hideTexts(secrets: readonly string[]): Redact {
  const spellings = secrets
    .filter((secret) => secret.length >= LEAST)
    .flatMap((secret) => [secret, ...inBase64(secret)])
    // The longer one of two that begin alike goes first.
    .toSorted((one, other) => other.length - one.length);
  if (spellings.length === 0) return (text) => text;
  const any = new RegExp([...new Set(spellings)].map(inAnyEscape).join('|'), 'giu');
  return (text) => text.replace(any, INSTEAD);
}

/**
 * As a part of a longer text in base64 it looks different at each of three offsets; letters that
 * hold bits of its neighbours are left out.
 */
function inBase64(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replaceAll('=', '');
    const whole = (offset + bytes.length) % 3 === 0;
    return encoded.slice(Math.ceil((offset * 8) / 6), whole ? undefined : -1);
  });
}

/** A pattern for the text with any of its characters escaped, as a URL or JSON would. */
function inAnyEscape(text: string): string {
  return Array.from(text, anyEscape).join('');
}

function anyEscape(character: string): string {
  const literal = character.replace(/[\\^$.*+?()[\]{}|/]/u, String.raw`\$&`);
  const percent = [...Buffer.from(character)].map((byte) => `%(?:25)?${inHex(byte, 2)}`).join('');
  const units = Array.from({ length: character.length }, (_, at) => inHex(character.charCodeAt(at), 4));
  const unicode = units.map((unit) => `${ESCAPE}u${unit}`).join('');
  return `(?:${[literal, percent, unicode, ...(others[character] ?? [])].join('|')})`;
}

/** Its other spellings: base64 for URLs, a blank in a query, JSON's short escapes. */
const others: Readonly<Record<string, readonly string[]>> = {
  '+': ['-'],
  '/': ['_', `${ESCAPE}/`],
  ' ': [String.raw`\+`],
  '"': [`${ESCAPE}"`],
  '\\': [String.raw`\\\\`],
};

function inHex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}

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

// Text from a model, a tool, a file or another workflow is not allowed to drive a person's
// terminal, and not allowed to hide: control characters, marks that turn the direction of text
// around, and what no one sees are shown by their names, and nothing is left out. Line breaks and
// tabs stay.

/** Characters that act on a terminal or take no room, lone halves of characters too. */
const UNSEEN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
/**
 * Joiners and variation selectors that make one picture of two, and joiners of scripts that are
 * written with them.
 */
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

/**
 * JSON that no terminal acts on, and that reads back the same: what JSON leaves as it is although
 * nobody sees it.
 */
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
