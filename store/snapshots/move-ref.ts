// Moves a ref of the shadow repository to its next commit, locked as git locks it: no commit of
// another process is lost, and a process that is killed at any step holds up the next for seconds.
import { closeSync, fstatSync, openSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from '../../system/text.ts';
import { syncData } from './git-objects.ts';
import { readText } from './saved-files.ts';

/**
 * A lock is held while a commit is written. One that was seen for so long was left by a process
 * that was killed; a process that was only slow finds that it was taken, and begins again.
 * Milliseconds.
 */
const LEFT_MS = 3_000;
const POLL_MS = 10;

/**
 * Moves the ref whose file is `path` to the commit that `commitAfter` returns, a child of the one
 * that the ref names, or of none. It is called anew where the lock was taken meanwhile.
 */
export async function moveRef(path: string, commitAfter: (parent: string | null) => Promise<string>): Promise<string> {
  for (;;) {
    const lock = await takeLock(`${path}.lock`);
    try {
      const commit = await commitAfter(readText(path)?.trim() ?? null);
      writeFileSync(lock, `${commit}\n`);
      await syncData(lock);
      if (isAt(lock, `${path}.lock`)) {
        renameSync(`${path}.lock`, path);
        return commit;
      }
    } catch (error) {
      if (isAt(lock, `${path}.lock`)) rmSync(`${path}.lock`, { force: true });
      throw error;
    } finally {
      closeSync(lock);
    }
  }
}

async function takeLock(path: string): Promise<number> {
  for (let [lastHolder, waitedMs] = ['', 0]; ; waitedMs += POLL_MS) {
    try {
      return openSync(path, 'wx', 0o600);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
    const { ino = 0, birthtimeMs = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
    const holder = `${ino} ${birthtimeMs}`;
    if (holder !== lastHolder) [lastHolder, waitedMs] = [holder, 0];
    if (waitedMs >= LEFT_MS) rmSync(path, { force: true });
    await sleep(POLL_MS);
  }
}

function isAt(descriptor: number, path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.ino === fstatSync(descriptor).ino;
}
