// Brings one folder to a snapshot (T7). It checks that nothing is in the way before it writes
// anything, and may be killed at any point: attempted again with what differs then, it goes on.
// Nothing is written through a link, and nothing outside of the folder.
import { fchmodSync, fstatSync, rmdirSync, unlinkSync } from 'node:fs';
import { getSystemErrorMap } from 'node:util';
import { nameFullDisk } from '../../../system/full-disk.ts';
import { copyBy, runCp } from '../../../system/process/keep-attributes.ts';
import { codeOf } from '../../../system/text.ts';
import { BlobStream, listTree, type TreeFile } from './blob-stream.ts';
import { isBelow, parseFolders } from '../read-notes.ts';
import { folderOf, FoldersBeneath, removeFile, syncFolders, UnsyncedFiles } from './folders-beneath.ts';
import { foldersOf, isAtOrBelow, type RawPath, showPath } from '../listing.ts';
import { LINK, putFile, type PutStep, ChangedMeanwhile, createKnownCheck, type RequireKnown } from './put-file.ts';
import type { ShadowPlace } from '../shadow.ts';
import { judgeAbsence, parseNotes, parsePermissions, permissionsAt, type PermissionsNote } from '../snapshot-notes.ts';
import { wholeLines } from '../read-beginning.ts';
import { clearStaged, StagedFiles } from './staged-files.ts';
import { temporaryName } from './temporary-names.ts';
import { join } from 'node:path';
import { readText, replaceSavedFile } from '../saved-files.ts';

export type RestoreRequest = {
  readonly place: ShadowPlace;
  /** The path of git. */
  readonly git: string;
  readonly to: string;
  /** The snapshot of what lies there; null for a folder that nobody looks into yet. */
  readonly from: string | null;
  /**
   * The last snapshot that the session knows: empty folders that came later are somebody else's.
   */
  readonly known: string | null;
  /** Folders in it of which nothing is made or removed. */
  readonly apart: readonly RawPath[];
  /** Files that are written: null stands for all, into a folder that nobody looks into yet. */
  readonly written: readonly RawPath[] | null;
  readonly deleted: readonly RawPath[];
  /** Folders that get the permissions of the snapshot, without a slash at the end. */
  readonly permitted: readonly RawPath[];
  /** The first part of the names of temporary files: eight hexadecimal digits. */
  readonly run: string;
};

/** Paths of files in a snapshot begin with it. */
const FILES = 'files/';

export type RestoreAnswer =
  | { readonly kind: 'done' }
  /**
   * Someone else has changed a file after the snapshot of it: it stays, and others may be written.
   */
  | { readonly kind: 'changed'; readonly path: RawPath }
  /** Nothing was written: something that no snapshot holds is where a folder is to be. */
  | { readonly kind: 'in_the_way'; readonly path: RawPath };

/** The next step. */
export type RestoreStep = {
  readonly kind:
    PutStep | 'delete' | 'remove_folder' | 'make_folder' | 'close_folder' | 'permit_folder' | 'clear' | 'end';
  readonly path: RawPath;
};

type OnStep = (step: RestoreStep) => void;

/** Rejects with a sentence. `onStep` is called before each step. */
export async function restoreFolder(request: RestoreRequest, onStep: OnStep = () => undefined): Promise<RestoreAnswer> {
  const { place, git, to, from, known, apart } = request;
  const [folders, own] = [new FoldersBeneath(place.root), new FoldersBeneath(place.root)];
  const blobs = new BlobStream(git, place);
  try {
    const all = await listTree(git, place, to);
    const tree = filesOf(all);
    const readEmpty = async (listed: Tree) => parseFolders(await readNote(blobs, listed.get('folders')));
    const before: Tree = from === null ? new Map() : await listTree(git, place, from);
    const requireKnown = from === null ? pass : createKnownCheck(folders, filesOf(before));
    const emptyNow = await readEmpty(before);
    const emptyKnown = known === null ? [] : await readEmpty(await listNotes(git, place, known));
    const others = new OthersFolders(place.own);
    const modes = await readNote(blobs, all.get('modes'));
    const permissions = parsePermissions(modes);
    const emptyThen = await readEmpty(all);
    const open = new Map<RawPath, number>();
    const restoring = { ...request, folders, own, blobs, tree, permissions, open, requireKnown, onStep };
    const ownFolders = [...emptyKnown, ...(await findEmptied(request, emptyNow, [...emptyKnown, ...emptyThen]))];
    const then = new Set(emptyThen);
    const removable = ownFolders.filter(
      (folder) => !then.has(folder) && !others.has(folder) && !isAtOrBelow(folder, apart),
    );
    const order = orderRestore({
      written: writtenOf(request, tree),
      deleted: request.deleted.filter(isBelow),
      emptyNow: await findAbsent(removable, { all, tree, modes, blobs }),
      emptyThen: emptyThen.filter((folder) => isFree(tree, folder) && !isAtOrBelow(folder, apart)),
    });
    others.note({ known: ownFolders, now: emptyNow, toBe: emptyThen });
    const path = findInTheWay(restoring, order);
    if (path !== null) return { kind: 'in_the_way', path };
    await workOff(restoring, order);
    onStep({ kind: 'end', path: '' });
    return { kind: 'done' };
  } catch (error) {
    if (error instanceof ChangedMeanwhile) return { kind: 'changed', path: error.path };
    throw error;
  } finally {
    blobs.close();
    folders.close();
    own.close();
  }
}

