// A fresh folder for a test, removed when the test is over.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';

export function tempDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'perdure-test-'));
  onTestFinished(() => removeFolder(dir));
  return dir;
}

/** Most tries, of which each looks again at what is there. */
const MOST_TRIES = 50;

/**
 * Removes a folder in which somebody may still be: a process that ends, or a sandbox of another test
 * that makes the place of its mask again.
 */
export async function removeFolder(folder: string): Promise<void> {
  for (let left = MOST_TRIES; ; left -= 1) {
    try {
      return rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      if (left === 0 || (error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error;
      await sleep(100);
    }
  }
}
