// Whether a deny or ask rule is about a shell command (L55): any of its simple commands may be what the rule names. In doubt it is.
// Shells have more ways to spell a command than can be listed; what holds whatever is spelt is the confinement.
import type { Word } from '../builtin/shell/read-word.ts';
import type { RuleSubject } from '../tool.ts';
import { commandPattern, type CommandPattern } from './command-pattern.ts';
import { guessedCommands } from './guessed-commands.ts';
import { isRunner, runIn, type Reading } from './runners.ts';

type CommandSubject = Extract<RuleSubject, { kind: 'command' }>;

/** Where a command may begin. */
type Place = { readonly words: readonly Word[]; readonly at: number };

/** Of all rules together. A command that would take more, which nobody writes by hand, is touched by the rest of them. */
const MOST_STEPS = 1_000_000;

/** Tells it of one pattern after the other. */
export function touchedCommand({ text, commands }: CommandSubject): (pattern: string) => boolean {
  const said = commands?.map(({ words }) => words) ?? guessedCommands(text);
  const exact = said.flatMap((words) => runIn(words));
  if (exact.some(isAnything)) return () => true;
  const loose = commands === null ? [text] : said.filter(isRunner).map(looseText);
  const places = placesByName([...exact, ...loose.map(looseReading)]);
  const work = { left: MOST_STEPS };
  return (pattern) => {
    const rule = commandPattern(pattern);
    return (places.get(rule.words[0] ?? '') ?? []).some((place) => fits(rule, place, work));
  };
}

function isAnything({ words, starts }: Reading): boolean {
  return [...starts].some((at) => mayBeAnything(words[at]));
}

function placesByName(readings: readonly Reading[]): ReadonlyMap<string, readonly Place[]> {
  const places = new Map<string, Place[]>();
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

/** The rule's words from its second on; between them may stand options, each perhaps with a value: `git -C sub push`. */
function fits({ words: [, ...wanted], open }: CommandPattern, { words, at }: Place, work: { left: number }): boolean {
  let reached: ReadonlySet<number> = new Set([at + 1]);
  for (const word of wanted) {
    const next = new Set<number>();
    for (const here of pastOptions(reached, words)) {
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

function* pastOptions(from: ReadonlySet<number>, words: readonly Word[]): Iterable<number> {
  const reached = new Set(from);
  // A set is walked through what is added on the way, too.
  for (const at of reached) {
    yield at;
    if (words[at]?.text.startsWith('-') === true) reached.add(at + 1).add(at + 2);
  }
}

/** The shell puts something else in its place, which may also be several words or none. */
function mayBeAnything(word: Word | undefined): boolean {
  if (word === undefined || word.text === '{}' || /^\w+=/.test(word.text)) return false;
  const { text, literal, glob } = word;
  return (glob !== -1 && text !== '[' && text !== '[[') || (!literal && /[$~{}]/.test(text));
}

/** Some runners take a command within an option: `env -S"rm x"`, `su -c"rm x"`. */
function looseText(words: readonly Word[]): string {
  return words.map(({ text }) => text.replace(/^-[A-Za-z0-9]{0,8}?[Sc](?=.)/s, '$& ')).join(' ');
}

/** Whatever could be a word of a command, however it is quoted and nested: a command may begin at any. */
function looseReading(text: string): Reading {
  const unquoted = text.replaceAll(/\\\n|["'\\]/g, '');
  const words = unquoted.split(/[\s;&|()<>`{}=$]+/).filter((word) => word !== '');
  return {
    words: words.map((word) => ({ text: word, literal: true, glob: -1 })),
    starts: new Set(words.keys()),
  };
}
