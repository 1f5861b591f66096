// Asks git itself which files it ignores, now and by the rules of an earlier moment: a walk has no
// rules of its own. Each repository in a folder judges what lies in it.
import { spawnSync } from 'node:child_process';
import { appendFileSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { namesIn } from '../../store/snapshots/listing.ts';
import { foldersOf, isOfGit, pathIn, type FolderLook, type RawPath } from './look-folder.ts';

export type Judge = {
  /** Returns those of the paths in `root` that git ignores there now. */
  findIgnored(root: string, look: FolderLook, paths: Iterable<RawPath>): ReadonlySet<RawPath>;
  /** Keeps the rules of `root`, to ask them later. */
  keepRules(root: string, look: FolderLook): KeptRules;
};

/** Returns those of the paths that the kept rules ignore. */
export type KeptRules = (paths: Iterable<RawPath>) => ReadonlySet<RawPath>;

export type JudgeOptions = { readonly home: string; readonly include: readonly string[] };

export function openJudge(scratch: string, { home, include }: JudgeOptions): Judge {
  mkdirSync(scratch, { recursive: true });
  const none = join(scratch, 'none');
  makeRepository(none);
  const including = join(scratch, 'include');
  makeRepository(including);
  writeFileSync(join(including, '.git', 'info', 'exclude'), include.join('\n'));
  // What a person ignores everywhere is not what is included.
  appendFileSync(join(including, '.git', 'config'), '\texcludesFile = /dev/null\n');
  const env = { PATH: process.env['PATH'], HOME: home, GIT_CONFIG_NOSYSTEM: '1', LC_ALL: 'C', GIT_OPTIONAL_LOCKS: '0' };
  const ask: AskRepository = (root, repository, hasOwn, paths) => {
    const place = repository === '' ? root : pathIn(root, repository);
    const where = hasOwn ? [] : [`--git-dir=${none}/.git`, `--work-tree=${root}`];
    // A folder whose name is no UTF-8 cannot be the `cwd` of a child: none of the walks has one.
    const run = (args: readonly string[], input: readonly RawPath[]) =>
      spawnSync('git', [...where, ...args], {
        cwd: String(place),
        env,
        input: Buffer.from(input.map((path) => `${path}\0`).join(''), 'latin1'),
        maxBuffer: 64 * 1024 * 1024,
      });
    const check = (given: readonly RawPath[], ...how: readonly string[]): readonly RawPath[] => {
      let asked = run(['check-ignore', '-z', '--stdin', ...how], given);
      // By its index git answers nothing about a submodule that is not checked out.
      if (asked.stderr.includes('is in submodule')) asked = run(['check-ignore', '-z', '--stdin', '--no-index'], given);
      if (asked.status !== 0 && asked.status !== 1) throw new Error(`git check-ignore: ${asked.stderr.toString()}`);
      return namesIn(asked.stdout.toString('latin1'));
    };
    // Git takes a file called `*` for a pattern, which a file that it tracks matches.
    const patterns = paths.filter((path) => path.includes('*'));
    const ignored = new Set([...check(paths), ...(patterns.length > 0 ? check(patterns, '--no-index') : [])]);
    if (patterns.length === 0) return [...ignored];
    const literal = patterns.map((path) => Buffer.from(path, 'latin1').toString('utf8'));
    const tracked = run(['--literal-pathspecs', 'ls-files', '-z', '--', ...literal], []);
    for (const path of namesIn(tracked.stdout.toString('latin1'))) ignored.delete(path);
    return [...ignored];
  };
  const judge = (root: string, repositories: ReadonlySet<RawPath>, paths: Iterable<RawPath>): ReadonlySet<RawPath> => {
    const ignored = findIgnored(ask, root, repositories, paths);
    if (include.length === 0 || ignored.size === 0) return ignored;
    const included = new Set(ask(including, '', true, [...ignored]));
    return new Set([...ignored].filter((path) => !included.has(path)));
  };
  return {
    findIgnored: (root, look, paths) => judge(root, repositoriesIn(look), paths),
    keepRules: (root, look) => {
      const kept = mkdtempSync(join(scratch, 'rules-'));
      copyRules(root, kept, look);
      const repositories = repositoriesIn(look);
      return (paths) => judge(kept, repositories, paths);
    },
  };
}

type AskRepository = (
  root: string,
  repository: RawPath,
  hasOwn: boolean,
  paths: readonly RawPath[],
) => readonly RawPath[];

/** The folders with a repository or a work tree: empty for the folder itself. */
function repositoriesIn({ git }: FolderLook): ReadonlySet<RawPath> {
  const found = new Set<RawPath>();
  for (const [path, about] of git) {
    const parts = path.split('/');
    if (parts.findIndex(isOfGit) !== parts.length - 1 || parts.at(-1) !== '.git') continue;
    if (about.startsWith('file') || git.has(`${path}/HEAD`)) found.add(parts.slice(0, -1).join('/'));
  }
  return found;
}

function findIgnored(
  ask: AskRepository,
  root: string,
  repositories: ReadonlySet<RawPath>,
  paths: Iterable<RawPath>,
): ReadonlySet<RawPath> {
  const ofRepository = new Map<RawPath, RawPath[]>();
  const repositoryOf = (path: RawPath): RawPath => foldersOf(path).find((folder) => repositories.has(folder)) ?? '';
  const note = (path: RawPath): void => {
    const repository = repositoryOf(path);
    const asked = ofRepository.get(repository) ?? [];
    ofRepository.set(repository, asked);
    asked.push(path);
    if (repository !== '') note(repository);
  };
  const all = [...paths];
  for (const path of all) note(path);
  const ignored = new Set<RawPath>();
  for (const [repository, asked] of ofRepository) {
    const prefix = repository === '' ? '' : `${repository}/`;
    const named = [...new Set(asked)].map((path) => path.slice(prefix.length));
    const hasOwn = repository !== '' || repositories.has('');
    for (const path of ask(root, repository, hasOwn, named)) ignored.add(`${prefix}${path}`);
  }
  const isOut = (path: RawPath): boolean =>
    ignored.has(path) || foldersOf(path).some((folder) => repositories.has(folder) && ignored.has(folder));
  return new Set(all.filter(isOut));
}

/** Copies what git judges by: `.gitignore`, and of each repository its index and `info/exclude`. */
function copyRules(root: string, kept: string, look: FolderLook): void {
  for (const [path, { kind }] of look.entries) {
    if (kind !== 'file' || !/(?:^|\/)\.gitignore$/.test(path)) continue;
    const place = pathIn(kept, path);
    mkdirSync(pathIn(kept, foldersOf(path)[0] ?? ''), { recursive: true });
    writeFileSync(place, readFileSync(pathIn(root, path)));
  }
  for (const repository of repositoriesIn(look)) {
    const copy = join(kept, repository);
    makeRepository(copy);
    for (const name of ['index', 'info/exclude']) {
      const from = findGitPath(join(root, repository), name);
      if (from !== null && existsSync(from)) copyFileSync(from, join(copy, '.git', name));
    }
  }
}

function findGitPath(repository: string, name: string): string | null {
  const asked = spawnSync('git', ['rev-parse', '--git-path', name], { cwd: repository, encoding: 'utf8' });
  return asked.status === 0 ? resolve(repository, asked.stdout.trim()) : null;
}

function makeRepository(folder: string): void {
  for (const name of ['objects', 'refs', 'info']) mkdirSync(join(folder, '.git', name), { recursive: true });
  writeFileSync(join(folder, '.git', 'HEAD'), 'ref: refs/heads/none\n');
  writeFileSync(join(folder, '.git', 'config'), '[core]\n\trepositoryformatversion = 0\n\tbare = false\n');
}
