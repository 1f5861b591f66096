// The system's refusals as sentences the model can act on. What is not listed here is a defect and stays an error.
import { ToolFailure } from '../../tool.ts';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  ELOOP: 'its links go round in a circle, or it was replaced by a link while it was being used',
  ENOTDIR: 'a part of it is a file, not a folder',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENAMETOOLONG: 'it, or a part of it, is too long',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EIO: 'the disk failed',
  EMFILE: 'too many files are open; try again',
  ENFILE: 'too many files are open; try again',
  ENXIO: 'it is a socket or a device',
};

/** `path` as it may be shown: quoted and bounded. */
export function shown(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);
}

/** A ToolFailure that names the path, or the error itself when it is none of the system's ordinary refusals. */
export function fsFailure(error: unknown, path: string, deed = 'used'): unknown {
  const why = REASONS[(error as NodeJS.ErrnoException).code ?? ''];
  return why === undefined ? error : new ToolFailure(`${shown(path)} cannot be ${deed}: ${why}.`, { cause: error });
}

/** Null for what is not there; any other error is thrown. */
export function absent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}
