// Knows what lies in a folder without reading all of it again: names, stats and the ids of captured
// contents. A look costs one stat for each file, or for each name that the system has reported as
// changed. Paths are bytes, kept as latin1.
import { lstatSync, readdirSync, type Dirent, type Stats } from 'node:fs';
import { codeOf } from '../../system/text.ts';
import { FolderWatch, LinkedFiles } from './folder-watch.ts';
import { hasMarks, isMark } from '../../system/process/data-folders.ts';
import { isGitFolder, isGitsOwn, isPartOfGit, readBeginning } from './read-beginning.ts';
import { isIgnored, parseIgnoreFile, type IgnoreRule, type IgnoreRules } from './ignore-rules.ts';
import type { RawPath } from './listing.ts';
import { type OwnRules, type PersonalSettings, type RulesAbove, RepositoryRules } from './repository-rules.ts';
import { hasTrackedBelow, isTracked, NO_TRACKED, TrackedFiles, type TrackedPaths } from './tracked-files.ts';

/**
 * Why something is not captured: it is larger than one file may be, cannot be read, there are too
 * many files or bytes, it is neither a file nor a link, a repository too deep in others, git's own,
 * or our own data.
 */
export type OmittedWhy = 'large' | 'unreadable' | 'files' | 'bytes' | 'no_file' | 'repository' | 'git' | 'data';

/** A captured file. */
export type IndexedFile = {
  readonly mode: string;
  /** Its nine permission bits: what makes it a program of another user's is not captured. */
  readonly permissions: number;
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly ino: number;
  /** When these were read, right before the content; milliseconds since the epoch. */
  readonly readAt: number;
  readonly id: string;
};

export type IndexedFolder = {
  readonly files: Map<string, IndexedFile>;
  readonly folders: Map<string, IndexedFolder>;
  readonly parent: IndexedFolder | null;
  /** The id of its tree; empty for a folder without files, null when it is to be made anew. */
  tree: string | null;
  permissions: number;
  /** What is unusual in it, as the note on permissions has it; null when it is to be made anew. */
  odd: readonly string[] | null;
  /**
   * Names in it that are not captured although no rule ignores them; a folder's ends with a slash.
   */
  readonly omitted: Map<string, OmittedWhy>;
  /** Its `.gitignore`, as it was read. */
  ignore: { readonly text: string; readonly ignoresCase: boolean; readonly rules: readonly IgnoreRule[] } | null;
  /** Where it was at the last look at all of it, and the rules in it. */
  place: FolderPlace | null;
};

/** A file that may differ from what was captured of it, or was not captured yet. */
export type FoundFile = {
  readonly folder: IndexedFolder;
  readonly name: string;
  readonly path: RawPath;
  readonly stats: Stats;
  readonly readAt: number;
};

export type FolderLook = {
  readonly known: readonly FoundFile[];
  readonly added: readonly FoundFile[];
};

/**
 * The rules by which a look ignores files, but for those of `.gitignore` files that it captured.
 */
export type RulesInForce = {
  readonly above: readonly IgnoreRules[];
  /** By the paths of repositories below the folder, the rules that lie in none of their files. */
  readonly repositories: ReadonlyMap<RawPath, readonly IgnoreRules[]>;
  /** The `.gitignore` files that are not captured themselves, by their folders. */
  readonly uncaptured: ReadonlyMap<RawPath, readonly IgnoreRule[]>;
  /** The paths of repositories that ignore the case of names; empty for that of the folder. */
  readonly ignoringCase: readonly RawPath[];
  /** Whether the folder is the top of a repository. */
  readonly isRepository: boolean;
};

