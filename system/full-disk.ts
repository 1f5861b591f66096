// Tells a disk without room from one that holds as many files as it can: the system has the same
// words for both, and `df` shows free space.
import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';

export const NO_INODES = 'no inodes left on device: the disk holds as many files as it can (`df -i`), of any size';

/**
 * Tells whether no more files fit on the disk of `place`, which need not exist, though it has room.
 */
export function hasNoInodes(place: string): boolean {
  try {
    const { files, ffree, bavail } = statfsSync(place);
    // A file system that makes inodes as it needs them counts none.
    return files > 0 && ffree === 0 && bavail > 0;
  } catch {
    const above = dirname(place);
    return above !== place && hasNoInodes(above);
  }
}

/** Puts right what `words` say of a full disk, if it is that of `place`. */
export function nameFullDisk(words: string, place: string): string {
  const full = /no space left on device/i;
  return full.test(words) && hasNoInodes(place) ? words.replace(full, NO_INODES) : words;
}
