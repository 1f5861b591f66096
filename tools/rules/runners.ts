// Commands that run another, which their arguments name: finds where in a command others may begin.
// In doubt one does.
import type { ShellWord } from '../shell-command.ts';
import { ANYTHING, toShellText, guessCommands } from './guess-commands.ts';
import { listCodeWords, programName, listOptionTexts, isCodeReader, VERBS } from './run-options.ts';

/** Words, and the positions that may be the name of a command that is run. */
export type Reading = { readonly words: readonly ShellWord[]; readonly starts: ReadonlySet<number> };
/** `texts` are the starts that may be more than a name. */
type StartReading = Reading & { readonly texts: ReadonlySet<number> };

/** These stand before a command without being one; so does the number or name of a redirection. */
const KEYWORDS = new Set(['!', '{', '}', 'do', 'elif', 'else', 'if', 'then', 'until', 'while']);
const BEFORE_COMMAND = /^(?:\w+(?:\[.*\])?\+?=|\d+$|\{\w+\}$)/s;
/** These run the command that stands after their options. */
const PREFIXES = new Set(
  (
    'aa-exec builtin busybox bunx capsh catchsegv cgexec choom chpst command coproc daemonize dbus-launch dbus-run-session doas dumb-init eatmydata entr env ' +
    'eval exec fakechroot fakeroot firejail gdb gnome-terminal gosu hyperfine i386 ionice jobs linux32 linux64 lldb ltrace nice nohup npx nsenter numactl ' +
    'parallel pkexec prlimit proot proxychains proxychains4 rlwrap runcon runuser screen setpriv setsid ssh-agent sshpass stdbuf strace su-exec sudo ' +
    'systemd-run time tini torify torsocks unbuffer unshare valgrind watch x86_64 xargs xterm xvfb-run'
  ).split(' '),
);
/** These take something else before the command: a time, a folder, a file. */
const PREFIXES_OF_TWO = new Set('bwrap chroot chrt flock setarch sg taskset timeout'.split(' '));
const SHELLS = new Set('ash bash dash fish ksh lksh mksh posh rbash rksh rzsh sh yash zsh'.split(' '));
/** These take a command as a text. */
const TEXT_RUNNERS = new Set([
  ...SHELLS,
  ...'compgen complete entr env eval flock hyperfine mapfile npx parallel readarray runuser script sg su trap watch'.split(
    ' ',
  ),
]);
/** A text may begin within an option: `env -S"rm x"`, `su -c"rm x"`. */
const TEXT_OPTION = /^(?:-[A-Za-z0-9]{0,8}?[Sc]|--[a-z-]{1,30}=)(?=.)/s;
const OTHERS = new Set('. find function source ssh'.split(' '));
/**
 * The depth of texts within texts, their characters, and the commands in them: beyond these the run
 * commands are unknown.
 */
const MOST_NESTED = 6;
const MOST_CHARACTERS = 1_000_000;
const MOST_READINGS = 5_000;
const UNKNOWN: Reading = { words: [ANYTHING], starts: new Set([0]) };

/** Tells whether any word of it may be run. */
export function isRunner(words: readonly ShellWord[]): boolean {
  const name = programName(words, findFirstWord(words));
  return [PREFIXES, PREFIXES_OF_TWO, TEXT_RUNNERS, OTHERS].some((known) => known.has(name));
}

/** Tells whether the text piped into it may be run. */
export const isInputRunner = (words: readonly ShellWord[]): boolean =>
  isRunner(words) || isCodeReader(words, findFirstWord(words));

/**
 * Lists the command itself, the commands it runs, and those in texts it runs, however deep; where
 * that goes on for too long, one that may be anything.
 */
export function readRunCommands(words: readonly ShellWord[]): readonly Reading[] {
  const found: Reading[] = [];
  const known = new Set<string>();
  let left = MOST_CHARACTERS;
  let level: readonly (readonly ShellWord[])[] = [words];
  for (let nested = 0; level.length > 0; nested++) {
    if (nested > MOST_NESTED || found.length + level.length > MOST_READINGS) return [...found, UNKNOWN];
    const readings = level.map((each) => readStarts(each));
    found.push(...readings, ...readings.flatMap(readCode));
    const texts: string[] = [];
    for (const text of listTexts(readings)) {
      if ((left -= text.length) < 0) return [...found, UNKNOWN];
      if (!known.has(text)) texts.push(text);
      known.add(text);
    }
    level = texts.flatMap((text) => guessCommands(text));
  }
  return found;
}

function readStarts(words: readonly ShellWord[]): StartReading {
  return { words, ...findStarts(words, findFirstWord(words)) };
}