export type LookBounds = {
  /** The most files that are looked at although they were not captured yet. */
  readonly files: number;
  /** When to give up, as `performance.now` tells it. */
  readonly until: number;
  /** A folder that is left out, as `data/`; empty for none. */
  readonly leaveOut: RawPath;
  /** Tells by its name whether Perdure itself is writing a file, or has left it behind. */
  readonly isTemporary: (name: string) => boolean;
  /** Ignored files that are captured all the same. */
  readonly include: readonly IgnoreRule[];
  /** The person's settings for all repositories. */
  readonly personal: PersonalSettings;
  /** Whether changes are watched for from here on. Ignored folders are not. */
  readonly isWatched: boolean;
};

/** The problem with a folder that takes too long, or has too much, to be captured. */
export class OutOfBounds extends Error {
  override readonly name = 'OutOfBounds';
}

/** The nesting of repositories that is followed, and how many in all. */
const DEEPEST_NESTING = 8;
const MOST_REPOSITORIES = 500;
/** A file that changed so shortly before it was read may have changed again unseen. */
const RACY_MS = 50;
/** The same on a file system that keeps whole seconds. */
const RACY_SECONDS_MS = 2_000;

/** Where a look is: the rules in force there, and how it came there. */
type FolderPlace = {
  readonly path: RawPath;
  readonly rules: readonly IgnoreRules[];
  readonly depth: number;
  /** The files that the repository tracks, relative to the folder `base`. */
  readonly tracked: TrackedPaths;
  readonly base: RawPath;
  /** Whether the repository ignores the case of names. */
  readonly ignoresCase: boolean;
  /** Only what was captured before, is tracked, or is included by name, is looked at. */
  readonly isIgnored: boolean;
};

type Looking = {
  readonly bounds: LookBounds;
  readonly known: FoundFile[];
  readonly added: FoundFile[];
  /** The paths of repositories below the folder. */
  readonly repositories: Set<RawPath>;
};

export class FolderIndex {
  readonly top: IndexedFolder = newFolder(null);
  /** The number and bytes of all captured files. */
  files = 0;
  bytes = 0;
  /** Numbers of captured files that are no programs, by their permissions. */
  readonly permissions = new Map<number, number>();
  readonly #root: string;
  readonly #repositories: RepositoryRules;
  readonly #tracked: TrackedFiles;
  readonly #watch = new FolderWatch<IndexedFolder>();
  readonly #linked = new LinkedFiles<IndexedFolder>();
  /** How it was around the folder at the last look at everything. */
  #above = '';
  #rulesAbove: RulesAbove = { top: null, rules: [], ignoresCase: false };
  #repositoriesBelow: ReadonlySet<RawPath> = new Set();

  /** `root` is an absolute path, `git` the path of git. */
  constructor(root: string, git: string) {
    this.#root = Buffer.from(root).toString('latin1');
    this.#repositories = new RepositoryRules(git);
    this.#tracked = new TrackedFiles(git);
  }

  /** Looks for what may have changed. Throws OutOfBounds, and what the file system said. */
  look(bounds: LookBounds): FolderLook {
    const looking: Looking = { bounds, known: [], added: [], repositories: new Set() };
    this.#repositories.setPersonal(bounds.personal);
    const above = this.#repositories.rulesAbove(this.#root);
    this.#watch.restart(bounds.isWatched);
    this.#linked.restart();
    const here = {
      path: '',
      base: '',
      rules: above.rules,
      ignoresCase: above.ignoresCase,
      tracked: this.#trackedIn(above),
      depth: 0,
      isIgnored: false,
    };
    this.#lookInto(this.top, here, looking);
    this.#above = this.#describeAbove(above);
    this.#rulesAbove = above;
    this.#repositoriesBelow = looking.repositories;
    return looking;
  }

