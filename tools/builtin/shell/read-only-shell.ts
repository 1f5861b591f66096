// Tells whether a shell command only reads the folders of its run (L55): a list of simple commands
// from a table, with arguments that are known to the letter and lead nowhere else. When in doubt it
// does not: a wrong no costs a question, a wrong yes a file.
import { isAbsolute, join, resolve } from 'node:path';
import { isInReach, type Reach } from '../../../system/process/places.ts';
import { parseShell } from './parse-shell.ts';
import type { ShellRedirect, ShellWord, SimpleCommand } from '../../shell-command.ts';
import type { ShellPath } from '../files/confine.ts';

export type ShellJudgement =
  /**
   * `paths` are those that its words may name, absolute; a link among them may still lead out of
   * the workspace. Git may be started in each of the folders `gitIn`, absolute too.
   */
  | { readonly readOnly: true; readonly paths: readonly ShellPath[]; readonly gitIn: readonly string[] }
  | { readonly readOnly: false };

const NO: ShellJudgement = { readOnly: false };
/** Folders that a command may be in after its `cd`s, counting those that might fail. */
const MAX_FOLDERS = 16;
/** Paths that its words may name, each of which is looked up. */
const MAX_PATHS = 2_000;

/**
 * Judges a command. `dir` is where it begins: an absolute real path. Pure: nothing is looked up.
 */
export function judgeShell(command: string, reach: Reach, dir = reach.cwd): ShellJudgement {
  const commands = parseShell(command);
  return judgeParsed(commands, reach, dir);
}

/** Judges a parsed text; null, for one that could not be read for certain, is never read-only. */
export function judgeParsed(commands: readonly SimpleCommand[] | null, reach: Reach, dir = reach.cwd): ShellJudgement {
  return commands === null ? NO : judgeCommands(commands, reach, dir);
}

export function judgeCommands(commands: readonly SimpleCommand[], reach: Reach, dir = reach.cwd): ShellJudgement {
  let folders: readonly string[] = [dir];
  const paths: ShellPath[] = [];
  const gitIn = new Set<string>();
  for (const [at, simple] of commands.entries()) {
    if (!simple.redirects.every(isHarmlessRedirect)) return NO;
    const found = findPaths(simple, reach, folders);
    if (found === null) return NO;
    if (paths.length + found.length > MAX_PATHS) return NO;
    paths.push(...found);
    const name = simple.words[0]?.text;
    if (name === 'git') folders.forEach((folder) => gitIn.add(folder));
    if (name !== 'cd') continue;
    // In a pipeline it would change the folder of nothing but itself.
    if (simple.joint === '|' || commands[at + 1]?.joint === '|') return NO;
    folders = [...new Set([...folders, ...found.map(({ path }) => path)])];
    if (folders.length > MAX_FOLDERS) return NO;
  }
  return { readOnly: true, paths, gitIn: [...gitIn] };
}

/** Tells whether a redirection goes to nowhere, or from one of the two outputs to the other. */
export function isHarmlessRedirect({ operator, target }: ShellRedirect): boolean {
  if (!target.literal || target.glob !== -1) return false;
  if (/^[12]?>&$/.test(operator)) return target.text === '1' || target.text === '2';
  return /^(?:[12]?>>?|&>>?|<)$/.test(operator) && target.text === '/dev/null';
}

/** Returns the paths that the arguments may name, or null when the command does more than read. */
function findPaths({ words }: SimpleCommand, reach: Reach, folders: readonly string[]): readonly ShellPath[] | null {
  const [name, ...args] = words;
  if (name === undefined || !name.literal || (name.glob !== -1 && name.text !== '[')) return null;
  if (!args.every((word) => word.literal && !isOpenOption(word)) || !isReadOnlyCommand(name.text, args)) return null;
  if ((name.text === 'echo' || name.text === 'printf') && args.every((word) => word.glob === -1)) return [];
  const paths: ShellPath[] = [];
  const pattern = findPatternWord(name.text, args);
  for (const word of args.filter((arg) => arg !== pattern)) {
    const named = findPathsInWord(word);
    if (named === null) return null;
    const entries = word.glob !== -1;
    const bare = name.text === 'ls' && word.glob === 0 ? ({ bare: true } as const) : {};
    for (const path of named.map((text) => (entries ? parentFolder(text) : text))) {
      for (const folder of folders) {
        const full = isAbsolute(path) ? resolve(path) : join(folder, path);
        if (!isInReach(reach, full)) return null;
        // diff compares the content of folders, and follows links there.
        if (paths.push({ path: full, entries: entries || name.text === 'diff', ...bare }) > MAX_PATHS) return null;
      }
    }
  }
  return paths;
}

