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
/** A look takes longer the more files there are, and polls take a hundredth of the time. */
const POLL_SHARE = 0.01;
const LONGEST_POLL_MS = 2_000;

/** Elsewhere the system may tell of files in another order than that in which they came. */
const TELLS_IN_ORDER = process.platform === 'linux';

/** Returns changes that resolve when files come, go or grow, and now and then in any case. */
export function folderChanges(folder: string, signal: AbortSignal): Changes {
  let changed = false;
  /** Files that came or went; null: any may have. */
  let names: string[] | null = null;
  let wake: () => void = () => undefined;
  const notice = (event: unknown, name?: unknown): void => {
    changed = true;
    // The system reports a file that grew as a change, one that came or went as a rename.
    if (event !== 'change' && TELLS_IN_ORDER && typeof name === 'string') names?.push(name);
    else if (event !== 'change') names = null;
    wake();
  };
  const watching = watchFolder(folder, notice);
  signal.addEventListener('abort', notice, { once: true });
  return {
    next: async (took) => {
      // Look once more for changes from before the watch began.
      if (watching.ensure()) [changed, names] = [true, null];
      if (!changed && !signal.aborted && !(await waitForWake(pollMs(took), (resolve) => (wake = resolve))))
        names = null;
      const found = names;
      [changed, names] = [false, []];
      return found;
    },
    close: () => {
      signal.removeEventListener('abort', notice);
      watching.drop();
    },
  };
}

type Noticing = (event: unknown, name?: unknown) => void;

/**
 * Watches the folder above until the folder itself exists. `ensure` tells whether a new watch has
 * begun.
 */
function watchFolder(folder: string, changed: Noticing): { ensure(): boolean; drop(): void } {
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

function pollMs(took: number): number {
  return Math.min(LONGEST_POLL_MS, Math.max(POLL_MS, took / POLL_SHARE));
}

/** Resolves to false when nothing woke it for so many milliseconds. */
async function waitForWake(ms: number, arm: (resolve: () => void) => void): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const woken = await new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
    arm(() => resolve(true));
  });
  clearTimeout(timer);
  return woken;
}

function tryWatch(path: string, changed: Noticing, failed: () => void): FSWatcher | null {
  try {
    return watch(path, { persistent: false }).on('change', changed).on('error', failed);
  } catch {
    // The folder is missing or cannot be watched: the poll sees what the watch would have.
    return null;
  }
}