  /**
   * Looks for what has changed since the last look, as the system has told it. Returns null where
   * that may not be all.
   */
  async lookAtChanges(bounds: LookBounds): Promise<FolderLook | null> {
    const changed = await this.#watch.takeChanges();
    this.#repositories.setPersonal(bounds.personal);
    const repositories = new Set(this.#repositoriesBelow);
    for (const path of repositories) {
      this.#trackedBelow(path, this.#rulesOf(path));
    }
    const above = this.#describeAbove(this.#repositories.rulesAbove(this.#root));
    if (changed === null || above !== this.#above) return null;
    // The system tells of the folder itself under no name in it.
    this.#notePermissions(this.top, '');
    const looking: Looking = { bounds, known: [], added: [], repositories };
    const linked = this.#linked.lookAgain();
    for (const [folder, names] of changed) {
      const hasRules = [...names].some((name) => ['.git', '.gitignore'].includes(name.toLowerCase()));
      const mayBeOther = [...names].some((name) => isPartOfGit(name) || isMark(name));
      if (hasRules || mayBeOther || folder.place?.isIgnored === true) return null;
      if (folder.place) this.#lookInto(folder, folder.place, looking, names);
    }
    for (const [folder, names] of linked) if (folder.place) this.#lookInto(folder, folder.place, looking, names);
    if (this.#linked.hasNew) return null;
    this.#repositoriesBelow = repositories;
    return looking;
  }

  /** Returns the rules of the last look. */
  rulesInForce(): RulesInForce {
    const uncaptured = new Map<RawPath, readonly IgnoreRule[]>();
    collectUncaptured(this.top, '', uncaptured);
    const { top, rules: above, ignoresCase } = this.#rulesAbove;
    const below = [...this.#repositoriesBelow].map((path) => ({ path, ...this.#rulesOf(path) }));
    const ignoring = below.flatMap((one) => (one.ignoresCase ? [one.path] : [])).toSorted();
    return {
      above,
      repositories: new Map(below.map(({ path, rules }) => [path, rules])),
      uncaptured,
      ignoringCase: [...(ignoresCase ? [''] : []), ...ignoring],
      isRepository: top === this.#root,
    };
  }

  /** Ends the watch over its folders. */
  close(): void {
    this.#watch.close();
  }

  /** Returns a text that is another where the folder, or what rules it from outside, is. */
  #describeAbove(above: RulesAbove): string {
    const { dev, ino } = lstatSync(this.placeOf(''));
    this.#trackedIn(above);
    return [dev, ino, above.rules.length, this.#repositories.version, this.#tracked.version].join(' ');
  }

  #trackedIn({ top, ignoresCase }: RulesAbove): TrackedPaths {
    return top === null ? NO_TRACKED : this.#tracked.list(top, this.#root, ignoresCase);
  }

  #trackedBelow(path: RawPath, { ignoresCase }: OwnRules): TrackedPaths {
    const top = this.#topOf(path);
    return this.#tracked.list(top, top, ignoresCase);
  }

  placeOf(path: RawPath): string | Buffer {
    const place = `${this.#root}/${path}`;
    return isAscii(place) ? place : Buffer.from(place, 'latin1');
  }

  set(folder: IndexedFolder, name: string, file: IndexedFile): void {
    const previous = folder.files.get(name);
    folder.files.set(name, file);
    this.#count(previous, -1);
    this.#count(file, 1);
    this.files += previous ? 0 : 1;
    this.bytes += file.size - (previous?.size ?? 0);
    folder.omitted.delete(name);
    if (previous?.permissions !== file.permissions || previous.mode !== file.mode) folder.odd = null;
    if (previous?.id !== file.id || previous.mode !== file.mode) invalidate(folder);
  }

  /** Takes a file for one that is not captured. */
  omit(folder: IndexedFolder, name: string, why: OmittedWhy): void {
    this.remove(folder, name);
    folder.omitted.set(name, why);
  }

  remove(folder: IndexedFolder, name: string): void {
    const removed = folder.files.get(name);
    if (!removed) return;
    folder.files.delete(name);
    this.#count(removed, -1);
    this.files -= 1;
    this.bytes -= removed.size;
    folder.odd = null;
    invalidate(folder);
  }

  #count(file: IndexedFile | undefined, by: number): void {
    if (file?.mode === '100644')
      this.permissions.set(file.permissions, (this.permissions.get(file.permissions) ?? 0) + by);
  }

  /** Returns the folder of a path, which is made where it is missing. */
  folderOf(path: RawPath): IndexedFolder {
    const parts = path.split('/').slice(0, -1);
    return parts.reduce((folder, name) => openFolder(folder, name), this.top);
  }

  #removeFolder(folder: IndexedFolder, name: string): void {
    const child = folder.folders.get(name);
    if (!child) return;
    for (const file of child.files.keys()) this.remove(child, file);
    for (const below of child.folders.keys()) this.#removeFolder(child, below);
    folder.folders.delete(name);
    folder.odd = null;
    this.#watch.remove(child);
    child.place = null;
    invalidate(folder);
  }

