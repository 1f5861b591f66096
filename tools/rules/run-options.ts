// Programs other than runners (runners.ts) that run others: behind a verb (`docker exec`), in the
// value of an option (`tar --to-command`) or of a variable (`PAGER=…`), in code (`awk`). Their
// commands are read where that can be done; programs that are not listed here are not known.
import type { ShellWord } from '../shell-command.ts';
import { ANYTHING, toShellText } from './guess-commands.ts';

/** Maps a verb to the number of operands between it and the command. */
type Verbs = ReadonlyMap<string, number>;

const TMUX =
  'display-popup if if-shell new new-session new-window neww pipe-pane pipep popup respawn-pane respawn-window respawnp respawnw run run-shell ' +
  'send send-keys split-window splitw';

/** A verb is looked for among the first two operands. */
export const VERBS: ReadonlyMap<string, Verbs> = mapByName<Verbs>([
  ['docker nerdctl podman', mapVerbs('create exec run', 1)],
  ['kubectl oc', mapVerbs('debug exec run', 1)],
  ['direnv ip', mapVerbs('exec', 1)],
  ['conda hatch mamba micromamba pdm pipenv poetry rye uv', mapVerbs('run', 0)],
  ['bun npm pnpm yarn', mapVerbs('dlx exec x', 0)],
  ['bundle', mapVerbs('exec', 0)],
  ['git', mapVerbs('foreach run', 0)],
  ['perf', mapVerbs('record stat trace', 0)],
  ['tmux', mapVerbs(TMUX, 0)],
]);

/** The beginning of the option, and of the text before the command in it. */
const OPTIONS: ReadonlyMap<string, RegExp> = mapByName<RegExp>([
  [
    'bsdtar gtar tar',
    /^(?:--(?:checkpoint-a|info|new-v|rmt|rsh|to-c|use)[a-z-]{0,20}(?:=(?:exec=)?|$)|exec=|-[A-Za-z]{0,9}[FI])/,
  ],
  ['rsync', /^(?:--(?:rsh|rsync-path)(?:=|$)|-[A-Za-z0-9]{0,9}e)/],
  [
    'scp sftp ssh',
    /^(?:-S|(?:-[A-Za-z0-9]{0,9}o)?\s{0,9}(?:knownhosts|local|proxy|remote)command\s{0,9}[=\s]\s{0,9})/i,
  ],
  [
    'git',
    new RegExp(
      '^(?:(?:alias|pager)\\.[^=]{1,99}=!?|[a-z]{1,30}\\.(?:[^=]{1,99}\\.)?(?:askpass|clean|cmd|command|difffilter|driver|editor|external|fsmonitor|' +
        'gitproxy|helper|packobjectshook|pager|process|program|proxy|receivepack|smudge|sshcommand|textconv|tunnel|uploadpack)=!?|' +
        '-O(?=.)|-x$|--(?:exec|extcmd|open-files-in-pager|receive-pack|setup|upload-pack|[a-z-]{1,12}-filter)(?:=|$))',
      'i',
    ),
  ],
  ['find', /^-(?:exec|execdir|ok|okdir)$/],
  ['fd fdfind', /^(?:-[Xx]|--exec(?:-batch)?(?:=|$))/],
  ['rg', /^--(?:hostname-bin|pre)(?:=|$)/],
  ['sort', /^--compress[a-z-]{0,8}(?:=|$)/],
  ['split', /^--filter(?:=|$)/],
  ['zip', /^(?:-TT|--unzip-command(?:=|$))/],
  ['man', /^(?:-P|--pager(?:=|$))/],
  ['nc ncat', /^(?:-[a-z]{0,5}[ce]|--(?:sh-)?exec(?:=|$))/],
  ['socat', /^(?:exec|shell|system):/i],
  ['wget', /^--use-askpass(?:=|$)/],
  ['start-stop-daemon', /^(?:-[ax]|--(?:exec|startas)(?:=|$))/],
  ['go', /^-{1,2}(?:exec|toolexec|vettool)(?:=|$)/],
  ['nix nix-shell', /^(?:-c|--command|--run)$/],
  ['npm', /^--(?:call|script-shell)(?:=|$)/],
]);

/**
 * Variables that name a program to any program that is started. `make` takes its shell as an
 * argument.
 */
const VARIABLE =
  /^(?:[A-Z_]{0,20}(?:ASKPASS|EDITOR|EXTERNAL_DIFF|PAGER|PROXY_COMMAND|RSH|SSH_COMMAND)|BROWSER|GIT_CONFIG_VALUE_\d{1,4}|GIT_SSH|LESSCLOSE|LESSOPEN|PROMPT_COMMAND|SHELL|VISUAL)=[!|]?/;
/** These give git a configuration that cannot be read here. */
const UNREADABLE = /^(?:--config-env(?:=|$)|GIT_CONFIG_PARAMETERS=)/;

/**
 * Lists the commands in options and variables. An option is looked at once for each program of the
 * table that stands before it.
 */
