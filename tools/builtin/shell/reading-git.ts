// The git commands that only read. Options are allowed by name: git has too many that write, run a
// program or are shortened. Programs that a repository's own configuration names are another matter
// (git.ts).
import type { ShellWord } from '../../shell-command.ts';

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

export function isReadOnlyGit(args: readonly ShellWord[]): boolean {
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