  /** `names`: looks at these alone, where the last look at the folder has left its place. */
  #lookInto(folder: IndexedFolder, place: FolderPlace, looking: Looking, names?: ReadonlySet<string>): void {
    requireTime(looking.bounds);
    if (!names) {
      this.#watch.add(folder, this.placeOf(place.path));
      this.#notePermissions(folder, place.path);
    }
    const entries = this.#list(folder, place.path);
    // Captured files of a folder that may not be read stay.
    if (entries === null) return;
    for (const name of folder.omitted.keys())
      if (names?.has(name.replace(/\/$/, '')) ?? true) folder.omitted.delete(name);
    const here = names ? place : this.#rulesIn(folder, place, entries, looking);
    folder.place = here;
    const isMeant = (name: string): boolean => names?.has(name) ?? true;
    // A repository in a folder of another one may be a part of that, as a test's data is.
    const isOfGit = isGitFolder(entries) && !hasTrackedBelow(here.tracked, place.path.slice(here.base.length));
    const isData = place.path !== '' && hasMarks((name) => entries.some((entry) => entry.name === name));
    const [files, folders] = [new Set<string>(), new Set<string>()];
    for (const entry of entries) {
      const { name } = entry;
      if (!isMeant(name) || name.toLowerCase() === '.git' || looking.bounds.isTemporary(name)) continue;
      requireTime(looking.bounds);
      if (isData) leave(folder, entry.isDirectory() ? `${name}/` : name, 'data');
      else if (isOfGit && isGitsOwn(name)) leave(folder, entry.isDirectory() ? `${name}/` : name, 'git');
      else if (!entry.isDirectory()) {
        if (this.#lookAtFile(folder, entry, here, looking)) files.add(name);
      } else if (this.#lookAtFolder(folder, entry, here, looking)) folders.add(name);
    }
    for (const name of folder.files.keys()) if (isMeant(name) && !files.has(name)) this.remove(folder, name);
    for (const name of folder.folders.keys()) if (isMeant(name) && !folders.has(name)) this.#removeFolder(folder, name);
  }

  #list({ parent }: IndexedFolder, path: RawPath): readonly Dirent[] | null {
    try {
      return readdirSync(this.placeOf(path), { withFileTypes: true, encoding: 'latin1' });
    } catch (error) {
      if (path === '') throw error;
      if (['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) return [];
      parent?.omitted.set(nameIn(path), 'unreadable');
      return null;
    }
  }

  #notePermissions(folder: IndexedFolder, path: RawPath): void {
    const stats = this.#statOf(path.slice(0, -1));
    if (typeof stats !== 'object' || folder.permissions === (stats.mode & FOLDER_PERMISSIONS)) return;
    folder.permissions = stats.mode & FOLDER_PERMISSIONS;
    (folder.parent ?? folder).odd = null;
  }

  /** A repository, or a work tree, has rules of its own alone. */
  #rulesIn(folder: IndexedFolder, place: FolderPlace, entries: readonly Dirent[], looking: Looking): FolderPlace {
    const { path, depth } = place;
    const isRepository = path !== '' && entries.some((entry) => entry.name === '.git' && this.#isGit(path, entry));
    const from = isRepository ? { ...place, ...this.#repositoryAt(path, place), depth: depth + 1 } : place;
    if (isRepository) looking.repositories.add(path);
    const own = entries.find(({ name }) => name === '.gitignore');
    const text = own?.isFile() === true ? readBeginning(`${this.#root}/${path}.gitignore`) : null;
    if (text === null) {
      folder.ignore = null;
      return from;
    }
    const { ignoresCase } = from;
    if (folder.ignore?.text !== text || folder.ignore.ignoresCase !== ignoresCase)
      folder.ignore = { text, ignoresCase, rules: parseIgnoreFile(text, ignoresCase) };
    return { ...from, rules: [...from.rules, { prefix: path, rules: folder.ignore.rules }] };
  }

  /** Tracked files don't count in a repository that is ignored as a whole. */
  #repositoryAt(path: RawPath, { isIgnored: isLeft }: FolderPlace): Omit<FolderPlace, 'path' | 'depth' | 'isIgnored'> {
    const own = this.#rulesOf(path);
    return { ...own, tracked: isLeft ? NO_TRACKED : this.#trackedBelow(path, own), base: path };
  }

  #topOf(path: RawPath): RawPath {
    return `${this.#root}/${path.slice(0, -1)}`;
  }

  /** Reads the rules of a repository below the folder that lie in none of its files. */
  #rulesOf(path: RawPath): OwnRules {
    return this.#repositories.rulesOf(this.#topOf(path), path);
  }

