// Sentences for what goes wrong in a store: which value, what is wrong, where, and what to do.
import type { Hash } from '../../workflows/contract/ids.ts';
import { StoreError } from './store.ts';

const advice: Readonly<Record<string, string>> = {
  ENOSPC: 'no space is left on the disk: free some, work goes on by itself',
  EDQUOT: 'the disk quota is used up: free some space, work goes on by itself',
  EIO: 'the disk reports an input/output error: check it, and restore the store from a backup if it is failing',
  EROFS: 'the file system is read-only: mount it writable again (a disk error may have made it so)',
  EMFILE: 'this process has too many files open: raise its limit (ulimit -n)',
  ENFILE: 'this machine has too many files open: raise its limit (fs.file-max)',
  EACCES: 'permission is denied: give this user read and write access to the folder',
  EPERM: 'the operation is not permitted: give this user read and write access to the folder',
  ENOENT: 'the folder is gone: something removed it while the store was in use',
};

export function isErrno(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && typeof (error as NodeJS.ErrnoException).code === 'string';
}

/** An error of the file system as a StoreError; anything else is thrown as it is. */
export function unavailable(doing: string, path: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  if (!isErrno(error)) throw error;
  const code = error.code ?? '';
  return new StoreError('unavailable', `cannot ${doing} (${path}): ${advice[code] ?? error.message} (${code})`, {
    cause: error,
  });
}

const RESTORE = 'restore it from a backup, or see what going on without it means: `perdure repair ID`';

export function missingValue(hash: Hash, place: string): StoreError {
  return new StoreError('missing', `stored value ${hash} is missing (${place}): ${RESTORE}`);
}

export function corruptValue(hash: Hash, place: string, bytes: number): StoreError {
  const what = `stored value ${hash} does not match its hash (${place}, ${bytes} bytes)`;
  return new StoreError('corrupt', `${what}: it was damaged after it was written, ${RESTORE}`);
}

export function corruptRecord(key: string, place: string, problem: string): StoreError {
  return new StoreError(
    'corrupt',
    `the record "${key}" ${problem} (${place}): it was damaged after it was written, restore it from a backup`,
  );
}
