// Puts one file of a snapshot in its place: whole, by a temporary file beside it that takes its
// name, with the owner, group, mode, access list and extended attributes of the file that it
// replaces. A file that has the content already keeps everything.
import {
  closeSync,
  constants,
  fchmodSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readlinkSync,
  readSync,
  renameSync,
  type Stats,
  symlinkSync,
  writeSync,
} from 'node:fs';
import {
  type CopyAll,
  copyOwner,
  isReplacingRefused,
  keepAttributes,
} from '../../../system/process/keep-attributes.ts';
import { codeOf } from '../../../system/text.ts';
import type { BlobStream, TreeFile } from './blob-stream.ts';
import { folderOf, type FoldersBeneath, removeFile, SwappedProblem, type UnsyncedFiles } from './folders-beneath.ts';
import { startObjectHash } from '../git-objects.ts';
import type { RawPath } from '../listing.ts';
import type { StagedFiles } from './staged-files.ts';

type FileToPut = TreeFile & {
  readonly path: RawPath;
  /** The name of the temporary file, without its folder. */
  readonly temporary: string;
  /** Permissions that the file is to have, whatever those of the file in its place are. */
  readonly permissions?: number | undefined;
};

type PutMeans = {
  readonly folders: FoldersBeneath;
  readonly blobs: BlobStream;
  readonly copyAll: CopyAll;
  readonly staged: StagedFiles;
  readonly unsynced: UnsyncedFiles;
  /** Nothing lies in the folder, and nobody looks into it: files are made under their names. */
  readonly fresh: boolean;
  /** Is asked right before a file loses its place, or its content. */
  readonly requireKnown: RequireKnown;
  readonly onStep: (kind: PutStep, path: RawPath) => void;
};

/** The next step. */
export type PutStep = 'create' | 'fill' | 'keep' | 'replace' | 'overwrite' | 'permit';

type Blob = { readonly id: string; readonly size: number };

export const LINK = '120000';
const EXECUTABLE = '100755';
const NEVER_FOLLOW = constants.O_NOFOLLOW | constants.O_NONBLOCK;
const PIECE = 1024 * 1024;
/** The kernel takes no longer target of a link. */
const LONGEST_TARGET = 4_096;

/** Reads the next content of the stream into the file. Throws the system's errors, and git's. */
export async function putFile(means: PutMeans, file: FileToPut): Promise<void> {
  const blob = await means.blobs.next();
  if (file.mode === LINK) return await putLink(means, file, blob);
  const before = means.fresh ? null : means.folders.look(file.path);
  if (before?.isFile() === true && before.size === blob.size && hasContent(means, file, before, blob))
    return await drain(means, blob);
  await putContent(means, file, blob, before?.isFile() === true ? before : null);
}

async function putLink({ folders, blobs, requireKnown, onStep }: PutMeans, file: FileToPut, blob: Blob): Promise<void> {
  if (blob.size > LONGEST_TARGET) throw new Error(`${blob.id} of the snapshot is no target of a link`);
  const pieces: Buffer[] = [];
  for await (const piece of blobs.read(blob)) pieces.push(piece);
  const temporary = besides(file);
  onStep('create', file.path);
  symlinkSync(Buffer.concat(pieces), folders.entry(temporary));
  try {
    onStep('replace', file.path);
    requireKnown(file.path);
    renameSync(folders.entry(temporary), folders.entry(file.path));
  } catch (error) {
    removeFile(folders, temporary);
    throw error;
  }
}

/**
 * Gives a file that has the content already its permissions; false when it has another content, or
 * other names (hard links) that would get them, too.
 */
function hasContent({ folders, onStep }: PutMeans, file: FileToPut, before: Stats, { id, size }: Blob): boolean {
  const fd = openReadable(folders, file.path);
  if (fd === null) return false;
  try {
    requireSame(fstatSync(fd), before, file.path);
    const hash = startObjectHash('blob', size);
    const piece = Buffer.allocUnsafe(PIECE);
    for (let read = readSync(fd, piece); read > 0; read = readSync(fd, piece)) hash.update(piece.subarray(0, read));
    if (hash.digest('hex') !== id) return false;
    const wanted = permissionsOf(file, before);
    if (wanted !== (before.mode & 0o7777)) {
      if (before.nlink > 1) return false;
      onStep('permit', file.path);
      fchmodSync(fd, wanted);
    }
    return true;
  } finally {
    closeSync(fd);
  }
}

