// Waits until something may have changed in a folder: watches it where the system can, and looks
// now and then in any case.
import { type FSWatcher, watch } from 'node:fs';
import { dirname } from 'node:path';
import type { Changes } from './follow.ts';

/**
 * Milliseconds that a watcher may be late where the system cannot watch: the folder is missing, on
 * a network file system, or watches have run out.
 */
const POLL_MS = 250;

/**
 * Returns changes that resolve to true when files may have come or gone, to false when some have
 * only grown, and after `POLL_MS` in any case.
 */
export function folderChanges(folder: string, signal: AbortSignal): Changes {
  let changed = false;
  let stale = true;
  let wake: () => void = () => undefined;
  const notice = (event: unknown): void => {
    changed = true;
    // The system reports a file that grew as a change, one that came or went as a rename.
    stale ||= event !== 'change';
    wake();
  };
  const watching = watchFolder(folder, notice);
  signal.addEventListener('abort', notice, { once: true });
  return {
    next: async () => {
      // Look once more for changes from before the watch began.
      if (watching.ensure()) [changed, stale] = [true, true];
      if (!changed && !signal.aborted && !(await waitForWake((resolve) => (wake = resolve)))) stale = true;
      const wasStale = stale;
      [changed, stale] = [false, false];
      return wasStale;
    },
    close: () => {
      signal.removeEventListener('abort', notice);
      watching.drop();
    },
  };
}

/**
 * Watches the folder above until the folder itself exists. `ensure` tells whether a new watch has
 * begun.
 */
function watchFolder(folder: string, changed: (event: unknown) => void): { ensure(): boolean; drop(): void } {
  let watching: { readonly path: string; readonly watcher: FSWatcher } | null = null;
  const drop = (): void => {
    watching?.watcher.close();
    watching = null;
  };
  const ensure = (): boolean => {
    for (const path of [folder, dirname(folder)]) {
      if (watching?.path === path) return false;
      const watcher = tryWatch(path, changed, drop);
      if (!watcher) continue;
      drop();
      watching = { path, watcher };
      return true;
    }
    return false;
  };
  return { ensure, drop };
}

/** Resolves to false when nothing woke it for `POLL_MS`. */
async function waitForWake(arm: (resolve: () => void) => void): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const woken = await new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), POLL_MS);
    arm(() => resolve(true));
  });
  clearTimeout(timer);
  return woken;
}

function tryWatch(path: string, changed: (event: unknown) => void, failed: () => void): FSWatcher | null {
  try {
    return watch(path, { persistent: false }).on('change', changed).on('error', failed);
  } catch {
    // The folder is missing or cannot be watched: the poll sees what the watch would have.
    return null;
  }
}
