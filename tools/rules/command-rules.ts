// Whether allow rules let a shell command run (L55): each of its simple commands begins with a
// rule's words, or only reads. What cannot be read for certain is never allowed: a wrong no costs a
// question.
import { isHarmless } from '../builtin/shell/read-only-shell.ts';
import type { SimpleCommand, Word } from '../shell-command.ts';
import type { RuleSubject } from '../tool.ts';
import { guessCommands } from './guess-commands.ts';
import { isRunner, runIn, runsInput, type Reading } from './runners.ts';

type CommandSubject = Extract<RuleSubject, { kind: 'command' }>;

/**
 * These change the shell (its folder, PATH, names), and with it what a command after them is: it is
 * not judged by its name.
 */
const CHANGE_SHELL = new Set(
  (
    '. alias bind builtin cd command declare enable eval exec export getopts hash let local mapfile popd printf pushd read ' +
    'readarray readonly set shopt source trap typeset unalias unset'
  ).split(' '),
);

export function isAllowedCommand(patterns: readonly string[], { commands, readsOnly }: CommandSubject): boolean {
  if (commands === null) return false;
  const rules = rulesByName(patterns.map(commandPattern));
  const named = new Set(
    commands.filter((command) => rules.get(command.words[0]?.text ?? '')?.some((rule) => covers(rule, command))),
  );
  if (named.size === 0 || named.size === commands.length) return named.size > 0;
  if ([...named].some(changesShell)) return false;
  // Judged where they stand: a `cd` counts for what comes after it, and not within a pipeline.
  return readsOnly(commands.map((command) => (named.has(command) ? nothing(command) : command)));
}

function rulesByName(rules: readonly CommandPattern[]): ReadonlyMap<string, readonly CommandPattern[]> {
  const byName = new Map<string, CommandPattern[]>();
  for (const rule of rules) {
    const [name = ''] = rule.words;
    const known = byName.get(name);
    if (known === undefined) byName.set(name, [rule]);
    else known.push(rule);
  }
  return byName;
}

function nothing({ joint }: SimpleCommand): SimpleCommand {
  return { joint, words: [{ text: 'true', literal: true, glob: -1 }], redirects: [] };
}

/** A redirection to a file is no part of what a rule names. */
function covers({ words, open }: CommandPattern, command: SimpleCommand): boolean {
  if (command.words.length < words.length || (!open && command.words.length > words.length)) return false;
  if (!command.redirects.every(isHarmless)) return false;
  return words.every((word, at) => command.words[at]?.literal === true && command.words[at].text === word);
}

function changesShell({ words: [name] }: SimpleCommand): boolean {
  return name === undefined || CHANGE_SHELL.has(name.text) || name.text.includes('=');
}

// The pattern of a rule for shell commands: `git status` is those words and no more, `git status:*`
// those and whatever follows.

type CommandPattern = { readonly words: readonly string[]; readonly open: boolean };

function commandPattern(pattern: string): CommandPattern {
  const open = pattern.endsWith(':*');
  return { words: (open ? pattern.slice(0, -2) : pattern).trim().split(/\s+/), open };
}

// Whether a deny or ask rule is about a shell command (L55): any of its simple commands may be what
// the rule names. In doubt it is. Shells have more ways to spell a command than can be listed; what
// holds whatever is spelt is the confinement.

/** Where a command may begin. */
type Place = { readonly words: readonly Word[]; readonly at: number };

/**
 * The bound for all rules together. A command that would take more counts as touched by the
 * remaining rules; no person writes one.
 */
const MOST_STEPS = 1_000_000;

/** Tells it of one pattern after the other. */
export function matchTouched({ text, commands }: CommandSubject): (pattern: string) => boolean {
  const said = commands?.map(({ words }) => words) ?? guessCommands(text);
  const exact = said.flatMap((words) => runIn(words));
  const piped = commands === null && mayPipeSpelt(text) ? 'anything' : pipedInto(commands ?? []);
  if (piped === 'anything' || exact.some(isAnything)) return () => true;
  const loose = commands === null ? [text] : [...said.filter(isRunner).map(looseText), ...piped.map(printedText)];
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

/**
 * The rule's words from its second on; between them may stand options, each perhaps with a value:
 * `git -C sub push`.
 */
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
  return (glob !== -1 && text !== '[' && text !== '[[') || (!literal && /[$~{}`]/.test(text));
}

/** Words of all that is printed into runners together. */
const MOST_PIPED = 10_000;

/** What is printed into a runner: the commands of a shell, or the arguments of what xargs runs. */
function pipedInto(commands: readonly SimpleCommand[]): readonly (readonly Word[])[] | 'anything' {
  const found: (readonly Word[])[] = [];
  let [printed, left, isSpelt] = [[] as Word[], MOST_PIPED, false];
  for (const { joint, words } of commands) {
    if (joint !== '|') [printed, isSpelt] = [[], false];
    if (printed.length > 0 && runsInput(words)) {
      if (isSpelt) return 'anything';
      if ((left -= 2 * printed.length + words.length) < 0) return 'anything';
      found.push([...printed], [...words, ...printed.slice(1)]);
    }
    printed.push(...words);
    isSpelt ||= /^(?:echo|printf)$/.test(words[0]?.text ?? '') && words.some(({ text }) => SPELT.test(text));
  }
  return found;
}

/** Of a command that is no plain list. */
const mayPipeSpelt = (text: string): boolean => text.includes('|') && text.includes("$'") && SPELT.test(text);

/**
 * What `echo -e`, `printf` and `$'…'` spell by codes, or put together from pieces: any word may
 * come of it.
 */
const SPELT = /\\(?:x[0-9a-f]|u[0-9a-f]|0?[0-7]{2})|%s%|\w%s|%s\w/i;

/** Some runners take a command within an option: `env -S"rm x"`, `su -c"rm x"`. */
function looseText(words: readonly Word[]): string {
  return words.map(({ text }) => text.replace(/^-[A-Za-z0-9]{0,8}?[Sc](?=.)/s, '$& ')).join(' ');
}

/** `printf` and `echo -e` print these escapes as blanks. */
const printedText = (words: readonly Word[]): string => looseText(words).replaceAll(/\\[nrtv]/g, ' ');

/**
 * Whatever could be a word of a command, however it is quoted and nested: a command may begin at
 * any.
 */
function looseReading(text: string): Reading {
  const unquoted = text.replaceAll(/\\\n|["'\\]/g, '');
  const words = unquoted.split(/[\s;&|()<>`{}=$!,[\]]+/).filter((word) => word !== '');
  return {
    words: words.map((word) => ({ text: word, literal: true, glob: -1 })),
    starts: new Set(words.keys()),
  };
}
