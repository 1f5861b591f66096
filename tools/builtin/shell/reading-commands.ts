// The commands that only read, each with the arguments that would make it do more: write a file,
// run a program, or follow links out of the workspace. GNU programs take any unambiguous beginning
// of a long option, so a bad one is refused by its beginnings too.
import type { ShellWord } from '../../shell-command.ts';
import { isReadOnlyGit } from './reading-git.ts';

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
export function isReadOnlyCommand(name: string, args: readonly ShellWord[]): boolean {
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