/** Removes temporary files of a restore that was killed. */
export function clearTemporary({ place, written, run }: RestoreRequest, onStep: OnStep = () => undefined): void {
  const folders = new FoldersBeneath(place.root);
  try {
    clearStaged(folders, stagingFolder(run));
    for (const [at, path] of (written ?? []).entries()) {
      if (!isBelow(path)) continue;
      const folder = folderOf(path);
      const temporary = `${folder === '' ? '' : `${folder}/`}${temporaryName(run, at)}`;
      if (folders.look(temporary) === null) continue;
      onStep({ kind: 'clear', path: temporary });
      removeFile(folders, temporary);
    }
  } finally {
    folders.close();
  }
}

type Tree = ReadonlyMap<RawPath, TreeFile>;

/** Returns the files that a snapshot has by their paths, from all that its tree has. */
const filesOf = (all: ReadonlyMap<string, TreeFile>): Tree =>
  new Map([...all].flatMap(([path, file]) => (path.startsWith(FILES) ? [[path.slice(FILES.length), file]] : [])));

const pass: RequireKnown = () => undefined;

type Restoring = RestoreRequest & {
  readonly folders: FoldersBeneath;
  /** Reaches a folder of our own beside the others. */
  readonly own: FoldersBeneath;
  readonly blobs: BlobStream;
  readonly tree: Tree;
  readonly permissions: PermissionsNote;
  /** Folders that were made, or may be written for now, and the permissions that they had. */
  readonly open: Map<RawPath, number>;
  readonly requireKnown: RequireKnown;
  readonly onStep: OnStep;
};

/** Throws for a tree that holds what no capture writes: another machine may have made it. */
function writtenOf({ written }: RestoreRequest, tree: Tree): readonly RawPath[] {
  const paths = written ?? [...tree.keys()];
  for (const path of paths) {
    const { mode } = tree.get(path) ?? {};
    const isFile = mode === LINK || mode === '100644' || mode === '100755';
    if (!isBelow(path) || !isFile) throw new Error(`the snapshot holds no file ${showPath(path)}`);
  }
  return paths;
}

/** Tells whether no file of a snapshot is a folder, or on the way to it. */
const isFree = (tree: Tree, folder: RawPath): boolean => ![folder, ...foldersOf(folder)].some((path) => tree.has(path));

/** Lists the notes of a snapshot; nothing where it is not here any longer. */
const listNotes = (git: string, place: ShadowPlace, snapshot: string): Promise<Tree> =>
  listTree(git, place, snapshot, 'not below').catch((): Tree => new Map());

/**
 * Finds folders that had files when the session last knew them: an attempt that was killed has
 * emptied them.
 */
async function findEmptied(
  { git, place, known }: RestoreRequest,
  emptyNow: readonly RawPath[],
  listed: readonly RawPath[],
): Promise<readonly RawPath[]> {
  const alreadyListed = new Set(listed);
  const candidates = emptyNow.filter((folder) => !alreadyListed.has(folder));
  if (known === null || candidates.length === 0) return [];
  const tree = filesOf(await listTree(git, place, known).catch((): Tree => new Map()));
  const full = new Set([...tree.keys()].flatMap(foldersOf));
  return candidates.filter((folder) => full.has(folder));
}

