// Locks a ref of the shadow repository as git does.
import { openSync, rmSync, statSync } from 'node:fs';
import { codeOf } from '../../system/text.ts';

const LOCK_MS = 2_000;
const OLD_LOCK_MS = 60_000;

/**
 * Makes the file by which git locks a ref, so that no commit of another process is lost. One that a
 * killed process left is removed.
 */
export async function lockRef(path: string): Promise<number> {
  const lock = `${path}.lock`;
  for (const until = Date.now() + LOCK_MS; ;) {
    try {
      return openSync(lock, 'wx', 0o600);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST' || Date.now() > until) throw error;
      const left = statSync(lock, { throwIfNoEntry: false });
      if (left && left.mtimeMs < Date.now() - OLD_LOCK_MS) rmSync(lock, { force: true });
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}
