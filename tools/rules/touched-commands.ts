// Tells whether permission rules are about a shell command (L55). Allow rules let it run when each
// of its simple commands begins with a rule's words, or only reads. A command that cannot be read
// for certain is never allowed: a wrong no costs a question. A deny or ask rule is about it when
// any of its simple commands may be what the rule names. In doubt it is. Shells have more ways to
// spell a command than can be listed; the confinement holds whatever is spelt.
import type { ShellWord, SimpleCommand } from '../shell-command.ts';
import { guessCommands } from './guess-commands.ts';
import { isInputRunner, isRunner, type Reading, readRunCommands } from './runners.ts';
import { isHarmlessRedirect } from '../builtin/shell/read-only-shell.ts';
import type { RuleSubject } from '../tool.ts';

type CommandSubject = Extract<RuleSubject, { kind: 'command' }>;

/**
 * These change the shell (its folder, PATH, names), and with it the meaning of a command after
 * them, which its name cannot tell then.
 */
const CHANGE_SHELL = new Set(
  (
    '. alias bind builtin cd command declare enable eval exec export getopts hash let local mapfile popd printf pushd read ' +
    'readarray readonly set shopt source trap typeset unalias unset'
  ).split(' '),
);

export function isAllowedCommand(patterns: readonly string[], { commands, readsOnly }: CommandSubject): boolean {
  if (commands === null) return false;
  const rules = groupRules(patterns.map(parseCommandPattern));
  const named = new Set(
    commands.filter((command) => rules.get(command.words[0]?.text ?? '')?.some((rule) => isCoveredBy(rule, command))),
  );
  if (named.size === 0 || named.size === commands.length) return named.size > 0;
  if ([...named].some(isShellChange)) return false;
  // Commands are judged where they stand: a `cd` counts for the commands after it, and not within a
  // pipeline.
  return readsOnly(commands.map((command) => (named.has(command) ? replaceByTrue(command) : command)));
}

function groupRules(rules: readonly CommandPattern[]): ReadonlyMap<string, readonly CommandPattern[]> {
  const byName = new Map<string, CommandPattern[]>();
  for (const rule of rules) {
    const [name = ''] = rule.words;
    const known = byName.get(name);
    if (known === undefined) byName.set(name, [rule]);
    else known.push(rule);
  }
  return byName;
}

function replaceByTrue({ joint }: SimpleCommand): SimpleCommand {
  return { joint, words: [{ text: 'true', literal: true, glob: -1 }], redirects: [] };
}

/**
 * Tells whether a rule covers a command. A redirection to a file does not belong to what a rule
 * names.
 */
function isCoveredBy({ words, open }: CommandPattern, command: SimpleCommand): boolean {
  if (command.words.length < words.length || (!open && command.words.length > words.length)) return false;
  if (!command.redirects.every(isHarmlessRedirect)) return false;
  return words.every((word, at) => command.words[at]?.literal === true && command.words[at].text === word);
}

function isShellChange({ words: [name] }: SimpleCommand): boolean {
  return name === undefined || CHANGE_SHELL.has(name.text) || name.text.includes('=');
}

/**
 * The pattern of a rule for shell commands: `git status` is those words and no more, `git status:*`
 * those and any that follow.
 */
type CommandPattern = { readonly words: readonly string[]; readonly open: boolean };

function parseCommandPattern(pattern: string): CommandPattern {
  const open = pattern.endsWith(':*');
  return { words: (open ? pattern.slice(0, -2) : pattern).trim().split(/\s+/), open };
}

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
