// Texts and names that look the same and are not: a no-break space, a decomposed accent, a curly
// quote, a tab for blanks, a character of no width. Nothing is changed on the strength of a
// likeness; whoever looked for the one is told where the other is, and what differs.
import { isUtf8 } from 'node:buffer';
import { readdir } from 'node:fs/promises';
import { clip, onOneLine } from '../../../system/text.ts';
import { bordersOf } from './replace-text.ts';

/**
 * Characters and lines of a file that are searched for a likeness: the file and the text are a
 * model's, the thread is everybody's.
 */
const MOST_SEARCHED = 512 * 1024;
const MOST_LINES_SEARCHED = 20_000;
/** Of a line: a longer one is like nothing. */
const LONGEST_LINE = 2_000;
/** Lines of what is looked for. */
const MOST_LINES = 50;
/** Places in a line where the text that was looked for may begin. */
const MOST_STARTS = 100;
/**
 * Accents that one letter has in no language: to put as many in order takes time in proportion to
 * their square.
 */
const HEAP_OF_MARKS = /\p{M}{31}/u;

const DRAWN_ALIKE: readonly (readonly [RegExp, string])[] = [
  [/[\u200b-\u200d\u2060\ufeff\u00ad]/g, ''],
  [/[\t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000 ]+/g, ' '],
  [/[\u2018\u2019\u201a\u201b\u2032]/g, "'"],
  [/[\u201c-\u201f\u2033]/g, '"'],
  [/[\u2010-\u2015\u2212]/g, '-'],
  [/\u2026/g, '...'],
];

/** The same for all texts that are drawn alike. */
function drawn(text: string): string {
  const composed = HEAP_OF_MARKS.test(text) ? text : text.normalize('NFC');
  return DRAWN_ALIKE.reduce((shown, [character, plain]) => shown.replaceAll(character, plain), composed);
}

const drawnLine = (line: string): string => (line.length > LONGEST_LINE ? line : drawn(line).trim());

/**
 * A sentence about the line of `text` that is most like `wanted`, which is not in it. Undefined
 * where none is.
 */
export function nearestLine(text: string, wanted: string): string | undefined {
  const lines = linesOf(text.slice(0, MOST_SEARCHED)).slice(0, MOST_LINES_SEARCHED);
  const asked = linesOf(wanted.slice(0, MOST_LINES * LONGEST_LINE)).slice(0, MOST_LINES);
  const shown = lines.map(drawnLine);
  const looked = asked.map(drawnLine);
  const holds = finder(looked[0] ?? '');
  let best = { line: -1, at: 0, score: 0 };
  for (let from = 0; from < shown.length; from++) {
    const { at, score } = likeness(shown, looked, from, holds);
    if (score > best.score) best = { line: from + at, at, score };
  }
  const [there, meant] = [lines[best.line], asked[best.at]];
  if (there === undefined || meant === undefined) return undefined;
  return describe(best.line + 1, there, meant, best.at === 0);
}

const linesOf = (text: string): string[] => text.split(/\r?\n/);

/**
 * How many lines are drawn alike from here on, and how much of the first that is not. `at`: the
 * line of `looked` that differs, or the first.
 */
function likeness(
  shown: readonly string[],
  looked: readonly string[],
  from: number,
  holds: (line: string) => boolean,
): { at: number; score: number } {
  const last = looked.length - 1;
  let at = 0;
  for (; at <= last; at++) {
    const [line = '', wanted = ''] = [shown[from + at], looked[at]];
    const isAlike =
      last === 0
        ? wanted !== '' && holds(line)
        : at === 0
          ? line.endsWith(wanted)
          : at === last
            ? line.startsWith(wanted)
            : line === wanted;
    if (!isAlike) break;
  }
  if (at > last) return { at: 0, score: Number.MAX_SAFE_INTEGER };
  const [line = '', wanted = ''] = [shown[from + at], looked[at]];
  const common = Math.max(line.length, wanted.length) > LONGEST_LINE ? 0 : commonLength(line, wanted);
  // A line that is like it in its first letters only is not near.
  const isNear = at > 0 ? looked[0] !== '' : common >= 8 && common * 2 >= wanted.length;
  return { at, score: isNear ? at * LONGEST_LINE + common + 1 : 0 };
}

/**
 * Whether a line has the text, in time in proportion to the line. One that is longer than lines are
 * has none.
 */
