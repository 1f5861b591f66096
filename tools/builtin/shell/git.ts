// Tells whether git may do more in a folder than read what lies in it. A repository's own
// configuration may name programs that show or store files, files elsewhere, another work tree; no
// variable keeps git from all of them. It is looked up in the files, since asking git costs time,
// and would read the configuration.
import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { foldersUp, isInReach, type Reach } from '../../../system/process/places.ts';
import { findConfigDoubt } from './git-config.ts';

/**
 * The mode of a submodule in an index. `git status` starts git in it, under that repository's
 * configuration.
 */
const SUBMODULE = Buffer.from([0, 0, 0xe0, 0]);
/**
 * Bytes of a file that is looked into. No repository has a larger configuration; a larger index
 * takes too long.
 */
const MAX_CONFIG = 1024 * 1024;
const MAX_INDEX = 64 * 1024 * 1024;

/**
 * Says why git may do more; undefined where it may not. In doubt it may. Settings that the user
 * made for every repository are the user's own.
 */
export function whyGitMayDoMore(folder: string, reach: Reach): string | undefined {
  try {
    for (const git of listRepositories(realpathSync.native(folder))) {
      const why = findDoubt(git, reach);
      if (why !== undefined) return why;
    }
    return undefined;
  } catch {
    // A folder that cannot be read as a repository may be one to git.
    return UNREADABLE;
  }
}

const UNREADABLE = 'the repository, or its configuration, cannot be read as git might read it';
const ELSEWHERE = 'the repository says that parts of it lie outside the workspace';

/**
 * Lists every `.git` from the folder upwards, since git passes over those that are not
 * repositories.
 */
function listRepositories(folder: string): readonly string[] {
  return foldersUp(folder)
    .map((at) => join(at, '.git'))
    .filter((git) => statKind(git) !== 'missing');
}

/** Doubts one repository. `git` is a folder, or a file or link that says where it is. */
function findDoubt(git: string, reach: Reach): string | undefined {
  const pointer = statKind(git) === 'file' ? readPath(git) : undefined;
  const repository = realpathSync.native(pointer ? resolve(dirname(git), pointer.replace(/^gitdir: /, '')) : git);
  const named = readPath(join(repository, 'commondir'));
  const common = named === undefined ? repository : realpathSync.native(resolve(repository, named));
  if (isInReach(reach, git) && !(isInReach(reach, repository) || isLinkedBack(repository, git))) return ELSEWHERE;
  // An agent may have written anything in the folders of its run; a repository outside says itself
  // where it belongs.
  if (isInReach(reach, repository) && !isInReach(reach, common)) return ELSEWHERE;
  const configs = [repository, common].flatMap((at) => [join(at, 'config'), join(at, 'config.worktree')]);
  for (const config of configs) {
    const doubt = findConfigDoubt(config, readTextOrNull);
    if (doubt !== undefined)
      return `the repository's git configuration ${doubt}, with which git may run a program or read elsewhere`;
  }
  if (isInReach(reach, common) && hasBorrowedObjects(common, reach)) return ELSEWHERE;
  return hasSubmodules(repository) ? 'the repository has submodules, whose configurations git would read' : undefined;
}

/** Tells whether a worktree's folder in the repository it belongs to names its `.git`. */
function isLinkedBack(repository: string, git: string): boolean {
  const named = readPath(join(repository, 'gitdir'));
  return named !== undefined && basename(named) === '.git' && realpathSync.native(named) === realpathSync.native(git);
}

/**
 * Reads the path that a file of git's holds; undefined without the file. Git takes off line ends
 * alone: where a blank is left, or bytes that are not text, it would look elsewhere than we do.
 * Throws for those.
 */
function readPath(file: string): string | undefined {
  const path = readTextOrNull(file)?.replace(/\r?\n$/, '');
  if (path === undefined) return undefined;
  const hasOddEnds = path !== path.trim() || /[\r\n]/.test(path);
  if (hasOddEnds || path.includes('\ufffd')) throw new Error(`${file} names a folder that git may read in another way`);
  return path;
}

/** Tells whether the objects it shows may be those of a repository elsewhere. */
function hasBorrowedObjects(common: string, reach: Reach): boolean {
  const objects = join(common, 'objects');
  const info = join(objects, 'info');
  if (['alternates', 'http-alternates'].some((name) => statKind(join(info, name)) !== 'missing')) return true;
  const folders = [objects, info, join(objects, 'pack'), join(common, 'refs')].filter(
    (at) => statKind(at) !== 'missing',
  );
  return !folders.every((at) => isInReach(reach, realpathSync.native(at)));
}

function hasSubmodules(repository: string): boolean {
  const indexes = readdirSync(repository).filter((name) => /^(?:shared)?index/.test(name));
  return indexes.some((name) => hasSubmoduleEntry(readBytes(join(repository, name), MAX_INDEX)));
}

/**
 * Looks for a submodule's mode. Entries are padded, but in version 4, so that a mode always stands
 * four bytes after a multiple of eight.
 */
function hasSubmoduleEntry(index: Buffer): boolean {
  const padded = index[7] !== 4;
  for (let at = index.indexOf(SUBMODULE); at !== -1; at = index.indexOf(SUBMODULE, at + 1)) {
    if (!padded || at % 8 === 4) return true;
  }
  return false;
}

/** Reads a text; null for a file that does not exist. */
function readTextOrNull(path: string): string | null {
  return statKind(path) === 'missing' ? null : readBytes(path, MAX_CONFIG).toString('utf8');
}

/**
 * Opens without waiting, since a pipe in its place would never answer. Throws an Error for a path
 * that is not a file, or too large.
 */
function readBytes(path: string, most: number): Buffer {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile() || stats.size > most) throw new Error(`${path} is no file of at most ${most} bytes`);
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function statKind(path: string): 'missing' | 'file' | 'other' {
  try {
    const stats = statSync(path);
    return stats.isFile() ? 'file' : 'other';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'missing';
    throw error;
  }
}