/** `all` is what the snapshot has, its notes beside the files of `tree`. */
type Absence = Pick<Restoring, 'tree' | 'blobs'> & {
  readonly all: ReadonlyMap<string, TreeFile>;
  readonly modes: string;
};

/**
 * Finds those of folders that were not there: one that was ignored then, or left out, may have
 * been.
 */
async function findAbsent(
  folders: readonly RawPath[],
  { all, tree, modes, blobs }: Absence,
): Promise<readonly RawPath[]> {
  const candidates = folders.filter((folder) => isFree(tree, folder));
  if (candidates.length === 0) return folders;
  const [omitted, rules] = [await readNote(blobs, all.get('omitted')), await readNote(blobs, all.get('rules'))];
  const texts = new Map<RawPath, string>();
  const above = candidates.flatMap((folder) => [folder, ...foldersOf(folder)]).map(asFolder);
  for (const folder of new Set(['', ...above])) {
    const file = tree.get(`${folder}.gitignore`);
    if (file && file.mode !== LINK) texts.set(folder, wholeLines(await readNote(blobs, file)));
  }
  const judge = judgeAbsence(parseNotes({ modes, omitted, rules }), (folder) => texts.get(folder));
  // A rule for folders alone is asked about what lies in one.
  const stays = new Set(candidates.filter((folder) => judge(`${asFolder(folder)}inside`) !== null));
  return folders.filter((folder) => !stays.has(folder));
}

const asFolder = (path: RawPath): RawPath => `${path}/`;

/** Returns the text of a note; empty where the snapshot has none. */
async function readNote(blobs: BlobStream, note: TreeFile | undefined): Promise<string> {
  if (!note) return '';
  blobs.ask([note.id]);
  const pieces: Buffer[] = [];
  for await (const piece of blobs.read(await blobs.next())) pieces.push(piece);
  return Buffer.concat(pieces).toString('latin1');
}

/** Finds what is where a folder is to be, and does not go. */
function findInTheWay({ folders, deleted }: Restoring, { ways }: RestoreOrder): RawPath | null {
  const goes = new Set(deleted);
  for (const path of ways) {
    if (goes.has(path) || foldersOf(path).some((folder) => goes.has(folder))) continue;
    const stats = folders.look(path);
    if (stats !== null && !stats.isDirectory()) return path;
  }
  return null;
}

async function workOff(restoring: Restoring, order: RestoreOrder): Promise<void> {
  for (const path of order.first) deleteFile(restoring, path);
  for (const path of order.emptied) removeFolder(restoring, path);
  for (const path of order.ways) closeFolder(restoring, path);
  await putFiles(restoring, order.written);
  for (const path of order.last) deleteFile(restoring, path);
  for (const path of order.left) removeFolder(restoring, path);
  for (const path of order.made) makeFolder(restoring, path);
  const touched = [...order.first, ...order.written, ...order.last, ...order.emptied, ...order.left, ...order.made];
  syncFolders(restoring.folders, ['', ...touched.flatMap(foldersOf)]);
  const permitted = restoring.permitted.filter((path) => path === '' || isBelow(path));
  for (const path of [...new Set([...restoring.open.keys(), ...permitted])].toSorted().toReversed())
    permitFolder(restoring, path);
}

async function putFiles(restoring: Restoring, paths: readonly RawPath[]): Promise<void> {
  const { folders, blobs, tree, permissions, run, requireKnown, onStep } = restoring;
  const staged = new StagedFiles(restoring, stagingFolder(run), (path) => onStep({ kind: 'make_folder', path }));
  if (restoring.written !== null) staged.expect(paths.filter((path) => tree.get(path)?.mode !== LINK));
  const unsynced = new UnsyncedFiles();
  // A list that was asked for keeps its order in the names, by which they are found again.
  const numbers = new Map(restoring.written?.map((path, at) => [path, at]));
  const means = {
    folders,
    blobs,
    copyAll: copyBy(runCp('cp', process.env)),
    staged,
    unsynced,
    fresh: restoring.written === null,
    requireKnown,
    onStep: (kind: PutStep, path: RawPath) => onStep({ kind, path }),
  };
  blobs.ask(paths.map((path) => tree.get(path)?.id ?? ''));
  try {
    for (const path of paths) {
      makeFolder(restoring, folderOf(path));
      openFolder(restoring, folderOf(path));
      const temporary = temporaryName(run, numbers.get(path) ?? 0);
      const file = tree.get(path) as TreeFile;
      const permitted = permissionsAt(permissions, path, file.mode);
      await putFile(means, { ...file, path, temporary, permissions: permitted }).catch((error: unknown) => {
        throw toProblem(error, path, 'written');
      });
    }
    // Deletions follow, among them the old places of files that moved.
    await unsynced.sync();
  } finally {
    unsynced.close();
    staged.clear();
  }
}

