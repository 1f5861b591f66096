// Takes a snapshot of a folder into the shadow repository (T1, T2): what is not ignored, as it
// lies, nested repositories as files, empty folders too. A snapshot is one tree: `files`, and
// `folders` with the names of the empty ones. It costs what has changed.
import { constants, type Stats } from 'node:fs';
import { access, lstat, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { isInside, realOf } from '../../system/process/places.ts';
import { codeOf } from '../../system/text.ts';
import { parseStored } from '../values/store.ts';
import { LIST_SCRIPT, bytesOf, namesIn, parseChanges, parseListing, patternOf, showPath } from './listing.ts';
import type { SnapshotChange, Listing, RawPath } from './listing.ts';
import { gitArguments, shadowEnvironment, openShadow, type ShadowPlace } from './shadow.ts';

/** The most that is captured of a folder. Bytes. */
export type SnapshotCaps = { readonly files: number; readonly bytes: number; readonly fileBytes: number };

export const DEFAULT_CAPS: SnapshotCaps = { files: 50_000, bytes: 1024 ** 3, fileBytes: 50 * 1024 ** 2 };

/** Whether, and how much, is captured (T2). */
export type SnapshotSettings = boolean | Partial<SnapshotCaps>;

/**
 * Runs a script held as an agent's command is, and returns what it printed as latin1. It may write
 * to the shadow repository, and to `writes`. Rejects with a sentence of git's.
 */
export type RunHeld = (
  argv: readonly string[],
  options: {
    readonly env: Readonly<Record<string, string>>;
    readonly cwd: string;
    readonly writes?: string;
    /** Rejects with OutOfBounds after so long. */
    readonly timeoutMs?: number;
  },
) => Promise<string>;

/** The problem with a folder that takes too long, or has too much, to be captured. */
export class OutOfBounds extends Error {
  override readonly name = 'OutOfBounds';
}

export type Snapshot = {
  /** The hash of the tree that is the snapshot. */
  readonly id: string;
  /** What has changed since the snapshot that was given as the one before; none without one. */
  readonly changes: readonly SnapshotChange[];
  readonly files: number;
  /** Bytes of the files that were captured anew. */
  readonly bytes: number;
  /** What is not captured, and why. */
  readonly leftOut: readonly LeftOut[];
};

export type LeftOut = { readonly path: RawPath; readonly why: 'large' | 'unreadable' | 'files' | 'bytes' | 'no_file' };

type State = {
  readonly v: 1;
  readonly id: string;
  readonly files: number;
  readonly bytes: number;
  /** The commit of the snapshot, and the blob of its empty folders. */
  readonly commit?: string;
  readonly folders?: string;
};

export type SnapshotMeans = {
  readonly place: ShadowPlace;
  /** The path of git. */
  readonly git: string;
  readonly run: RunHeld;
  readonly caps: SnapshotCaps;
};

/** A home folder, or a whole machine, is not looked through for longer than that. */
const LISTING_MS = 20_000;
/** Files that are looked at together. */
const AT_ONCE = 64;
/** The nesting of repositories that is followed, and how many in all. */
const DEEPEST = 8;
const MOST_REPOSITORIES = 500;
/** From so many changed files on, new objects are written as one pack, with one flush to disk. */
const MANY = 100;
/** The tree without entries, which git knows without storing it. */
const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';

/**
 * Takes a snapshot. `before` is the id of the one to compare with. Rejects with what git or the
 * file system said.
 */
export async function takeSnapshot(means: SnapshotMeans, before: string | null): Promise<Snapshot> {
  const { own } = means.place;
  await openShadow(means.place);
  try {
    return await capture(means, before);
  } catch (error) {
    if (error instanceof OutOfBounds) throw error;
    // An index, or objects that it names, may be damaged: all files are read once more.
    for (const name of ['index', 'state.json', 'folders']) await rm(join(own, name), { force: true });
    return await capture(means, before);
  }
}

async function capture(means: SnapshotMeans, before: string | null): Promise<Snapshot> {
  const { place } = means;
  // A killed worker leaves it, and no other process uses this index.
  await rm(join(place.own, 'index.lock'), { force: true });
  const state = await readState(place);
  const listed = await listAll(means);
  const picked = await pickExactly(means, state, listed);
  const { leftOut } = picked;
  const folders = listed.folders.toSorted().join('\0');
  const hasSameFolders = folders === (await readText(join(place.own, 'folders')));
  if (state && hasSameFolders && picked.changed.length + picked.removed.length === 0) {
    const isSame = before === null || before === state.id;
    const changes = isSame ? [] : await compareSnapshots(means, before, state.id);
    return { id: state.id, changes, files: picked.files, bytes: 0, leftOut };
  }
  const known = { ...(hasSameFolders && { folders: state?.folders }), commit: state?.commit };
  const { id, changes, ...written } = await writeSnapshot(means, { picked, folders, before, known });
  // Files may have come and gone since they were listed.
  const isNext = state !== null && state.id === before;
  const files = isNext ? state.files + countGrowth(changes) : picked.files;
  await writeState(place, { v: 1, id, files, bytes: picked.total, ...written });
  // The state tells of these folders by now: a worker that is killed in between looks anew.
  await rename(join(place.own, 'folders.new'), join(place.own, 'folders'));
  return { id, changes, files, bytes: picked.bytes, leftOut };
}

type Listed = Omit<Listing, 'repositories'>;

async function listAll(means: SnapshotMeans): Promise<Listed> {
  const all = { known: [] as RawPath[], added: [] as RawPath[], folders: [] as RawPath[] };
  let open: readonly RawPath[] = [''];
  let seen = 0;
  for (let depth = 0; depth < DEEPEST && open.length > 0 && seen < MOST_REPOSITORIES; depth += 1) {
    const next: RawPath[] = [];
    for (const prefix of open.slice(0, MOST_REPOSITORIES - seen)) {
      seen += 1;
      const found = await list(means, prefix);
      const within = (path: RawPath): RawPath => `${prefix}${path}`;
      for (const kind of ['known', 'added', 'folders'] as const) all[kind].push(...found[kind].map(within));
      next.push(...found.repositories.map(within));
    }
    open = next;
  }
  return all;
}

/** Lists the root, or a nested repository by itself: it has no file in the index yet. */
async function list({ place, git, run }: SnapshotMeans, prefix: RawPath): Promise<Listing> {
  const root = prefix === '' ? place.root : join(place.root, showPath(prefix));
  const index = join(place.own, prefix === '' ? 'index' : 'no-index');
  const script = ['sh', '-c', LIST_SCRIPT, 'sh', root, ownDataPattern(place, root)];
  const argv = [...script, ...gitArguments(git, place, [], root)];
  return parseListing(await run(argv, { env: shadowEnvironment(index), cwd: place.own, timeoutMs: LISTING_MS }));
}

/** Leaves our own data folder out, where it lies in what is captured; empty where it does not. */
function ownDataPattern({ gitDir }: ShadowPlace, root: string): string {
  const data = realOf(dirname(gitDir));
  return data === null || data === root || !isInside(root, data) ? '' : patternOf(relative(root, data));
}

type Picked = {
  readonly changed: readonly RawPath[];
  readonly removed: readonly RawPath[];
  readonly leftOut: readonly LeftOut[];
  /** Captured files in all, and their bytes or somewhat more. */
  readonly files: number;
  readonly total: number;
  /** Bytes of `changed`. */
  readonly bytes: number;
};

const countGrowth = (changes: readonly SnapshotChange[]): number =>
  changes.reduce((sum, { kind }) => sum + Number(kind === 'added') - Number(kind === 'deleted'), 0);

/**
 * Decides what of the listed paths is captured. The bytes of the last snapshot are known to be at
 * most so many: they are counted where there seem to be too many.
 */
async function pickExactly(means: SnapshotMeans, state: State | null, listed: Listed): Promise<Picked> {
  const picked = await pickChanges(means, state, listed);
  const isFull = picked.leftOut.some(({ why }) => why === 'bytes' || why === 'files');
  if (!isFull || state === null) return picked;
  const exact = await countBytes(means, state.id, new Set(listed.known));
  return pickChanges(means, { ...state, ...exact }, listed);
}

/** Counts the files of a snapshot, and the bytes of those that are not listed as changed. */
async function countBytes(
  { place, git, run }: SnapshotMeans,
  id: string,
  listed: ReadonlySet<RawPath>,
): Promise<Pick<State, 'files' | 'bytes'>> {
  const argv = gitArguments(git, place, ['ls-tree', '-r', '-l', '-z', '--full-tree', `${id}:files`]);
  const lines = namesIn(await run(argv, { env: shadowEnvironment(), cwd: place.gitDir }));
  let bytes = 0;
  for (const line of lines) {
    const [facts = '', ...name] = line.split('\t');
    if (!listed.has(name.join('\t'))) bytes += Number(facts.split(' ').at(-1)) || 0;
  }
  return { files: lines.length, bytes };
}

/** Decides what of the listed paths is captured, from counts that may be too high. */
async function pickChanges(
  { place, caps }: SnapshotMeans,
  state: State | null,
  { known, added }: Listed,
): Promise<Picked> {
  const changed: RawPath[] = [];
  const removed: RawPath[] = [];
  const leftOut: LeftOut[] = [];
  let { files, bytes: total } = state ?? { files: 0, bytes: 0 };
  let bytes = 0;
  const pick = (path: RawPath, looked: Looked | null, count: 0 | 1): void => {
    const why = looked && (whyNot(looked, caps) ?? whyFull({ files: files + count, bytes: total + looked.size }, caps));
    if (looked === null) removed.push(path);
    else if (why) leftOut.push({ path, why });
    else {
      changed.push(path);
      files += count;
      total += looked.size;
      bytes += looked.size;
      return;
    }
    // A file that was captured is so no longer.
    if (count === 0) {
      files -= 1;
      if (looked) removed.push(path);
    }
  };
  for (const [path, looked] of await lookAt(place, known)) pick(path, looked, 0);
  for (let at = 0; at < added.length; at += AT_ONCE) {
    // A folder that has too many files is not looked at to its end.
    if (files >= caps.files) {
      leftOut.push(...added.slice(at).map((path) => ({ path, why: 'files' }) as const));
      break;
    }
    for (const [path, looked] of await lookAt(place, added.slice(at, at + AT_ONCE))) if (looked) pick(path, looked, 1);
  }
  return { changed, removed, leftOut, files, total, bytes };
}

function whyFull(now: { readonly files: number; readonly bytes: number }, caps: SnapshotCaps): LeftOut['why'] | null {
  if (now.files > caps.files) return 'files';
  return now.bytes > caps.bytes ? 'bytes' : null;
}

type Looked = Pick<Stats, 'isFile' | 'isSymbolicLink' | 'size'> & { readonly isReadable: boolean };

async function lookAt(
  place: ShadowPlace,
  paths: readonly RawPath[],
): Promise<readonly (readonly [RawPath, Looked | null])[]> {
  const looked: (readonly [RawPath, Looked | null])[] = [];
  for (let at = 0; at < paths.length; at += AT_ONCE) {
    const some = paths.slice(at, at + AT_ONCE);
    looked.push(...(await Promise.all(some.map(async (path) => [path, await lookAtFile(place, path)] as const))));
  }
  return looked;
}

/** Returns null for a file that does not exist. */
async function lookAtFile({ root }: ShadowPlace, path: RawPath): Promise<Looked | null> {
  const at = Buffer.concat([Buffer.from(`${root}/`), bytesOf(path)]);
  try {
    const stats = await lstat(at);
    const isReadable = !stats.isFile() || (await canRead(at));
    return Object.assign(stats, { isReadable });
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) return null;
    throw error;
  }
}

