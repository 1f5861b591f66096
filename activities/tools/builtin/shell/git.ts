// Whether git may do more in a folder than read what lies in it. A repository's own configuration may name programs that show or
// store files, files elsewhere, another work tree; no variable keeps git from all of them. Looked up in the files, since to ask git
// costs time, and would read the configuration.
import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { isInReach, type Reach } from '../../../process/places.ts';

/** The mode of a submodule in an index. `git status` starts git in it, under that repository's configuration. */
const SUBMODULE = Buffer.from([0, 0, 0xe0, 0]);
/** Bytes of a file that is looked into. A larger configuration is nobody's; a larger index takes too long. */
const MAX_CONFIG = 1024 * 1024;
const MAX_INDEX = 64 * 1024 * 1024;

/** In doubt it may. What the user configured for every repository is the user's own. */
export function gitMayDoMore(folder: string, reach: Reach): boolean {
  try {
    return !repositoriesOf(realpathSync.native(folder)).every((git) => isHarmless(git, reach));
  } catch {
    // Whatever cannot be read as a repository may be one to git.
    return true;
  }
}

/** Every `.git` from the folder upwards, since git passes over what is none. */
function repositoriesOf(folder: string): readonly string[] {
  const git = join(folder, '.git');
  const here = kindOf(git) === 'missing' ? [] : [git];
  return dirname(folder) === folder ? here : [...here, ...repositoriesOf(dirname(folder))];
}

/** `git` is a folder, or a file or link that says where it is. */
function isHarmless(git: string, reach: Reach): boolean {
  const pointer = kindOf(git) === 'file' ? pathIn(git) : undefined;
  const repository = realpathSync.native(pointer ? resolve(dirname(git), pointer.replace(/^gitdir: /, '')) : git);
  const named = pathIn(join(repository, 'commondir'));
  const common = named === undefined ? repository : realpathSync.native(resolve(repository, named));
  if (isInReach(reach, git) && !(isInReach(reach, repository) || leadsBack(repository, git))) return false;
  // An agent may have written anything in the folders of its run; one outside says itself where it belongs.
  if (isInReach(reach, repository) && !isInReach(reach, common)) return false;
  const configs = [repository, common].flatMap((at) => [join(at, 'config'), join(at, 'config.worktree')]);
  return (
    configs.every((config) => holdsOnlyHarmless(textOf(config) ?? '')) &&
    !(isInReach(reach, common) && borrows(common, reach)) &&
    !hasSubmodules(repository)
  );
}

/** A worktree's folder in the repository it belongs to names its `.git`. */
function leadsBack(repository: string, git: string): boolean {
  const named = pathIn(join(repository, 'gitdir'));
  return named !== undefined && basename(named) === '.git' && realpathSync.native(named) === realpathSync.native(git);
}

/**
 * The path that a file of git's holds; undefined without the file. Git takes off line ends alone: where a blank is left, or bytes that are
 * no text, it would look elsewhere than we do. Throws for those.
 */
function pathIn(file: string): string | undefined {
  const path = textOf(file)?.replace(/\r?\n$/, '');
  if (path === undefined) return undefined;
  const hasOddEnds = path !== path.trim() || /[\r\n]/.test(path);
  if (hasOddEnds || path.includes('\ufffd')) throw new Error(`${file} names a folder that git may read in another way`);
  return path;
}

/** Whether the objects it shows may be those of a repository elsewhere. */
function borrows(common: string, reach: Reach): boolean {
  const objects = join(common, 'objects');
  const info = join(objects, 'info');
  if (['alternates', 'http-alternates'].some((name) => kindOf(join(info, name)) !== 'missing')) return true;
  const folders = [objects, info, join(objects, 'pack'), join(common, 'refs')].filter((at) => kindOf(at) !== 'missing');
  return !folders.every((at) => isInReach(reach, realpathSync.native(at)));
}

function hasSubmodules(repository: string): boolean {
  const indexes = readdirSync(repository).filter((name) => /^(?:shared)?index/.test(name));
  return indexes.some((name) => mentionsSubmodule(bytesOf(join(repository, name), MAX_INDEX)));
}

/** Entries are padded, but in version 4, so that a mode always stands four bytes after a multiple of eight. */
function mentionsSubmodule(index: Buffer): boolean {
  const padded = index[7] !== 4;
  for (let at = index.indexOf(SUBMODULE); at !== -1; at = index.indexOf(SUBMODULE, at + 1)) {
    if (!padded || at % 8 === 4) return true;
  }
  return false;
}

