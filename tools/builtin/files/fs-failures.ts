// The system's refusals as sentences that the model can act on. An error that is not listed here is
// a defect and stays an error.
import { hasNoInodes } from '../../../system/full-disk.ts';
import { codeOf } from '../../../system/text.ts';
import { ToolFailure } from '../../tool.ts';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  ELOOP: 'its links go round in a circle, or it was replaced by a link while it was being used',
  ENOTDIR: 'a part of it is a file, not a folder',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  EBUSY: 'it is in use, or something is mounted on it',
  ETXTBSY: 'it is a program that runs now',
  ENAMETOOLONG: 'it, or a part of it, is too long',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EIO: 'the disk failed',
  EMFILE: 'too many files are open; try again',
  ENFILE: 'too many files are open; try again',
  ENXIO: 'it is a socket or a device',
};

/** Quotes and bounds a path so that it may be shown. */
export function quotePath(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);
}

/** Says why the system refused; undefined for an error that is not an ordinary refusal. */
export function describeSystemError(error: unknown): string | undefined {
  const { code = '', path } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC' && path !== undefined && hasNoInodes(path)) return 'the disk holds as many files as it can';
  return REASONS[code];
}

/**
 * Makes a ToolFailure that names the path, or returns the error itself unless it is one of the
 * system's ordinary refusals.
 */
export function toFsFailure(error: unknown, path: string, deed = 'used'): unknown {
  const why = describeSystemError(error);
  return why === undefined ? error : new ToolFailure(`${quotePath(path)} cannot be ${deed}: ${why}.`, { cause: error });
}

/** Returns null for a file that does not exist; throws any other error. */
export function ifPresent<T>(look: () => T): T | null {
  try {
    return look();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}
