// The commands that only read, each with what would make it do more: write a file, run a program,
// or follow links out of the workspace. GNU programs take any unambiguous beginning of a long
// option, so a bad one is refused by its beginnings too.
import type { Word } from '../../shell-command.ts';

type Judge = (args: readonly Word[]) => boolean;

/** Whatever its options: none writes or runs anything, or opens files that are named in a file. */
const always: Judge = () => true;

/** Options that do more than read: single letters, wherever in a cluster, and long names. */
function without(letters: string, ...long: readonly string[]): Judge {
  const plain = withoutIn(letters, long);
  // A pattern in front of a name can become an option: there may be a file called "-o".
  return (args) => args.every(({ glob }) => glob !== 0) && plain(args);
}

function withoutIn(letters: string, long: readonly string[]): Judge {
  return (args) =>
    args.every(({ text }) => {
      // No end of the options: it may be the value of one.
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
    .map((name) => [name, always] as const),
  ...'b2sum cksum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum'
    .split(' ')
    .map((name) => [name, without('c', 'check')] as const),
  ['du', without('L', 'dereference', 'files0-from')],
  ['wc', without('', 'files0-from')],
  // Who judges the paths sees to files that are called like options.
  ['ls', withoutIn('L', ['dereference'])],
  ...['grep', 'egrep', 'fgrep'].map((name) => [name, without('R', 'dereference-recursive')] as const),
  ...['node', 'python3'].map((name) => [name, (args: readonly Word[]) => isOnly(args, '--version')] as const),
  ['[', (args) => args.at(-1)?.text === ']' && tests(args.slice(0, -1))],
  ['cd', (args) => args.length === 1 && args[0]?.glob === -1 && /^[^-]/.test(args[0].text)],
  ['command', (args) => (args[0]?.text === '-v' || args[0]?.text === '-V') && args.every(({ glob }) => glob === -1)],
  ['date', (args) => args.every(({ text, glob }) => glob === -1 && DATE_OPTIONS.test(text))],
  ['diff', without('lr', 'paginate', 'recursive', 'to-file', 'from-file')],
  ['file', without('CfzZSm', 'compile', 'files-from', 'magic-file', 'no-sandbox', 'uncompress', 'uncompress-noreport')],
  ['find', (args) => args.every(({ text, glob }) => glob !== 0 && !FIND_DEEDS.test(text))],
  ['git', gitReadsOnly],
  ['printf', printsOnly],
  ['rg', without('zLf', 'pre', 'pre-glob', 'hostname-bin', 'search-zip', 'follow', 'file')],
  ['sort', without('oT', 'output', 'temporary-directory', 'compress-program', 'files0-from')],
  ['test', tests],
  ['uniq', (args) => args.every(({ glob }) => glob === -1) && operands(args).length <= 1],
]);

/**
 * Whether `name` with these arguments reads and does nothing else. The arguments are literal but
 * for patterns.
 */
export function readsOnly(name: string, args: readonly Word[]): boolean {
  return JUDGES.get(name)?.(args) ?? false;
}

/** `-v` and `-R` evaluate their operand, and with it a command in an array's index. */
function tests(args: readonly Word[]): boolean {
  return args.every(({ text, glob }) => glob === -1 && text !== '-v' && text !== '-R');
}

/** `-v` and `%n` assign variables, such as PATH. */
function printsOnly(args: readonly Word[]): boolean {
  const format = args[0]?.text ?? '';
  return args.every(({ glob }) => glob === -1) && !format.startsWith('-') && !/%[^%A-Za-z\\]*[hlLjzt]*n/.test(format);
}

function isOnly(args: readonly Word[], text: string): boolean {
  return args.length === 1 && args[0]?.text === text && args[0].glob === -1;
}

/** A `-` is one, and so is all that follows `--`. */
function operands(args: readonly Word[]): readonly Word[] {
  const end = args.findIndex(({ text }) => text === '--');
  return args.filter(({ text }, at) => (end !== -1 && at > end) || text === '-' || !text.startsWith('-'));
}

// The git commands that only read. Options are allowed by name: git has too many that write, run a
// program or are shortened. Programs that a repository's own configuration names are another
// matter: read-only-environment.ts, git-programs.ts.

type GitJudge = (options: readonly string[], names: readonly string[]) => boolean;

const SHORT = /^-(?:[abcilnpqrstuvwzMCR]+|n?\d+|U\d+|[SGL].+)$/;
/** With `--` itself, and without formats that have a signature checked. */
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

const reads: GitJudge = (options) => options.every((option) => SHORT.test(option) || LONG.test(option));

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
  ].map((name) => [name, reads] as const),
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

function gitReadsOnly(args: readonly Word[]): boolean {
  const texts = args.map(({ text }) => text);
  if (args.some(({ glob }) => glob === 0)) return false;
  if (texts.length === 1 && texts[0] === '--version') return true;
  const [command = '', ...rest] = texts[0] === '--no-pager' ? texts.slice(1) : texts;
  // Names after `--` are held to what options may be: no command's meaning hangs on where they end.
  const options = rest.filter((text) => text.startsWith('-'));
  const names = rest.filter((text) => !text.startsWith('-'));
  return GIT_JUDGES.get(command)?.(options, names) ?? false;
}