/** Null for what is not there. */
function textOf(path: string): string | null {
  return kindOf(path) === 'missing' ? null : bytesOf(path, MAX_CONFIG).toString('utf8');
}

/** Opened without waiting, since a pipe in its place would never answer. Throws for what is no file, or too large. */
function bytesOf(path: string, most: number): Buffer {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile() || stats.size > most) throw new Error(`${path} is no file of at most ${most} bytes`);
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function kindOf(path: string): 'missing' | 'file' | 'other' {
  try {
    const stats = statSync(path);
    return stats.isFile() ? 'file' : 'other';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'missing';
    throw error;
  }
}

// Whether a repository's configuration holds only what is known to be harmless to a git that reads. Git has hundreds of keys, and
// others' programs (git-lfs) have theirs: a list of the bad ones would never be whole.

/** Where a line of a file stands in it: what follows the part before, white space left out. */
const HEADER = /\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\]|\\.)*)")?\]/y;
const KEY = /([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=.*)?$/y;
const BLANK = /[ \t\r]*/y;

/**
 * By section, with `.*` where it has a name of its own, such as `[remote "origin"]`. What `readOnlyEnvironment` overrules is
 * harmless too: husky sets core.hooksPath.
 */
const HARMLESS: Readonly<Record<string, readonly string[] | 'all'>> = {
  advice: 'all',
  author: 'all',
  'branch.*': 'all',
  branch: 'all',
  color: 'all',
  'color.*': 'all',
  commit: words('gpgsign'),
  committer: 'all',
  core: words(
    'abbrev autocrlf bare bigfilethreshold checkstat commentchar compression deltabasecachelimit eol filemode fscache fsmonitor ' +
      'hidedotfiles hookspath ignorecase logallrefupdates longpaths multipackindex packedgitlimit packedgitwindowsize ' +
      'precomposeunicode preloadindex protecthfs protectntfs quotepath repositoryformatversion safecrlf sharedrepository ' +
      'sparsecheckout sparsecheckoutcone splitindex symlinks trustctime untrackedcache',
  ),
  extensions: words('noop objectformat refstorage worktreeconfig'),
  fetch: words('prune prunetags parallel writecommitgraph'),
  gc: words('auto autodetach'),
  gpg: words('format program'),
  'gpg.*': words('program'),
  index: words('skiphash sparse threads version'),
  init: words('defaultbranch'),
  lfs: words('repositoryformatversion'),
  'lfs.*': words('access locksverify'),
  log: words('showsignature'),
  maintenance: words('auto strategy'),
  pack: words('threads windowmemory'),
  pull: words('ff rebase'),
  push: words('autosetupremote default followtags'),
  rebase: words('autosquash autostash updaterefs'),
  'remote.*': words('fetch gh-resolved mirror prune prunetags push pushurl skipdefaultupdate tagopt url'),
  rerere: words('autoupdate enabled'),
  tag: words('gpgsign'),
  user: words('email name signingkey useconfigonly'),
};

function words(text: string): readonly string[] {
  return text.split(' ');
}

/** In doubt it does not: where a line goes on in the next, or is not understood. */
export function holdsOnlyHarmless(config: string): boolean {
  let allowed: readonly string[] | 'all' = [];
  for (const line of config.split('\n')) {
    if (/\\\r?$/.test(line)) return false;
    let at = skip(BLANK, line, 0);
    for (let header = take(HEADER, line, at); header !== null; header = take(HEADER, line, at)) {
      allowed = allowedIn(header);
      at = skip(BLANK, line, HEADER.lastIndex);
    }
    if (at === line.length || line[at] === '#' || line[at] === ';') continue;
    const key = take(KEY, line, at)?.[1]?.toLowerCase();
    if (key === undefined || (allowed !== 'all' && !allowed.includes(key))) return false;
  }
  return true;
}

/** `[remote.origin]` is an old way to write `[remote "origin"]`. */
function allowedIn([, section = '', name]: RegExpExecArray): readonly string[] | 'all' {
  const [first = '', ...rest] = section.toLowerCase().split('.');
  const known = rest.length > 0 || name !== undefined ? `${first}.*` : first;
  return Object.hasOwn(HARMLESS, known) ? (HARMLESS[known] ?? []) : [];
}

function take(pattern: RegExp, line: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(line);
}

function skip(pattern: RegExp, line: string, at: number): number {
  return at + (take(pattern, line, at)?.[0].length ?? 0);
}
