// Commands that run another, which their arguments name: where in a command others may begin. In doubt one does.
import type { Word } from '../builtin/shell/read-word.ts';
import { asText, guessedCommands } from './guessed-commands.ts';

/** Words, and which of them may be the name of a command that is run. */
export type Reading = { readonly words: readonly Word[]; readonly starts: ReadonlySet<number> };

/** Stand before a command without being one; so does the number or name of a redirection. */
const KEYWORDS = new Set(['!', '{', '}', 'do', 'elif', 'else', 'if', 'then', 'until', 'while']);
const BEFORE_COMMAND = /^(?:\w+(?:\[.*\])?\+?=|\d+$|\{\w+\}$)/s;
/** Run the command that stands after their options. */
const PREFIXES = new Set(
  (
    'builtin busybox command coproc doas env eval exec ionice linux32 linux64 ltrace nice nohup nsenter numactl parallel pkexec ' +
    'prlimit runuser setpriv setsid stdbuf strace sudo systemd-run time unbuffer unshare watch xargs'
  ).split(' '),
);
/** The same with something else before it: a time, a folder, a file. */
const PREFIXES_OF_TWO = new Set('chroot chrt flock setarch taskset timeout'.split(' '));
const SHELLS = new Set('bash dash ksh sh zsh'.split(' '));
/** Take a command as a text. */
const TEXT_RUNNERS = new Set([...SHELLS, ...'env eval flock parallel runuser script su trap watch'.split(' ')]);
const OTHERS = new Set('. find function source ssh'.split(' '));
/** Texts within texts. */
const MOST_NESTED = 5;

/** Whether any word of it may be run. */
export function isRunner(words: readonly Word[]): boolean {
  const name = nameAt(words, firstOf(words));
  return [PREFIXES, PREFIXES_OF_TWO, TEXT_RUNNERS, OTHERS].some((known) => known.has(name));
}

/** The command itself, with those it runs, and those in texts it runs. */
export function runIn(words: readonly Word[], nested = 0): readonly Reading[] {
  const starts = startsFrom(words, firstOf(words));
  const texts = nested < MOST_NESTED ? textsIn(words, starts) : [];
  if (texts.length === 0) return [{ words, starts }];
  const within = guessedCommands(asText(texts)).flatMap((text) => runIn(text, nested + 1));
  return [{ words, starts }, ...within];
}

/** The words that the first that runs a text takes for it, or what stands after it. */
function textsIn(words: readonly Word[], starts: ReadonlySet<number>): readonly Word[] {
  const first = [...starts].sort((a, b) => a - b).find((at) => TEXT_RUNNERS.has(nameAt(words, at)));
  if (first === undefined) return [];
  const after = words.slice(first + 1);
  const option = after.findIndex(({ text }) => /^-\w*c$/.test(text));
  // A shell runs a text when an option says so, else a file.
  return option === -1 && SHELLS.has(nameAt(words, first)) ? [] : after.slice(option + 1);
}

/** Each word is looked at twice at most, however many runners stand in a row. */
function startsFrom(words: readonly Word[], first: number): ReadonlySet<number> {
  const starts = new Set<number>();
  const seen = new Set<number>();
  const open: (readonly [at: number, operands: number])[] = [[first, 0]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [at, operands] = next;
    const word = words[at];
    if (word === undefined || seen.has(2 * at + operands)) continue;
    seen.add(2 * at + operands);
    starts.add(at);
    if (word.text.startsWith('-')) open.push([at + 1, operands], [at + 2, operands]);
    else if (/^\w+=/.test(word.text)) open.push([at + 1, operands]);
    else if (operands > 0) open.push([at + 1, operands - 1]);
    const name = nameAt(words, at);
    if (PREFIXES_OF_TWO.has(name)) open.push([at + 1, 1]);
    else if (PREFIXES.has(name) && !isLookup(words, at)) open.push([at + 1, 0]);
  }
  return starts;
}

function isLookup(words: readonly Word[], at: number): boolean {
  return words[at]?.text === 'command' && /^-[vV]$/.test(words[at + 1]?.text ?? '');
}

function firstOf(words: readonly Word[]): number {
  const first = words.findIndex(({ text }) => !KEYWORDS.has(text) && !BEFORE_COMMAND.test(text));
  return first === -1 ? words.length : first;
}

function nameAt(words: readonly Word[], at: number): string {
  const text = words[at]?.text ?? '';
  return text.slice(text.lastIndexOf('/') + 1);
}