/**
 * Tells whether a pattern stands in an option: a file's name may make it another one. In the value
 * of a long option the option's name stays.
 */
function isOpenOption({ text, glob }: ShellWord): boolean {
  return glob !== -1 && text.startsWith('-') && !/^--[A-Za-z0-9-]+=/.test(text.slice(0, glob));
}

/**
 * Returns the paths that may be in a word: all of it, also of an option, or an option's value. Null
 * when it could lead anywhere.
 */
function findPathsInWord({ text, glob }: ShellWord): readonly string[] | null {
  if (text.split('/').includes('..')) return null;
  if (glob !== -1 && (text.indexOf('/', glob) !== -1 || /(?:^|\/)\.{1,2}$/.test(text.slice(0, glob)))) return null;
  if (!text.startsWith('-')) return [text];
  const value = /^--[A-Za-z0-9-]+=(.*)$/s.exec(text)?.[1];
  if (value !== undefined) return value.split('/').includes('..') ? null : [text, value];
  if (text.includes('/')) return null;
  // The value of a letter follows it at once, and letters may stand before it: `-nfFILE`.
  if (text.startsWith('--')) return [text];
  // No name is longer than 255.
  return Array.from({ length: Math.min(text.length, 256) }, (_, n) => text.slice(text.length - 1 - n));
}

/**
 * Returns the word that grep and rg take as the pattern, which is not a path however it looks.
 * Undefined when in doubt: where an option may hold the pattern, a file may stand in its place.
 */
function findPatternWord(name: string, args: readonly ShellWord[]): ShellWord | undefined {
  if (!/^(?:[ef]?grep|rg)$/.test(name)) return undefined;
  const options = args.filter(({ text }) => text.startsWith('-'));
  if (!options.every(({ text }) => /^-[^-ef][^ef]*$|^--(?!reg|file)[a-z-]+=/.test(text))) return undefined;
  const first = args.find(({ text }) => !text.startsWith('-'));
  return first?.glob === -1 ? first : undefined;
}

function parentFolder(pattern: string): string {
  return pattern.slice(0, pattern.lastIndexOf('/') + 1);
}

// The commands that only read, each with the arguments that would make it do more: write a file,
// run a program, or follow links out of the workspace. GNU programs take any unambiguous beginning
// of a long option, so a bad one is refused by its beginnings too.
type Judge = (args: readonly ShellWord[]) => boolean;

/**
 * Accepts any options: these commands write or run nothing, and open no files that are named in a
 * file.
 */
const acceptAll: Judge = () => true;

/**
 * Refuses options that do more than read: single letters, wherever in a cluster, and long names.
 */
function refuseOptions(letters: string, ...long: readonly string[]): Judge {
  const plain = refuseLiteralOptions(letters, long);
  // A pattern in front of a name can become an option: a file may be called "-o".
  return (args) => args.every(({ glob }) => glob !== 0) && plain(args);
}

function refuseLiteralOptions(letters: string, long: readonly string[]): Judge {
  return (args) =>
    args.every(({ text }) => {
      // It does not end the options for certain: it may be the value of one.
      if (text === '--') return true;
      if (text.startsWith('--')) return !long.some((name) => name.startsWith(text.slice(2).split('=')[0] as string));
      return !text.startsWith('-') || !Array.from(letters).some((letter) => text.includes(letter, 1));
    });
}