async function canRead(path: Buffer): Promise<boolean> {
  return await access(path, constants.R_OK).then(
    () => true,
    () => false,
  );
}

function whyNot(stats: Looked, caps: SnapshotCaps): LeftOut['why'] | null {
  if (!stats.isFile() && !stats.isSymbolicLink()) return 'no_file';
  if (!stats.isReadable) return 'unreadable';
  return stats.size > caps.fileBytes ? 'large' : null;
}

type Writing = {
  readonly picked: Picked;
  readonly folders: string;
  readonly before: string | null;
  readonly known: { readonly folders?: string | undefined; readonly commit?: string | undefined };
};

type Written = {
  readonly id: string;
  readonly commit: string;
  readonly folders: string;
  readonly changes: readonly SnapshotChange[];
};

/**
 * Arguments: the ref, the snapshot before, the size from which files are streamed into a pack, the
 * blob of the empty folders, the commit before, the session's folder, the root, and git. Prints the
 * ids of the snapshot, of its commit and of that blob, a line, and what has changed. Objects are
 * complete before the ref names them. A process costs more than what most of these do, so what is
 * known is not asked again.
 */
const WRITE_SCRIPT = `
ref=$1; before=$2; threshold=$3; folders=$4; old=$5; own=$6; root=$7; shift 7
cd -- "$root" || exit 1
[ ! -s "$own/removed" ] || "$@" update-index -z --index-info < "$own/removed" || exit 1
[ ! -s "$own/changed" ] ||
  "$@" -c core.bigFileThreshold=$threshold update-index --add --remove --replace -z --stdin < "$own/changed" || exit 1
files=$("$@" write-tree) || exit 1
[ "$folders" != unknown ] || folders=$("$@" hash-object -w --stdin < "$own/folders.new") || exit 1
id=$(printf '040000 tree %s\\tfiles\\n100644 blob %s\\tfolders\\n' "$files" "$folders" | "$@" mktree) || exit 1
[ "$old" != unknown ] || old=$("$@" rev-parse --verify --quiet "$ref^{commit}")
commit=$("$@" commit-tree "$id" -m snapshot \${old:+-p "$old"}) || exit 1
"$@" update-ref "$ref" "$commit" \${old:+"$old"} || exit 1
printf '%s %s %s\\n' "$id" "$commit" "$folders"
[ "$before" = none ] || "$@" diff-tree -r -z --raw --numstat --no-renames "$before:files" "$files"
`;