const readCode = ({ words, starts }: Reading): readonly Reading[] =>
  listCodeWords(words, starts).map((code) => ({ words: code, starts: new Set(code.keys()) }));

function* listTexts(readings: readonly StartReading[]): Iterable<string> {
  for (const { words, starts, texts } of readings) {
    yield* listRunTexts({ words, starts });
    yield* listOptionTexts(words, starts);
    for (const at of texts) yield toShellText(words.slice(at, at + 1));
  }
}

/**
 * Lists the texts that any of its text-running commands may take. An option is looked at once,
 * whichever of them it belongs to.
 */
function* listRunTexts({ words, starts }: Reading): Iterable<string> {
  const runners = [...starts].filter((at) => TEXT_RUNNERS.has(programName(words, at)));
  // A shell runs a text when an option says so, else a file.
  const others = runners.filter((at) => !SHELLS.has(programName(words, at)));
  for (const at of others) yield toShellText(words.slice(at + 1));
  const [first, firstOther] = [Math.min(...runners), Math.min(...others)];
  for (let option = first + 1; option < words.length; option++) {
    const word = words[option]!;
    if (isTextOption(word.text)) yield toShellText(words.slice(option + 1));
    const [within] = (option > firstOther && TEXT_OPTION.exec(word.text)) || [];
    if (within !== undefined)
      yield toShellText([{ ...word, text: word.text.slice(within.length) }, ...words.slice(option + 1)]);
  }
}

const isTextOption = (word: string): boolean => /^-\w+$/.test(word) && /[cC]/.test(word);

/**
 * `verb` names the program whose verb is looked for. `after`: a verb was passed; 'options': and
 * options, whose values are not known.
 */
type StartStep = {
  readonly at: number;
  readonly operands: number;
  readonly verb?: string;
  readonly after?: 'verb' | 'options';
};

/**
 * Finds the starts. Each word is looked at a few times at most, however many runners stand in a
 * row.
 */
function findStarts(words: readonly ShellWord[], first: number): Omit<StartReading, 'words'> {
  const starts = new Set<number>();
  const texts = new Set<number>();
  const known = new Set<string>();
  const open: StartStep[] = [{ at: first, operands: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const word = words[next.at];
    const key = `${next.at} ${next.operands} ${next.verb} ${next.after}`;
    if (word === undefined || known.has(key)) continue;
    known.add(key);
    if (canStart(next, word)) {
      starts.add(next.at);
      if (next.after && /\s/.test(word.text)) texts.add(next.at);
    }
    open.push(...listSteps(next, word, words));
  }
  return { starts, texts };
}

/**
 * Tells whether a command may start here. Behind a verb the operands do not start one, and an
 * option's value does only where it is known.
 */
function canStart({ operands, verb, after }: StartStep, { literal, glob }: ShellWord): boolean {
  if (verb !== undefined || (after && operands > 0)) return false;
  return after !== 'options' || (literal && glob === -1);
}

function listSteps(step: StartStep, { text }: ShellWord, words: readonly ShellWord[]): readonly StartStep[] {
  const { at, operands, verb, after } = step;
  const name = programName(words, at);
  const skips = verb === undefined ? undefined : VERBS.get(verb)?.get(text);
  if (skips !== undefined) return [{ at: at + 1, operands: skips, after: 'verb' }];
  const steps: StartStep[] = [];
  if (text.startsWith('-')) {
    const behind = after ? ({ ...step, after: 'options' } as const) : step;
    steps.push({ ...behind, at: at + 1 }, { ...behind, at: at + 2 });
  } else if (/^\w+=/.test(text)) steps.push({ ...step, at: at + 1 });
  else if (operands > 0) steps.push({ ...step, at: at + 1, operands: operands - 1 });
  if (verb !== undefined || (after && operands > 0)) return steps;
  if (PREFIXES_OF_TWO.has(name)) steps.push({ at: at + 1, operands: 1 });
  else if (PREFIXES.has(name) && !isLookup(words, at)) steps.push({ at: at + 1, operands: 0 });
  if (VERBS.has(name)) steps.push({ at: at + 1, operands: 1, verb: name });
  return steps;
}

function isLookup(words: readonly ShellWord[], at: number): boolean {
  return words[at]?.text === 'command' && /^-[vV]$/.test(words[at + 1]?.text ?? '');
}

function findFirstWord(words: readonly ShellWord[]): number {
  const first = words.findIndex(({ text }) => !KEYWORDS.has(text) && !BEFORE_COMMAND.test(text));
  return first === -1 ? words.length : first;
}
