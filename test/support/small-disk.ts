// A disk with little room, for as long as a test runs.
import { execFileSync, spawnSync } from 'node:child_process';
import { onTestFinished } from 'vitest';

export const MAY_NOT_MOUNT = 'needs a user who may mount';

/** Tells whether a disk of so much room, as `2m`, lies over the folder now. */
export function mountSmall(dir: string, size: string): boolean {
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', dir]);
  // Git may still be in it.
  if (status === 0) onTestFinished(() => void execFileSync('umount', ['-l', dir]));
  return status === 0;
}