  #isGit(path: RawPath, entry: Dirent): boolean {
    if (!entry.isDirectory()) return entry.isFile();
    try {
      return lstatSync(this.placeOf(`${path}.git/HEAD`), { throwIfNoEntry: false }) !== undefined;
    } catch {
      // A folder that may not be read has no rules.
      return false;
    }
  }

  #lookAtFolder(folder: IndexedFolder, { name }: Dirent, place: FolderPlace, looking: Looking): boolean {
    const path = `${place.path}${name}/`;
    const { leaveOut, include } = looking.bounds;
    if (path === leaveOut) return leave(folder, `${name}/`, 'data');
    const below = path.slice(0, -1);
    const isIncluded = include.length > 0 && isIgnored([{ prefix: '', rules: include }], below, true);
    const isLeft = !isIncluded && (place.isIgnored || isIgnored(place.rules, below, true));
    const isOnTheWay =
      isLeft &&
      (include.some((rule) => !rule.isOfName) || hasTrackedBelow(place.tracked, path.slice(place.base.length)));
    if (isLeft && !isOnTheWay && !folder.folders.has(name)) return false;
    const isTooDeep = place.depth >= DEEPEST_NESTING || looking.repositories.size >= MOST_REPOSITORIES;
    if (isTooDeep && lstatSync(this.placeOf(`${path}.git`), { throwIfNoEntry: false }))
      return leave(folder, `${name}/`, 'repository');
    const child = openFolder(folder, name);
    this.#lookInto(child, { ...place, path, isIgnored: isLeft }, looking);
    const hasFiles = child.files.size + child.folders.size > 0 || looking.added.some((one) => one.folder === child);
    const own = hasFiles ? undefined : [...child.omitted.values()].find((why) => why === 'git' || why === 'data');
    if (own) leave(folder, `${name}/`, own);
    const isKept = hasFiles || !(isLeft || own);
    if (!isKept) this.#removeFolder(folder, name);
    return isKept;
  }

  #lookAtFile(folder: IndexedFolder, entry: Dirent, place: FolderPlace, looking: Looking): boolean {
    const { name } = entry;
    const known = folder.files.get(name);
    const path = `${place.path}${name}`;
    const { include, files } = looking.bounds;
    if (!known && (place.isIgnored || isIgnored(place.rules, path, false))) {
      const isIncluded = include.length > 0 && isIgnored([{ prefix: '', rules: include }], path, false);
      if (!isIncluded && !isTracked(place.tracked, path.slice(place.base.length))) return false;
    }
    if (!known && !entry.isFile() && !entry.isSymbolicLink()) return leave(folder, name, 'no_file');
    if (!known && looking.added.length >= files) return leave(folder, name, 'files');
    const readAt = Date.now();
    const stats = this.#statOf(path);
    if (stats === 'unreadable') {
      folder.omitted.set(name, 'unreadable');
      return known !== undefined;
    }
    if (stats === undefined) return false;
    this.#linked.note(folder, name, stats);
    if (known && isSame(known, stats) && !isRacy(known)) return true;
    (known ? looking.known : looking.added).push({ folder, name, path, stats, readAt });
    return true;
  }

  #statOf(path: RawPath): Stats | undefined | 'unreadable' {
    try {
      return lstatSync(this.placeOf(path), { throwIfNoEntry: false });
    } catch {
      return 'unreadable';
    }
  }
}

