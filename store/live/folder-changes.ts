// Waits until something may have changed in a folder: watched where the system can, and looked at
// now and then in any case.
import { type FSWatcher, watch } from 'node:fs';
import { dirname } from 'node:path';
import type { Changes } from './follow.ts';

/**
 * How late a watcher is, in milliseconds, where nothing can be watched: no folder yet, a network
 * file system, no watches left.
 */
const POLL_MS = 250;

/** Looked at after `POLL_MS` in any case. Files have come or gone: true; false: some have grown. */
export function folderChanges(folder: string, signal: AbortSignal): Changes {
  let changed = false;
  let stale = true;
  let wake: () => void = () => undefined;
  const notice = (event: unknown): void => {
    changed = true;
    // A file that grew is told as a change, one that came or went as a rename.
    stale ||= event !== 'change';
    wake();
  };
  const watching = watchFolder(folder, notice);
  signal.addEventListener('abort', notice, { once: true });
  return {
    next: async () => {
      // Changes before it was watched are seen by looking once more.
      if (watching.ensure()) [changed, stale] = [true, true];
      if (!changed && !signal.aborted && !(await wakened((resolve) => (wake = resolve)))) stale = true;
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
 * Until the folder is there, the one above shows when it comes. `ensure` tells whether a new watch
 * has begun.
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

/** False when nothing did for `POLL_MS`. */
async function wakened(arm: (resolve: () => void) => void): Promise<boolean> {
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
    // Not there, or not to be watched: the poll sees what the watch would have.
    return null;
  }
}
