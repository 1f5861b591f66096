// Tells whether a deny or ask rule is about a shell command (L55): any of its simple commands may
// be what the rule names. In doubt it is. Shells have more ways to spell a command than can be
// listed; the confinement holds whatever is spelt.
import type { SimpleCommand, ShellWord } from '../shell-command.ts';
import { guessCommands } from './guess-commands.ts';
import { isRunner, readRunCommands, isInputRunner, type Reading } from './runners.ts';
import { type CommandSubject, parseCommandPattern, type CommandPattern } from './command-rules.ts';

/** A place where a command may begin. */
type CommandPlace = { readonly words: readonly ShellWord[]; readonly at: number };

/**
 * The bound for all rules together. A command that would take more counts as touched by the
 * remaining rules; no person writes one.
 */
const MOST_STEPS = 1_000_000;

/** Prepares a command and returns a test of one pattern after the other. */
export function createTouchTest({ text, commands }: CommandSubject): (pattern: string) => boolean {
  const commandWords = commands?.map(({ words }) => words) ?? guessCommands(text);
  const exact = commandWords.flatMap((words) => readRunCommands(words));
  const piped = commands === null && mayPipeSpelt(text) ? 'anything' : collectPiped(commands ?? []);
  if (piped === 'anything' || exact.some(isAnything)) return () => true;
  const loose =
    commands === null ? [text] : [...commandWords.filter(isRunner).map(joinLoosely), ...piped.map(joinPrinted)];
  const places = groupPlaces([...exact, ...loose.map(readLoosely)]);
  const work = { left: MOST_STEPS };
  return (pattern) => {
    const rule = parseCommandPattern(pattern);
    return (places.get(rule.words[0] ?? '') ?? []).some((place) => isMatchAt(rule, place, work));
  };
}

function isAnything({ words, starts }: Reading): boolean {
  return [...starts].some((at) => mayBeAnything(words[at]));
}

function groupPlaces(readings: readonly Reading[]): ReadonlyMap<string, readonly CommandPlace[]> {
  const places = new Map<string, CommandPlace[]>();
  for (const { words, starts } of readings) {
    for (const at of starts) {
      const text = words[at]?.text ?? '';
      for (const name of new Set([text, text.slice(text.lastIndexOf('/') + 1)])) {
        const known = places.get(name);
        if (known === undefined) places.set(name, [{ words, at }]);
        else known.push({ words, at });
      }
    }
  }
  return places;
}

/**
 * Matches the rule's words from its second on; between them may stand options, each perhaps with a
 * value: `git -C sub push`.
 */
function isMatchAt(
  { words: [, ...wanted], open }: CommandPattern,
  { words, at }: CommandPlace,
  work: { left: number },
): boolean {
  let reached: ReadonlySet<number> = new Set([at + 1]);
  for (const word of wanted) {
    const next = new Set<number>();
    for (const here of skipOptions(reached, words)) {
      if (work.left-- <= 0) return true;
      const found = words[here];
      if (found === undefined) continue;
      if (mayBeAnything(found)) return true;
      if (found.text === word) next.add(here + 1);
    }
    reached = next;
  }
  return open ? reached.size > 0 : [...reached].some((end) => end >= words.length || mayBeAnything(words[end]));
}

function* skipOptions(from: ReadonlySet<number>, words: readonly ShellWord[]): Iterable<number> {
  const reached = new Set(from);
  // Iterating a set also visits values that are added on the way.
  for (const at of reached) {
    yield at;
    if (words[at]?.text.startsWith('-') === true) reached.add(at + 1).add(at + 2);
  }
}

/**
 * Tells whether the shell puts something else in the place of a word, perhaps several words or
 * none.
 */
function mayBeAnything(word: ShellWord | undefined): boolean {
  if (word === undefined || word.text === '{}' || /^\w+=/.test(word.text)) return false;
  const { text, literal, glob } = word;
  return (glob !== -1 && text !== '[' && text !== '[[') || (!literal && /[$~{}`]/.test(text));
}

/** Words of all that is printed into runners together. */
const MOST_PIPED = 10_000;

/**
 * Collects what is printed into a runner: the commands of a shell, or the arguments of what xargs
 * runs.
 */
function collectPiped(commands: readonly SimpleCommand[]): readonly (readonly ShellWord[])[] | 'anything' {
  const found: (readonly ShellWord[])[] = [];
  let [printed, left, isSpelt] = [[] as ShellWord[], MOST_PIPED, false];
  for (const { joint, words } of commands) {
    if (joint !== '|') [printed, isSpelt] = [[], false];
    if (printed.length > 0 && isInputRunner(words)) {
      if (isSpelt) return 'anything';
      if ((left -= 2 * printed.length + words.length) < 0) return 'anything';
      found.push([...printed], [...words, ...printed.slice(1)]);
    }
    printed.push(...words);
    isSpelt ||= /^(?:echo|printf)$/.test(words[0]?.text ?? '') && words.some(({ text }) => SPELT.test(text));
  }
  return found;
}

/** Tells whether a command that is not a plain list may print spelt words into a runner. */
const mayPipeSpelt = (text: string): boolean => text.includes('|') && text.includes("$'") && SPELT.test(text);

/**
 * Words that `echo -e`, `printf` and `$'…'` spell by codes, or put together from pieces: they may
 * become any word.
 */
const SPELT = /\\(?:x[0-9a-f]|u[0-9a-f]|0?[0-7]{2})|%s%|\w%s|%s\w/i;

/**
 * Prints words as a text; some runners take a command within an option: `env -S"rm x"`, `su -c"rm
 * x"`.
 */
function joinLoosely(words: readonly ShellWord[]): string {
  return words.map(({ text }) => text.replace(/^-[A-Za-z0-9]{0,8}?[Sc](?=.)/s, '$& ')).join(' ');
}

/** Prints words as `printf` and `echo -e` do, which print these escapes as blanks. */
const joinPrinted = (words: readonly ShellWord[]): string => joinLoosely(words).replaceAll(/\\[nrtv]/g, ' ');

/**
 * Reads a text as all words of a command that it could hold, however quoted and nested: a command
 * may begin at any.
 */
function readLoosely(text: string): Reading {
  const unquoted = text.replaceAll(/\\\n|["'\\]/g, '');
  const words = unquoted.split(/[\s;&|()<>`{}=$!,[\]]+/).filter((word) => word !== '');
  return {
    words: words.map((word) => ({ text: word, literal: true, glob: -1 })),
    starts: new Set(words.keys()),
  };
}