async function writeSnapshot(means: SnapshotMeans, { picked, folders, before, known }: Writing): Promise<Written> {
  const { place, git, run } = means;
  const { own } = place;
  const removed = picked.removed.map((path) => `0 ${'0'.repeat(40)}\t${path}\0`).join('');
  await writeFile(join(own, 'removed'), removed, 'latin1');
  await writeFile(join(own, 'changed'), picked.changed.map((path) => `${path}\0`).join(''), 'latin1');
  await writeFile(join(own, 'folders.new'), folders, 'latin1');
  const threshold = picked.changed.length > MANY ? '1' : '512m';
  const asked = [place.ref, before ?? 'none', threshold, known.folders ?? 'unknown', known.commit ?? 'unknown'];
  const argv = ['sh', '-c', WRITE_SCRIPT, 'sh', ...asked, own, place.root, ...gitArguments(git, place, [], place.root)];
  const printed = await run(argv, { env: shadowEnvironment(join(own, 'index')), cwd: own });
  const end = printed.indexOf('\n');
  const [id = '', commit = '', blob = ''] = printed.slice(0, end).split(' ');
  return { id, commit, folders: blob, changes: parseChanges(printed.slice(end + 1)) };
}

/** Compares two snapshots. */
export async function compareSnapshots(
  { place, git, run }: Pick<SnapshotMeans, 'place' | 'git' | 'run'>,
  from: string | null,
  to: string,
): Promise<readonly SnapshotChange[]> {
  const old = from === null ? EMPTY_TREE : `${from}:files`;
  const args = ['diff-tree', '-r', '-z', '--raw', '--numstat', '--no-renames', old, `${to}:files`];
  return parseChanges(await run(gitArguments(git, place, args), { env: shadowEnvironment(), cwd: place.own }));
}

async function readState({ own }: ShadowPlace): Promise<State | null> {
  const text = await readText(join(own, 'state.json'));
  if (text === null) return null;
  const state = parseStored(Buffer.from(text)) as Partial<State> | null;
  return state?.v === 1 && typeof state.id === 'string' ? (state as State) : null;
}

async function writeState({ own }: ShadowPlace, state: State): Promise<void> {
  const path = join(own, 'state.json');
  await writeFile(`${path}.new`, JSON.stringify(state));
  await rename(`${path}.new`, path);
}

async function readText(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'latin1');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}
