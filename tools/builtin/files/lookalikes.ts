// Finds texts and names that look the same and are not: a no-break space, a decomposed accent, a
// curly quote, a tab for blanks, a character of no width. Nothing is changed on the strength of a
// likeness; the model is told where the other is, and how it differs.
import { clip, onOneLine } from '../../../system/text.ts';
import { computeBorders } from './replace-text.ts';
import { isUtf8 } from 'node:buffer';
import { readdir } from 'node:fs/promises';

/**
 * Characters and lines of a file that are searched for a likeness: the file and the text are a
 * model's, and the thread is shared by all sessions.
 */
const MOST_SEARCHED = 512 * 1024;
const MOST_LINES_SEARCHED = 20_000;
/** Characters of a line: a longer one is compared with nothing. */
const LONGEST_LINE = 2_000;
/** Lines of the wanted text. */
const MOST_LINES = 50;
/** Places in a line where the wanted text may begin. */
const MOST_STARTS = 100;
/**
 * More accents than one letter has in any language: putting them in order takes time in proportion
 * to their square.
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

/** Maps texts that are drawn alike to one text. */
function normalizeDrawn(text: string): string {
  const composed = HEAP_OF_MARKS.test(text) ? text : text.normalize('NFC');
  return DRAWN_ALIKE.reduce((result, [character, plain]) => result.replaceAll(character, plain), composed);
}

const normalizeLine = (line: string): string => (line.length > LONGEST_LINE ? line : normalizeDrawn(line).trim());

/**
 * Describes the line of `text` that is most like `wanted`, which does not occur in it. Undefined
 * when no line is near.
 */
export function describeNearestLine(text: string, wanted: string): string | undefined {
  const lines = splitLines(text.slice(0, MOST_SEARCHED)).slice(0, MOST_LINES_SEARCHED);
  const requested = splitLines(wanted.slice(0, MOST_LINES * LONGEST_LINE)).slice(0, MOST_LINES);
  const normalized = lines.map(normalizeLine);
  const looked = requested.map(normalizeLine);
  const holds = createFinder(looked[0] ?? '');
  let best = { line: -1, at: 0, score: 0 };
  for (let from = 0; from < normalized.length; from++) {
    const { at, score } = scoreLikeness(normalized, looked, from, holds);
    if (score > best.score) best = { line: from + at, at, score };
  }
  const [there, meant] = [lines[best.line], requested[best.at]];
  if (there === undefined || meant === undefined) return undefined;
  return describeDifference(best.line + 1, there, meant, best.at === 0);
}

const splitLines = (text: string): string[] => text.split(/\r?\n/);

/**
 * Counts the lines that are drawn alike from here on, and how much of the first different one is.
 * `at` is the line of `looked` that differs, or the first.
 */
function scoreLikeness(
  normalized: readonly string[],
  looked: readonly string[],
  from: number,
  holds: (line: string) => boolean,
): { at: number; score: number } {
  const last = looked.length - 1;
  let at = 0;
  for (; at <= last; at++) {
    const [line = '', wanted = ''] = [normalized[from + at], looked[at]];
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
  const [line = '', wanted = ''] = [normalized[from + at], looked[at]];
  const common = Math.max(line.length, wanted.length) > LONGEST_LINE ? 0 : countCommon(line, wanted);
  // A line that is alike in its first letters only is not near.
  const isNear = at > 0 ? looked[0] !== '' : common >= 8 && common * 2 >= wanted.length;
  return { at, score: isNear ? at * LONGEST_LINE + common + 1 : 0 };
}

/**
 * Makes a test whether a line has the text, in time in proportion to the line. A line over the
 * limit has it never.
 */
function createFinder(wanted: string): (line: string) => boolean {
  if (wanted.length > LONGEST_LINE) return () => false;
  const borders = computeBorders(wanted);
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

function countCommon(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return at;
}

/** Describes the difference. `isFirst`: the wanted text may begin within the line. */
function describeDifference(number: number, there: string, meant: string, isFirst: boolean): string {
  const { from, common } = isFirst ? alignTexts(there, meant) : { from: 0, common: countCommon(there, meant) };
  const at = from + common;
  return `Nearest is line ${number}: at its character ${at + 1} the file has ${nameCharacter(there, at)}, old_string has ${nameCharacter(meant, common)}.`;
}

/** Finds where in a line the text begins that is drawn like `meant`, or most like it. */
function alignTexts(there: string, meant: string): { from: number; common: number } {
  const looked = normalizeLine(meant);
  const starts = Array.from({ length: Math.min(there.length, LONGEST_LINE) }, (_, from) => from);
  const alike = starts
    .filter((from) => there[from] === meant[0] || normalizeDrawn(there[from] as string) === looked[0] || from === 0)
    .slice(0, MOST_STARTS);
  const whole = alike.filter((from) => from === 0 || normalizeLine(there.slice(from)).startsWith(looked));
  let best = { from: 0, common: countCommon(there, meant) };
  for (const from of whole) {
    const common = countCommon(there.slice(from), meant);
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

/** Names a character with the accents that follow it, by its numbers and as it is drawn. */
function nameCharacter(line: string, at: number): string {
  const character = /^.\p{M}*/u.exec(line.slice(at, at + 16))?.[0];
  if (character === undefined) return 'the end of the line';
  const numbers = Array.from(
    character,
    (one) => `U+${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`,
  );
  return `${numbers.join(' ')} (${NAMES[character] ?? onOneLine(clip(character, 8))})`;
}

/**
 * `alike`: another name that is drawn the same. `bytes`: the name is not UTF-8, and the wanted text
 * is how it is shown.
 */
export type LikeName =
  { readonly kind: 'alike'; readonly name: string; readonly isSame: boolean } | { readonly kind: 'bytes' };

/**
 * Finds names of files that look the same and are not. Finds an entry of `folder` that looks like
 * `name`, which does not exist in it. `isSame`: it is that name in another normal form. Null: no
 * entry looks like it.
 */
export async function findLikeName(folder: string, name: string): Promise<LikeName | null> {
  const entries = await readdir(folder, { encoding: 'buffer' }).catch(() => []);
  const looked = normalizeDrawn(name);
  let found: LikeName | null = null;
  for (const bytes of entries) {
    if (!isUtf8(bytes)) {
      if (bytes.toString('utf8') === name || showNameBytes(bytes) === name) return { kind: 'bytes' };
      continue;
    }
    const entry = bytes.toString('utf8');
    if (entry !== name && normalizeDrawn(entry) === looked) {
      const isSame = entry.normalize('NFC') === name.normalize('NFC');
      if (found === null || isSame) found = { kind: 'alike', name: entry, isSame };
    }
  }
  return found;
}

/** Shows a name that is not UTF-8, with the invalid bytes as \xNN. */
export function showNameBytes(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  for (let at = 0; at < bytes.length;) {
    const whole = [1, 2, 3, 4].find((length) => at + length <= bytes.length && isUtf8(bytes.subarray(at, at + length)));
    text += whole
      ? decoder.decode(bytes.subarray(at, at + whole))
      : `\\x${(bytes[at] as number).toString(16).padStart(2, '0')}`;
    at += whole ?? 1;
  }
  return text;
}