function finder(wanted: string): (line: string) => boolean {
  if (wanted.length > LONGEST_LINE) return () => false;
  const borders = bordersOf(wanted);
  return (line) => {
    if (line.length > LONGEST_LINE) return false;
    let matched = 0;
    for (let at = 0; at < line.length && matched < wanted.length; at++) {
      while (matched > 0 && wanted[matched] !== line[at]) matched = borders[matched - 1] as number;
      if (wanted[matched] === line[at]) matched++;
    }
    return matched === wanted.length;
  };
}

function commonLength(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return at;
}

/** `isFirst`: the text that was looked for may begin within the line. */
function describe(number: number, there: string, meant: string, isFirst: boolean): string {
  const { from, common } = isFirst ? alignment(there, meant) : { from: 0, common: commonLength(there, meant) };
  const at = from + common;
  return `Nearest is line ${number}: at its character ${at + 1} the file has ${nameOf(there, at)}, old_string has ${nameOf(meant, common)}.`;
}

/** Where in a line the text begins that is drawn like `meant`, or most like it. */
function alignment(there: string, meant: string): { from: number; common: number } {
  const looked = drawnLine(meant);
  const starts = Array.from({ length: Math.min(there.length, LONGEST_LINE) }, (_, from) => from);
  const alike = starts
    .filter((from) => there[from] === meant[0] || drawn(there[from] as string) === looked[0] || from === 0)
    .slice(0, MOST_STARTS);
  const whole = alike.filter((from) => from === 0 || drawnLine(there.slice(from)).startsWith(looked));
  let best = { from: 0, common: commonLength(there, meant) };
  for (const from of whole) {
    const common = commonLength(there.slice(from), meant);
    if (common > best.common) best = { from, common };
  }
  return best;
}

const NAMES: Readonly<Record<string, string>> = {
  '\t': 'tab',
  ' ': 'space',
  '\u00a0': 'no-break space',
  '\u00ad': 'soft hyphen',
  '\u200b': 'zero-width space',
  '\u200c': 'zero-width non-joiner',
  '\u200d': 'zero-width joiner',
  '\u2060': 'word joiner',
  '\ufeff': 'byte order mark',
  '\u202f': 'narrow no-break space',
  '\u3000': 'ideographic space',
};

/** A character with the accents that follow it, by its numbers and as it is drawn. */
function nameOf(line: string, at: number): string {
  const character = /^.\p{M}*/u.exec(line.slice(at, at + 16))?.[0];
  if (character === undefined) return 'the end of the line';
  const numbers = Array.from(
    character,
    (one) => `U+${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`,
  );
  return `${numbers.join(' ')} (${NAMES[character] ?? onOneLine(clip(character, 8))})`;
}

// Names of files.

/**
 * `alike`: another that is drawn the same. `bytes`: its name is no UTF-8, and what was asked for is
 * how it is shown.
 */
export type LikeName =
  { readonly kind: 'alike'; readonly name: string; readonly isSame: boolean } | { readonly kind: 'bytes' };

/**
 * Of what lies in `folder`, which has no entry `name`. `isSame`: it is that name in another normal
 * form. Null: nothing like it.
 */
export async function likeName(folder: string, name: string): Promise<LikeName | null> {
  const entries = await readdir(folder, { encoding: 'buffer' }).catch(() => []);
  const looked = drawn(name);
  let found: LikeName | null = null;
  for (const bytes of entries) {
    if (!isUtf8(bytes)) {
      if (bytes.toString('utf8') === name || shownBytes(bytes) === name) return { kind: 'bytes' };
      continue;
    }
    const entry = bytes.toString('utf8');
    if (entry !== name && drawn(entry) === looked) {
      const isSame = entry.normalize('NFC') === name.normalize('NFC');
      if (found === null || isSame) found = { kind: 'alike', name: entry, isSame };
    }
  }
  return found;
}

/** A name that is no UTF-8, with the bytes that are none as \xNN. */
export function shownBytes(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let shown = '';
  for (let at = 0; at < bytes.length;) {
    const whole = [1, 2, 3, 4].find((length) => at + length <= bytes.length && isUtf8(bytes.subarray(at, at + length)));
    shown += whole
      ? decoder.decode(bytes.subarray(at, at + whole))
      : `\\x${(bytes[at] as number).toString(16).padStart(2, '0')}`;
    at += whole ?? 1;
  }
  return shown;
}