export function* listOptionTexts(words: readonly ShellWord[], starts: ReadonlySet<number>): Iterable<string> {
  const firsts = new Map<RegExp, number>();
  for (const at of starts) {
    const option = OPTIONS.get(programName(words, at));
    if (option) firsts.set(option, Math.min(at, firsts.get(option) ?? at));
  }
  for (const [at, word] of words.entries()) {
    if (UNREADABLE.test(word.text)) yield ANYTHING.text;
    for (const [option, first] of [...firsts, [VARIABLE, -1] as const]) {
      const [found] = (at > first && option.exec(word.text)) || [];
      if (found === undefined) continue;
      const value = readValue(words, at, found);
      yield toShellText(value);
      // Without a mark an alias is a command of git itself.
      if (/^alias\..*=$/is.test(found)) yield toShellText([{ text: 'git', literal: true, glob: -1 }, ...value]);
    }
  }
}

function readValue(words: readonly ShellWord[], at: number, found: string): readonly ShellWord[] {
  const word = words[at] ?? ANYTHING;
  const text = word.text.slice(found.length);
  return text === '' ? words.slice(at + 1) : [{ ...word, text }, ...words.slice(at + 1)];
}

const ALL = /^/;
/** Options that give code. */
const CODE: ReadonlyMap<string, RegExp> = mapByName<RegExp>([
  ['awk gawk mariadb mawk mysql nawk psql sqlite', ALL],
  ['gsed sed', /(?:)/],
  ['ipython pypy python', /^-[A-Za-z]{0,9}c/],
  [
    'bun deno elixir groovy guile julia lua luajit node nodejs osascript perl php racket rscript ruby ts-node tsx',
    /^(?:-[A-Za-z]{0,9}[EePpr]|--(?:eval|execute|print)|eval$)/,
  ],
  ['expect', /^-c/],
  ['gdb lldb', /^-/],
  ['ex less nvim vi view vim vimdiff', /^(?:\+|-c|--cmd)/],
  ['emacs', /^--?e/],
  ['gmake make', /^--eval/],
]);
/**
 * Programs that read code, or commands, from their input: always, or without a file that says what
 * to do.
 */
const READ_INPUT = new Set('at batch crontab ed ex gdb lftp lldb mariadb mysql psql sftp sqlite'.split(' '));
const MAKES = new Set(['gmake', 'make']);
const READ_CODE = new Set('elixir expect lua node nodejs perl php pypy python ruby tclsh wish'.split(' '));

const STARTS_PROGRAMS = /system|popen|spawn|exec|subprocess|child_process|shell|%x|\bqx|[!`]|(?<!\|)\|(?!\|)/i;
/** The command `e`, and the flag of `s`. */
const SED_STARTS = /(?:^|[\s;{}!,/$|#@:\d])[gIiMmp\d]{0,9}e[gIiMmp\d]{0,9}(?:[\s;}]|$)/;

/** Lists the words of programs' code, where that starts others: any of them may be run. */
export function listCodeWords(
  words: readonly ShellWord[],
  starts: ReadonlySet<number>,
): readonly (readonly ShellWord[])[] {
  const firsts = new Map<RegExp, number>();
  for (const at of starts) {
    const option = CODE.get(stripVersion(programName(words, at)));
    if (option) firsts.set(option, Math.min(at, firsts.get(option) ?? at));
  }
  return [...firsts].flatMap(([option, first]) => {
    const rest = words.slice(first + 1);
    const begins = stripVersion(programName(words, first)).endsWith('sed') ? SED_STARTS : STARTS_PROGRAMS;
    const isRun = rest.some(({ text }) => option.test(text)) && rest.some(({ text }) => begins.test(text));
    return isRun ? [splitCode(toShellText(rest))] : [];
  });
}

function splitCode(text: string): readonly ShellWord[] {
  const words = text.split(/[^\w./+@-]+/).filter((word) => word !== '');
  return words.map((word) => ({ text: word, literal: true, glob: -1 }));
}

/** Tells whether the text piped into it may be run. */
export function isCodeReader(words: readonly ShellWord[], first: number): boolean {
  const name = stripVersion(programName(words, first));
  const rest = words.slice(first + 1).map(({ text }) => text);
  if (MAKES.has(name)) return rest.some((text) => /^(?:-|-f-|--(?:make)?file=-|\/dev\/stdin)$/.test(text));
  return READ_INPUT.has(name) || (READ_CODE.has(name) && rest.every((text) => text.startsWith('-')));
}

export function programName(words: readonly ShellWord[], at: number): string {
  const text = words[at]?.text ?? '';
  return text.slice(text.lastIndexOf('/') + 1);
}

const stripVersion = (name: string): string => name.toLowerCase().replace(/(?<![-\d.])[-\d.]+$/, '');

function mapVerbs(names: string, operands: number): Verbs {
  return new Map(names.split(' ').map((verb) => [verb, operands]));
}

function mapByName<Value>(rows: readonly (readonly [names: string, value: Value])[]): ReadonlyMap<string, Value> {
  return new Map(rows.flatMap(([names, value]) => names.split(' ').map((name) => [name, value] as const)));
}
