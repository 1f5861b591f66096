// Whether the repository of a folder may have git run a program where git only reads: what shows or stores a file (`diff`,
// `filter`) may be one, by whatever name, and no variable keeps git from it; nor from files elsewhere that are said to be the
// repository's (`worktree`). Looked up in the files, since to ask git costs time.
import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** Where such a program may be named, or further configuration. A section need not begin a line. */
const NAMING = /\[\s*(?:diff|filter|include)|\bworktree\s*=/i;
/** The mode of a submodule in an index. `git status` starts git in it, under that repository's configuration. */
const SUBMODULE = Buffer.from([0, 0, 0xe0, 0]);

/** In doubt it may. What the user configured for every repository is the user's own. */
export function mayRunPrograms(folder: string): boolean {
  try {
    return repositoriesOf(realpathSync.native(folder)).some(namesPrograms);
  } catch {
    // Whatever cannot be read as a repository may be one to git.
    return true;
  }
}

/** Every `.git` from the folder upwards, since git passes over what is none: a folder, or a file that says where it is. */
function repositoriesOf(folder: string): readonly string[] {
  const git = join(folder, '.git');
  const elsewhere = textOf(git, 'EISDIR')
    ?.replace(/^gitdir: /, '')
    .trimEnd();
  const here = elsewhere === undefined ? [] : [elsewhere === '' ? git : resolve(folder, elsewhere)];
  return dirname(folder) === folder ? here : [...here, ...repositoriesOf(dirname(folder))];
}

function namesPrograms(repository: string): boolean {
  const common = textOf(join(repository, 'commondir'))?.trim();
  const folders = common === undefined ? [repository] : [repository, resolve(repository, common)];
  const configs = folders.flatMap((at) => [join(at, 'config'), join(at, 'config.worktree')]);
  return configs.some((config) => NAMING.test(textOf(config) ?? '')) || hasSubmodules(repository);
}

function hasSubmodules(repository: string): boolean {
  const indexes = readdirSync(repository).filter((name) => /^(?:shared)?index/.test(name));
  return indexes.some((name) => mentionsSubmodule(readFileSync(join(repository, name))));
}

/** Entries are padded, but in version 4, so that a mode always stands four bytes after a multiple of eight. */
function mentionsSubmodule(index: Buffer): boolean {
  const padded = index[7] !== 4;
  for (let at = index.indexOf(SUBMODULE); at !== -1; at = index.indexOf(SUBMODULE, at + 1)) {
    if (!padded || at % 8 === 4) return true;
  }
  return false;
}

/** Null for what is not there, '' for what fails with `empty`. */
function textOf(path: string, empty?: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    if (code === empty) return '';
    throw error;
  }
}