/** The last number that no file has. */
const stagingFolder = (run: string): RawPath => temporaryName(run, 0xffff_ffff);

/** Ignores a file that is gone already, with the folder it lay in. */
function deleteFile(restoring: Restoring, path: RawPath): void {
  const { folders, requireKnown, onStep } = restoring;
  try {
    if (folders.look(path) === null) return;
    openFolder(restoring, folderOf(path));
    onStep({ kind: 'delete', path });
    requireKnown(path);
    unlinkSync(folders.entry(path));
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw toProblem(error, path, 'deleted');
  }
}

/** A folder in which something lies, or which cannot be removed, stays. */
function removeFolder(restoring: Restoring, path: RawPath): void {
  const { folders, onStep } = restoring;
  try {
    if (folders.look(path)?.isDirectory() !== true) return;
    openFolder(restoring, folderOf(path));
    onStep({ kind: 'remove_folder', path });
    rmdirSync(folders.entry(path));
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
  }
}

function makeFolder(restoring: Restoring, path: RawPath): void {
  const { folders, permissions, open, onStep } = restoring;
  if (path !== '') openFolder(restoring, folderOf(path));
  const make = (at: RawPath): void => onStep({ kind: 'make_folder', path: at });
  try {
    folders.make(path, make, (at, fd) => {
      const wanted = permissionsAt(permissions, at, 'folder');
      // Files are yet to be put there.
      if (wanted !== undefined) fchmodSync(fd, (wanted & 0o777) | 0o700 | (fstatSync(fd).mode & 0o7000));
      open.set(at, fstatSync(fd).mode & 0o7777);
    });
  } catch (error) {
    throw toProblem(error, path, 'made');
  }
}

/**
 * Closes a folder, in which something is about to be put, to those who could not look into it then:
 * it may be another one than the folder that kept its files private.
 */
function closeFolder({ folders, permissions, onStep }: Restoring, path: RawPath): void {
  const then = permissionsAt(permissions, path, 'folder');
  if (then === undefined || !folders.has(path)) return;
  const fd = folders.fdOf(path);
  const { mode } = fstatSync(fd);
  if ((mode & ~then & OTHERS_LOOK) === 0) return;
  onStep({ kind: 'close_folder', path });
  try {
    fchmodSync(fd, mode & 0o7777 & ~(OTHERS & ~then));
  } catch (error) {
    // Another owner's folder has permissions of theirs.
    if (codeOf(error) !== 'EPERM') throw toProblem(error, path, 'closed');
  }
}

/** Lets its owner, who may not, write in a folder until all is done. */
function openFolder({ folders, open, onStep }: Restoring, path: RawPath): void {
  if (open.has(path) || !folders.has(path)) return;
  const fd = folders.fdOf(path);
  const { mode, uid } = fstatSync(fd);
  if ((mode & 0o300) === 0o300 || uid !== process.geteuid?.()) return;
  onStep({ kind: 'permit_folder', path });
  open.set(path, mode & 0o7777);
  fchmodSync(fd, (mode & 0o7777) | 0o300);
}

/** Gives a folder the permissions of then, once nothing is put there any longer. */
function permitFolder({ folders, permissions, written, open, onStep }: Restoring, path: RawPath): void {
  if (!folders.has(path)) return;
  const fd = folders.fdOf(path);
  const has = fstatSync(fd).mode & 0o7777;
  const then = permissionsAt(permissions, path, 'folder');
  const keptBits = permissions.isOfOldKind ? has & 0o7000 : has & 0o4000;
  // What an earlier version has captured may not say how the folder itself was.
  const isNew = written === null && path === '';
  const wanted = then !== undefined ? then | keptBits : isNew ? 0o777 & ~process.umask() : (open.get(path) ?? has);
  if (has === wanted) return;
  onStep({ kind: 'permit_folder', path });
  try {
    fchmodSync(fd, wanted);
    syncFolders(folders, [path]);
  } catch (error) {
    // Another owner's folder has permissions of theirs.
    if (codeOf(error) !== 'EPERM') throw toProblem(error, path, 'permitted');
  }
}