/** The name of a folder in the one above it, as `omitted` has it. */
const nameIn = (path: RawPath): RawPath => path.slice(path.lastIndexOf('/', path.length - 2) + 1);

/** Leaves out a file, or a folder with all that is in it, whose name ends with a slash then. */
function leave(folder: IndexedFolder, name: string, why: OmittedWhy): false {
  folder.omitted.set(name, why);
  return false;
}

function collectUncaptured(folder: IndexedFolder, path: RawPath, into: Map<RawPath, readonly IgnoreRule[]>): void {
  if (folder.ignore && !folder.files.has('.gitignore')) into.set(path, folder.ignore.rules);
  for (const [name, child] of folder.folders) collectUncaptured(child, `${path}${name}/`, into);
}

/** One folder may have many files, and rules that take long to hold against each. */
function requireTime({ until }: LookBounds): void {
  if (performance.now() > until) throw new OutOfBounds('looking through it takes too long');
}

function newFolder(parent: IndexedFolder | null): IndexedFolder {
  const [files, folders, omitted] = [new Map(), new Map(), new Map()];
  return { files, folders, omitted, parent, tree: null, odd: null, permissions: 0o755, ignore: null, place: null };
}

function openFolder(folder: IndexedFolder, name: string): IndexedFolder {
  const there = folder.folders.get(name);
  if (there) return there;
  const child = newFolder(folder);
  folder.folders.set(name, child);
  folder.odd = null;
  invalidate(folder);
  return child;
}

function invalidate(folder: IndexedFolder): void {
  for (let at: IndexedFolder | null = folder; at !== null && at.tree !== null; at = at.parent) at.tree = null;
}

export const PERMISSIONS = 0o777;
/**
 * Those of a folder: also whether only owners remove names in it, and whether its group is kept.
 */
const FOLDER_PERMISSIONS = 0o3777;

export function modeOf(stats: Pick<Stats, 'isSymbolicLink' | 'mode'>): string {
  if (stats.isSymbolicLink()) return '120000';
  return (stats.mode & 0o100) === 0 ? '100644' : '100755';
}

function isSame(known: IndexedFile, stats: Stats): boolean {
  const { size, mtimeMs, ctimeMs, ino } = stats;
  const isAsBefore = known.size === size && known.mtimeMs === mtimeMs && known.ctimeMs === ctimeMs && known.ino === ino;
  const isFile = stats.isSymbolicLink() || (stats.isFile() && known.permissions === (stats.mode & PERMISSIONS));
  return isAsBefore && isFile && known.mode === modeOf(stats);
}

function isRacy({ mtimeMs, ctimeMs, readAt }: IndexedFile): boolean {
  const margin = ctimeMs % 1_000 === 0 ? RACY_SECONDS_MS : RACY_MS;
  return Math.max(mtimeMs, ctimeMs) > readAt - margin;
}

const isAscii = (latin1: string): boolean => Buffer.byteLength(latin1) === latin1.length;
