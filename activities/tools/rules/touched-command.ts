// Whether a deny or ask rule is about a shell command (L55): any of its simple commands may be what the rule names. In doubt it is.
// Shells have more ways to spell a command than can be listed; what holds whatever is spelt is the confinement.
import type { SimpleCommand } from '../builtin/shell/parse-shell.ts';
import type { Word } from '../builtin/shell/read-word.ts';
import type { RuleSubject } from '../tool.ts';
import { commandPattern, type CommandPattern } from './command-pattern.ts';

type CommandSubject = Extract<RuleSubject, { kind: 'command' }>;

/** Stand before a command without being one. */
const KEYWORDS = new Set(['!', '{', '}', 'do', 'elif', 'else', 'if', 'then', 'until', 'while']);
/** Run what their arguments say: any word there may be a command. */
const RUNNERS = new Set(
  (
    '. bash builtin busybox chroot chrt command coproc dash doas env eval exec find flock function ionice ksh linux32 linux64 ltrace ' +
    'nice nohup nsenter numactl parallel pkexec prlimit runuser script setarch setpriv setsid sh source ssh stdbuf strace su sudo ' +
    'systemd-run taskset time timeout trap unbuffer unshare watch xargs zsh'
  ).split(' '),
);

/** Tells it of one pattern after the other. */
export function touchedCommand({ text, commands }: CommandSubject): (pattern: string) => boolean {
  const rough = commands === null ? [roughWords(text)] : commands.map(roughlyRun).filter((words) => words.length > 0);
  const exact = (commands?.map(({ words }) => words) ?? guessedCommands(text)).map(commandIn);
  // Most rules name a word that is nowhere in the command, which may be long, and the rules many.
  const said = new Set([...exact.flat().map(({ text: word }) => word), ...rough.flat()].flatMap(spellings));
  const unsaid = exact.flat().some(mayBeAnything);
  return (pattern) => {
    const rule = commandPattern(pattern);
    if (!unsaid && !rule.words.every((word) => said.has(word))) return false;
    return exact.some((words) => fits(rule, words)) || rough.some((words) => occurs(rule, words));
  };
}

/** Without what stands before the command's name. */
function commandIn(words: readonly Word[]): readonly Word[] {
  const start = words.findIndex(({ text }) => !KEYWORDS.has(text) && !/^\w+(?:\[.*\])?\+?=/s.test(text));
  return start === -1 ? [] : words.slice(start);
}

function roughlyRun(command: SimpleCommand): readonly string[] {
  const words = commandIn(command.words).map(({ text }) => text);
  return RUNNERS.has(baseName(words[0] ?? '')) ? roughWords(words.join(' ')) : [];
}

/** The rule's words from the first on; between them may stand options, each perhaps with a value: `git -C sub push`. */
function fits({ words, open }: CommandPattern, command: readonly Word[]): boolean {
  let reached: ReadonlySet<number> = new Set([0]);
  for (const [at, word] of words.entries()) {
    const next = new Set<number>();
    for (const here of at === 0 ? reached : pastOptions(reached, command)) {
      const found = command[here];
      if (found === undefined) continue;
      if (mayBeAnything(found)) return true;
      if (found.text === word || (at === 0 && baseName(found.text) === word)) next.add(here + 1);
    }
    reached = next;
  }
  return open ? reached.size > 0 : [...reached].some((end) => isEnd(command, end));
}

function isEnd(command: readonly Word[], at: number): boolean {
  const word = command[at];
  return at >= command.length || (word !== undefined && mayBeAnything(word));
}

function pastOptions(from: ReadonlySet<number>, command: readonly Word[]): ReadonlySet<number> {
  const reached = new Set(from);
  // A set is walked through what is added on the way, too.
  for (const at of reached) {
    if (command[at]?.text.startsWith('-') !== true) continue;
    reached.add(at + 1);
    reached.add(at + 2);
  }
  return reached;
}

/** The shell puts something else in its place, which may also be several words or none. */
function mayBeAnything({ text, literal, glob }: Word): boolean {
  return (glob !== -1 && text !== '[' && text !== '[[') || (!literal && /[$~{}]/.test(text));
}

/** What is substituted, innermost: `$'…'`, `$(…)`, a backquoted command, `${…}`. */
const SUBSTITUTION = /\$'(?:[^'\\]|\\.)*'|\$\(([^()]*)\)|`([^`]*)`|\$\{[^{}]*\}/gs;
/** What begins a here-document with a quoted delimiter: nothing in it is substituted. */
const QUOTED_HERE = /<<-?[ \t]*(?:'([^'\n]+)'|"([^"\n]+)"|\\(\w+))/g;
const QUOTED = /"(?:[^"\\]|\\.)*"|'[^']*'/gs;
const REDIRECTION = /\d?&?(?<![<>])[<>]+[&|]?\s*[^\s;&|()<>]+/g;
/** Deeper ones are cut apart, where their `$` is still seen. */
const MOST_NESTED = 10;

/** Of a text that could not be read for certain: cut at whatever may be an operator, with a `$` where something is substituted. */
function guessedCommands(text: string): readonly (readonly Word[])[] {
  const inner: string[] = [];
  let rest = withoutQuotedDocuments(text).replaceAll('\\\n', '');
  for (let depth = 0; depth < MOST_NESTED; depth++) {
    rest = rest.replaceAll(SUBSTITUTION, (_, ...[command, quoted]: (string | undefined)[]) => {
      inner.push(command ?? quoted ?? '');
      return '$_';
    });
  }
  const pieces = [rest, ...inner].map((part) => withoutQuotedOperators(part).replaceAll(REDIRECTION, ' '));
  return pieces.flatMap((piece) => piece.split(/[;&|()\n]+/)).map(guessedWords);
}

function withoutQuotedDocuments(text: string): string {
  const open: string[] = [];
  const kept = text.split('\n').filter((line) => {
    const [end] = open;
    if (end !== undefined) {
      if (line.replace(/^\t+/, '') === end) open.shift();
      return false;
    }
    for (const [, single, double, escaped] of line.matchAll(QUOTED_HERE)) open.push(single ?? double ?? escaped ?? '');
    return true;
  });
  return kept.join('\n');
}

/** Within quotes they are none; nor is a `$` within single ones. */
function withoutQuotedOperators(text: string): string {
  return text.replaceAll(QUOTED, (quoted) =>
    quoted.replaceAll(quoted.startsWith("'") ? /[;&|()<>\n$]/g : /[;&|()<>\n]/g, ' '),
  );
}

function guessedWords(command: string): readonly Word[] {
  const words = command.replaceAll(/["'\\]/g, '').split(/\s+/);
  return words.filter((word) => word !== '').map((word) => ({ text: word, literal: !word.includes('$'), glob: -1 }));
}

/** Whatever could be a word of a command, however it is quoted and nested. */
function roughWords(text: string): readonly string[] {
  const unquoted = text.replaceAll(/\\\n|["'\\]/g, '');
  return unquoted.split(/[\s;&|()<>`{}=$]+/).filter((word) => word !== '');
}

/** The rule's words stand somewhere one after the other. */
function occurs({ words }: CommandPattern, found: readonly string[]): boolean {
  return found.some((first, at) =>
    words.every((word, n) => (n === 0 ? first === word || baseName(first) === word : found[at + n] === word)),
  );
}

function spellings(word: string): readonly string[] {
  return [word, baseName(word)];
}

function baseName(text: string): string {
  return text.slice(text.lastIndexOf('/') + 1);
}