async function drain({ blobs }: PutMeans, blob: Blob): Promise<void> {
  for await (const piece of blobs.read(blob)) void piece;
}

/** `before` is the file that is replaced. */
async function putContent(means: PutMeans, file: FileToPut, blob: Blob, before: Stats | null): Promise<void> {
  const { folders, onStep, fresh } = means;
  const temporary = fresh ? file.path : besides(file);
  const isPrivate = before !== null || file.permissions !== undefined;
  onStep('create', file.path);
  const { fd, isLike: isStaged } = await openTemporary(means, file, temporary, before);
  let isInPlace = false;
  try {
    onStep('fill', file.path);
    for await (const piece of means.blobs.read(blob)) writeAll(fd, piece);
    onStep('keep', file.path);
    const isLike = isStaged || before === null || (await takeAttributes(means, file.path, before, fd));
    if (isPrivate) permit(fd, forOther(permissionsOf(file, before)));
    if (fresh) isInPlace = true;
    else if (isLike) isInPlace = replaceBy(means, file.path, { fd, temporary, before });
    if (!isInPlace) overwrite(means, file, before as Stats, fd);
  } finally {
    if (!isInPlace) {
      closeSync(fd);
      removeFile(folders, temporary);
    }
  }
  if (isInPlace) await means.unsynced.add(fd);
}

type Temporary = { readonly fd: number; readonly isLike: boolean };

/** Opens a new file; `isLike` says that it has the attributes of the file that it is to replace. */
async function openTemporary(
  { folders, staged }: PutMeans,
  file: FileToPut,
  temporary: RawPath,
  before: Stats | null,
): Promise<Temporary> {
  if (before !== null && (await staged.take(file.path, before, temporary))) {
    const fd = openStaged(folders.entry(temporary), before);
    if (fd !== null) return { fd, isLike: true };
    removeFile(folders, temporary);
  }
  const isPrivate = before !== null || file.permissions !== undefined;
  const mode = isPrivate ? 0o600 : file.mode === EXECUTABLE ? 0o777 : 0o666;
  return { fd: openSync(folders.entry(temporary), 'wx+', mode), isLike: false };
}

/** Returns null for one that may not be written, or has not got its owner and mode. */
function openStaged(place: Buffer, before: Stats): number | null {
  let fd: number;
  try {
    fd = openSync(place, constants.O_RDWR | NEVER_FOLLOW);
  } catch (error) {
    if (codeOf(error) === 'EACCES') return null;
    throw error;
  }
  const { uid, gid, mode, nlink, size } = fstatSync(fd);
  if (uid === before.uid && gid === before.gid && mode === before.mode && nlink === 1 && size === 0) return fd;
  closeSync(fd);
  return null;
}

type Replacing = { readonly fd: number; readonly temporary: RawPath; readonly before: Stats | null };

/** Tells whether the new file has taken the place; false where no other may than the old one. */
function replaceBy(
  { folders, requireKnown, onStep }: PutMeans,
  path: RawPath,
  { fd, temporary, before }: Replacing,
): boolean {
  requireSame(lstatSync(folders.entry(temporary), { throwIfNoEntry: false }), fstatSync(fd), temporary);
  onStep('replace', path);
  requireKnown(path);
  try {
    renameSync(folders.entry(temporary), folders.entry(path));
    return true;
  } catch (error) {
    if (before !== null && isReplacingRefused(error)) return false;
    throw error;
  }
}

/** Tells whether the open file is as the one that it replaces, but for content and times. */
async function takeAttributes(
  { folders, copyAll }: PutMeans,
  path: RawPath,
  before: Stats,
  to: number,
): Promise<boolean> {
  const from = openReadable(folders, path);
  if (from === null) {
    copyOwner(to, before);
    const { uid, gid } = fstatSync(to);
    return uid === before.uid && gid === before.gid;
  }
  try {
    requireSame(fstatSync(from), before, path);
    return await keepAttributes(copyAll, { from, had: before, to });
  } finally {
    closeSync(from);
  }
}

/**
 * Writes in place, which keeps the file and its owner. One that this was killed at has the
 * beginning of its content.
 */