const FIND_DEEDS = /^-(?:exec|execdir|ok|okdir|delete|fprint0?|fprintf|fls|follow|files0-from.*|[LH])$/;
const DATE_OPTIONS = /^(?:\+.*|-u|--utc|--universal|-R|--rfc-email|-I[a-z]*|--iso-8601(?:=[a-z]+)?|--rfc-3339=[a-z]+)$/;

const JUDGES: ReadonlyMap<string, Judge> = new Map<string, Judge>([
  ...(
    'arch basename cat cmp column comm cut df dirname echo expand false fold groups head hexdump id join nl nproc od paste ' +
    'printenv pwd readlink realpath rev seq stat sum tac tail tr true type uname unexpand which whoami'
  )
    .split(' ')
    .map((name) => [name, acceptAll] as const),
  ...'b2sum cksum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum'
    .split(' ')
    .map((name) => [name, refuseOptions('c', 'check')] as const),
  ['du', refuseOptions('L', 'dereference', 'files0-from')],
  ['wc', refuseOptions('', 'files0-from')],
  // The judge of the paths sees to files that are called like options.
  ['ls', refuseLiteralOptions('L', ['dereference'])],
  ...['grep', 'egrep', 'fgrep'].map((name) => [name, refuseOptions('R', 'dereference-recursive')] as const),
  ...['node', 'python3'].map((name) => [name, (args: readonly ShellWord[]) => isOnly(args, '--version')] as const),
  ['[', (args) => args.at(-1)?.text === ']' && isHarmlessTest(args.slice(0, -1))],
  ['cd', (args) => args.length === 1 && args[0]?.glob === -1 && /^[^-]/.test(args[0].text)],
  ['command', (args) => (args[0]?.text === '-v' || args[0]?.text === '-V') && args.every(({ glob }) => glob === -1)],
  ['date', (args) => args.every(({ text, glob }) => glob === -1 && DATE_OPTIONS.test(text))],
  ['diff', refuseOptions('lr', 'paginate', 'recursive', 'to-file', 'from-file')],
  [
    'file',
    refuseOptions('CfzZSm', 'compile', 'files-from', 'magic-file', 'no-sandbox', 'uncompress', 'uncompress-noreport'),
  ],
  ['find', (args) => args.every(({ text, glob }) => glob !== 0 && !FIND_DEEDS.test(text))],
  ['git', isReadOnlyGit],
  ['printf', isHarmlessPrintf],
  ['rg', refuseOptions('zLf', 'pre', 'pre-glob', 'hostname-bin', 'search-zip', 'follow', 'file')],
  ['sort', refuseOptions('oT', 'output', 'temporary-directory', 'compress-program', 'files0-from')],
  ['test', isHarmlessTest],
  ['uniq', (args) => args.every(({ glob }) => glob === -1) && listOperands(args).length <= 1],
]);

/**
 * Tells whether `name` with these arguments reads and does nothing else. The arguments are literal
 * but for patterns.
 */
function isReadOnlyCommand(name: string, args: readonly ShellWord[]): boolean {
  return JUDGES.get(name)?.(args) ?? false;
}

/**
 * Refuses `-v` and `-R`, which evaluate their operand, and with it a command in an array's index.
 */
function isHarmlessTest(args: readonly ShellWord[]): boolean {
  return args.every(({ text, glob }) => glob === -1 && text !== '-v' && text !== '-R');
}

/** Refuses `-v` and `%n`, which assign variables, such as PATH. */
function isHarmlessPrintf(args: readonly ShellWord[]): boolean {
  const format = args[0]?.text ?? '';
  return args.every(({ glob }) => glob === -1) && !format.startsWith('-') && !/%[^%A-Za-z\\]*[hlLjzt]*n/.test(format);
}

function isOnly(args: readonly ShellWord[], text: string): boolean {
  return args.length === 1 && args[0]?.text === text && args[0].glob === -1;
}