/** What a group and all others may do in a folder, and what lets them look into it. */
const OTHERS = 0o077;
const OTHERS_LOOK = 0o055;

/** Says in a sentence which path the system has refused, and why; other errors stay as they are. */
function toProblem(error: unknown, path: RawPath, deed: string): unknown {
  const { errno, path: at = '/' } = error as NodeJS.ErrnoException;
  const why = errno === undefined ? undefined : getSystemErrorMap().get(errno)?.[1];
  if (why === undefined) return error;
  return new Error(`${showPath(path)} cannot be ${deed}: ${nameFullDisk(why, at)}`, { cause: error });
}

// Remembers the empty folders that others have made (T7): a rewind leaves them, and the snapshot
// that is taken after it has them, as it has those of the session.
type EmptyFolders = {
  /** Those that the session knows, those that are there, and those that are to be there. */
  readonly known: readonly RawPath[];
  readonly now: readonly RawPath[];
  readonly toBe: readonly RawPath[];
};

class OthersFolders {
  readonly #path: string;
  readonly #folders: ReadonlySet<RawPath>;

  /** `own` is the session's own folder for the one that goes back. */
  constructor(own: string) {
    this.#path = join(own, 'others-folders');
    this.#folders = new Set(parseFolders(readText(this.#path) ?? ''));
  }

  has(folder: RawPath): boolean {
    return this.#folders.has(folder);
  }

  /** Adds those that came after the session last looked, and forgets those that are gone. */
  note({ known, now, toBe }: EmptyFolders): void {
    const own = new Set([...known, ...toBe]);
    const others = now.filter((folder) => this.#folders.has(folder) || !own.has(folder));
    const isSame = others.length === this.#folders.size && others.every((folder) => this.#folders.has(folder));
    if (!isSame) replaceSavedFile(this.#path, others.join('\0'));
  }
}

// Orders what a restore does to a folder (T7): a file that stands where a folder is to be goes
// first, and the other deletions come last, so that a file which moved is never in neither place.
type RestoreLists = {
  readonly written: readonly RawPath[];
  readonly deleted: readonly RawPath[];
  /** Folders without files, as they are now and as they are to be, without a slash at the end. */
  readonly emptyNow: readonly RawPath[];
  readonly emptyThen: readonly RawPath[];
};

/** All lists are in the order in which they are worked off. */
type RestoreOrder = {
  readonly first: readonly RawPath[];
  /** Folders where a file is to be, and those below them: they must be empty by then. */
  readonly emptied: readonly RawPath[];
  readonly written: readonly RawPath[];
  readonly last: readonly RawPath[];
  /** Folders that go if nothing lies in them any longer. */
  readonly left: readonly RawPath[];
  readonly made: readonly RawPath[];
  /** Where nothing but a folder, or a file that goes, may be before anything is written. */
  readonly ways: readonly RawPath[];
};

function orderRestore({ written, deleted, emptyNow, emptyThen }: RestoreLists): RestoreOrder {
  const filesToBe = new Set(written);
  const isBelowFile = (path: RawPath): boolean => foldersOf(path).some((folder) => filesToBe.has(folder));
  const newFolders = emptyThen.filter((folder) => !filesToBe.has(folder) && !isBelowFile(folder)).toSorted();
  const foldersToBe = new Set([...written, ...newFolders].flatMap(foldersOf));
  for (const folder of newFolders) foldersToBe.add(folder);
  const isFirst = (path: RawPath): boolean => foldersToBe.has(path) || isBelowFile(path);
  const around = new Set(deleted.flatMap(foldersOf));
  for (const folder of emptyNow) for (const path of [folder, ...foldersOf(folder)]) around.add(path);
  const goes = deepestFirst([...around].filter((folder) => !foldersToBe.has(folder)));
  const isReplaced = (folder: RawPath): boolean => filesToBe.has(folder) || isBelowFile(folder);
  return {
    first: deleted.filter(isFirst),
    emptied: goes.filter(isReplaced),
    written: written.toSorted(),
    last: deleted.filter((path) => !isFirst(path)),
    left: goes.filter((folder) => !isReplaced(folder)),
    made: newFolders,
    ways: [...foldersToBe].toSorted(),
  };
}

const depthOf = (path: RawPath): number => path.split('/').length;

const deepestFirst = (folders: readonly RawPath[]): readonly RawPath[] =>
  folders.toSorted((a, b) => depthOf(b) - depthOf(a));
