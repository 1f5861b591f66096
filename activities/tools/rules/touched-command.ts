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
    '. bash builtin busybox chroot command coproc dash doas env eval exec find flock function ionice ksh nice nohup parallel ' +
    'script setsid sh source ssh stdbuf strace su sudo time timeout trap unshare watch xargs zsh'
  ).split(' '),
);

export function touchedCommand(pattern: string, { text, commands }: CommandSubject): boolean {
  const rule = commandPattern(pattern);
  if (commands === null) return occurs(rule, text);
  return commands.some((command) => touches(rule, command));
}

function touches(rule: CommandPattern, { words }: SimpleCommand): boolean {
  const start = words.findIndex(({ text }) => !KEYWORDS.has(text) && !/^\w+(?:\[.*\])?\+?=/s.test(text));
  if (start === -1) return false;
  const command = words.slice(start);
  if (fits(rule, command)) return true;
  return RUNNERS.has(nameOf(command)) && occurs(rule, command.map(({ text }) => text).join(' '));
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
  return open ? reached.size > 0 : [...pastOptions(reached, command)].some((end) => isEnd(command, end));
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

/** Without a reading: the rule's words stand somewhere one after the other. */
function occurs({ words }: CommandPattern, text: string): boolean {
  const found = text
    .replaceAll(/\\\n|["'\\]/g, '')
    .split(/[\s;&|()<>`{}=$]+/)
    .filter((word) => word !== '');
  return found.some((first, at) =>
    words.every((word, n) => (n === 0 ? first === word || baseName(first) === word : found[at + n] === word)),
  );
}

function nameOf(command: readonly Word[]): string {
  return baseName(command[0]?.text ?? '');
}

function baseName(text: string): string {
  return text.slice(text.lastIndexOf('/') + 1);
}