function overwrite({ folders, requireKnown, onStep }: PutMeans, file: FileToPut, before: Stats, from: number): void {
  const fd = openSync(folders.entry(file.path), constants.O_WRONLY | NEVER_FOLLOW);
  try {
    requireSame(fstatSync(fd), before, file.path);
    onStep('overwrite', file.path);
    requireKnown(file.path);
    ftruncateSync(fd);
    const piece = Buffer.allocUnsafe(PIECE);
    for (let at = 0, read = 0; (read = readSync(from, piece, 0, PIECE, at)) > 0; at += read)
      writeAll(fd, piece.subarray(0, read));
    permit(fd, forOther(permissionsOf(file, before)));
    fdatasyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** A file of another owner keeps the permissions that it has. */
function permit(fd: number, wanted: number): void {
  if ((fstatSync(fd).mode & 0o7777) === wanted) return;
  try {
    fchmodSync(fd, wanted);
  } catch (error) {
    if (codeOf(error) !== 'EPERM') throw error;
  }
}

/**
 * Another content is not run as the owner or the group of the file, as when a program writes it.
 */
const forOther = (permissions: number): number => permissions & 0o1777;

/** Keeps what the file in its place has, but for what git keeps of it: who may write may run it. */
function permissionsOf({ mode, permissions }: FileToPut, before: Stats | null): number {
  const had = (before?.mode ?? 0o644) & 0o7777;
  if (permissions !== undefined) return (permissions & 0o777) | (had & 0o7000);
  const isExecutable = (had & 0o100) !== 0;
  if (isExecutable === (mode === EXECUTABLE)) return had;
  return isExecutable ? had & ~0o111 : had | 0o100 | ((had & 0o444) >> 2);
}

/** Returns null for a file that may not be read. */
function openReadable(folders: FoldersBeneath, path: RawPath): number | null {
  try {
    return openSync(folders.entry(path), constants.O_RDONLY | NEVER_FOLLOW);
  } catch (error) {
    if (codeOf(error) === 'EACCES') return null;
    throw error;
  }
}

function requireSame(found: Stats | undefined, meant: Stats, path: RawPath): void {
  if (found?.ino !== meant.ino || found.dev !== meant.dev) throw new SwappedProblem(path);
}

function writeAll(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
}

function besides({ path, temporary }: FileToPut): RawPath {
  const folder = folderOf(path);
  return folder === '' ? temporary : `${folder}/${temporary}`;
}

/**
 * Holds a file that is about to be replaced or deleted against the snapshot that was taken before
 * (T7): what others have saved since then is in none, and must stay. Says that a file has another
 * content than the snapshot of what lay there.
 */
export class ChangedMeanwhile extends Error {
  override readonly name = 'ChangedMeanwhile';

  constructor(readonly path: RawPath) {
    super('a file was changed while files were written');
  }
}

/** Throws ChangedMeanwhile. */
export type RequireKnown = (path: RawPath) => void;

/** `known` are the files that the snapshot has; one that cannot be read passes. */
export function createKnownCheck(folders: FoldersBeneath, known: ReadonlyMap<RawPath, TreeFile>): RequireKnown {
  return (path) => {
    const stats = folders.look(path);
    if (stats === null || stats.isDirectory()) return;
    const { id, mode } = known.get(path) ?? {};
    const isLink = stats.isSymbolicLink();
    if (id === undefined || isLink !== (mode === LINK)) throw new ChangedMeanwhile(path);
    const is = isLink ? hashLink(folders.entry(path)) : hashFile(folders.entry(path), stats);
    if (is !== null && is !== id) throw new ChangedMeanwhile(path);
  };
}

function hashLink(place: Buffer): string {
  const target = readlinkSync(place, 'buffer');
  return startObjectHash('blob', target.length).update(target).digest('hex');
}

/** Returns null for a file that may not be read. */
function hashFile(place: Buffer, { size }: Stats): string | null {
  let fd: number;
  try {
    fd = openSync(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === 'EACCES') return null;
    throw error;
  }
  try {
    if (!fstatSync(fd).isFile()) return '';
    const hash = startObjectHash('blob', size);
    const piece = Buffer.allocUnsafe(Math.min(PIECE, size + 1));
    for (let read = readSync(fd, piece); read > 0; read = readSync(fd, piece)) hash.update(piece.subarray(0, read));
    return hash.digest('hex');
  } finally {
    closeSync(fd);
  }
}