/** Lists the operands: a `-` is one, and so is all that follows `--`. */
function listOperands(args: readonly ShellWord[]): readonly ShellWord[] {
  const end = args.findIndex(({ text }) => text === '--');
  return args.filter(({ text }, at) => (end !== -1 && at > end) || text === '-' || !text.startsWith('-'));
}

// The git commands that only read. Options are allowed by name: git has too many that write, run a
// program or are shortened. Programs that a repository's own configuration names are another matter
// (git.ts).
type GitJudge = (options: readonly string[], names: readonly string[]) => boolean;

const SHORT = /^-(?:[abcilnpqrstuvwzMCR]+|n?\d+|U\d+|[SGL].+)$/;
/** `--` itself is allowed; formats that have a signature checked are not. */
const LONG = new RegExp(
  `^--(?:|${[
    'abbrev(?:=\\d+)?|abbrev-commit|abbrev-ref|after=.*|all|author=.*|before=.*|branch|branches|cached|color=never|committer=.*',
    'date=.*|decorate(?:=\\w+)?|deleted|diff-filter=\\w+|exclude-standard|first-parent|follow|format=(?!.*%.?G).*|full-index|git-dir|graph|grep=.*',
    'histogram|ignore-all-space|ignore-space-change|ignored(?:=\\w+)?|is-inside-work-tree|line-porcelain|long|max-count=\\d+|merges',
    'minimal|modified|name-only|name-status|no-color|no-decorate|no-merges|no-patch|no-renames|numstat|oneline|others|patch|patience',
    'porcelain(?:=v?[12])?|pretty(?:=(?!.*%.?G).*)?|quiet|relative|remotes|reverse|short(?:=\\d+)?|shortstat|show-toplevel|since=.*|skip=\\d+',
    'staged|stat(?:=[\\d,]+)?|summary|symbolic-full-name|tags|unified=\\d+|until=.*|untracked-files(?:=\\w+)?|verify|word-diff(?:=\\w+)?',
  ].join('|')})$`,
  's',
);
const BRANCH_LIST =
  /^(?:-[arv]+|--all|--remotes|--verbose|--list|--show-current|--merged|--no-merged|--contains|--sort=[\w:-]+)$/;
const TAKES_NAMES = new Set(['--list', '--merged', '--no-merged', '--contains']);

const hasReadingOptions: GitJudge = (options) => options.every((option) => SHORT.test(option) || LONG.test(option));

const GIT_JUDGES: ReadonlyMap<string, GitJudge> = new Map<string, GitJudge>([
  ...[
    'blame',
    'describe',
    'diff',
    'log',
    'ls-files',
    'ls-tree',
    'merge-base',
    'rev-list',
    'rev-parse',
    'shortlog',
    'show',
    'status',
  ].map((name) => [name, hasReadingOptions] as const),
  [
    'branch',
    (options, names) =>
      options.every((option) => BRANCH_LIST.test(option)) &&
      (names.length === 0 || options.some((option) => TAKES_NAMES.has(option))),
  ],
  ['cat-file', (options) => options.every((option) => /^-[pts]$/.test(option))],
  ['remote', (options, names) => names.length === 0 && options.every((option) => option === '-v')],
  ['stash', (options, names) => options.length === 0 && names.length === 1 && names[0] === 'list'],
  ['tag', (options, names) => options.every((option) => option === '--list') && names.length <= options.length],
  ['version', (options, names) => options.length + names.length === 0],
]);

function isReadOnlyGit(args: readonly ShellWord[]): boolean {
  const texts = args.map(({ text }) => text);
  if (args.some(({ glob }) => glob === 0)) return false;
  if (texts.length === 1 && texts[0] === '--version') return true;
  const [command = '', ...rest] = texts[0] === '--no-pager' ? texts.slice(1) : texts;
  // Names after `--` are held to the rules for options: no command's meaning depends on where they
  // end.
  const options = rest.filter((text) => text.startsWith('-'));
  const names = rest.filter((text) => !text.startsWith('-'));
  return GIT_JUDGES.get(command)?.(options, names) ?? false;
}
