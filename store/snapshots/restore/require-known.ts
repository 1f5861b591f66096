// Holds a file that is about to be replaced or deleted against the snapshot that was taken before
// (T7): what others have saved since then is in none, and must stay.
import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync, type Stats } from 'node:fs';
import { codeOf } from '../../../system/text.ts';
import { startObjectHash } from '../git-objects.ts';
import type { RawPath } from '../listing.ts';
import type { TreeFile } from './blob-stream.ts';
import type { FoldersBeneath } from './folders-beneath.ts';

/** Says that a file has another content than the snapshot of what lay there. */
export class ChangedMeanwhile extends Error {
  override readonly name = 'ChangedMeanwhile';

  constructor(readonly path: RawPath) {
    super('a file was changed while files were written');
  }
}

/** Throws ChangedMeanwhile. */
export type RequireKnown = (path: RawPath) => void;

const LINK = '120000';
const PIECE = 1024 * 1024;

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
