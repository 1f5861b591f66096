// Learns from the system which names in folders have changed, so that not every file is looked at.
// Linux tells of a change before the call that makes it returns; elsewhere nothing is watched. It
// does not tell what is written through mapped memory or another hard link, by another host, or on
// another mount.
import { readFileSync, watch, type FSWatcher } from 'node:fs';
import { codeOf } from '../../system/text.ts';
import type { RawPath } from './listing.ts';

/**
 * A burst of more may have overflown the queue of the system, of which Node does not tell. All
 * folders of a process share one queue.
 */
const MOST_EVENTS = 2_000;
/** The part of the user's watches that one process takes at most. */
const SHARE = 0.1;
const FEWEST_WATCHES = 800;

export class FolderWatch<Folder> {
  /** Watched folders of this process. */
  static #count = 0;
  static #most: number | undefined;
  /** Events of all folders of this process. */
  static #events = 0;

  readonly #watchers = new Map<Folder, FSWatcher>();
  #changed = new Map<Folder, Set<RawPath>>();
  /** How many events there were when changes were last taken. */
  #taken = 0;
  #isWhole = false;
  #canWatch = process.platform === 'linux';

  /** Begins anew, or stops: all folders are added once more, each before it is listed. */
  restart(isWatched: boolean): void {
    this.#changed = new Map();
    this.#taken = FolderWatch.#events;
    this.#isWhole = this.#canWatch && isWatched;
  }

  /** Watches what has this place now. */
  add(folder: Folder, place: string | Buffer): void {
    this.remove(folder);
    if (!this.#isWhole) return;
    FolderWatch.#most ??= readMost();
    if (FolderWatch.#count >= FolderWatch.#most) return this.#giveUp();
    try {
      const watcher = watch(place, { persistent: false, encoding: 'latin1' });
      watcher.on('change', (_, name) => this.#note(folder, name as string | null));
      watcher.on('error', () => this.close());
      this.#watchers.set(folder, watcher);
      FolderWatch.#count += 1;
    } catch (error) {
      if (['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) return this.close();
      // Others have taken the watches: all is looked at from here on, as without any.
      this.#giveUp();
    }
  }

  remove(folder: Folder): void {
    const watcher = this.#watchers.get(folder);
    if (!watcher) return;
    watcher.close();
    FolderWatch.#count -= 1;
    this.#watchers.delete(folder);
  }

  /** Returns the names that have changed since the last time; null where some may be unknown. */
  async takeChanges(): Promise<ReadonlyMap<Folder, ReadonlySet<RawPath>> | null> {
    // Events that the system has queued are read between two turns of the event loop.
    await nextTurn();
    await nextTurn();
    const since = FolderWatch.#events - this.#taken;
    this.#taken = FolderWatch.#events;
    if (!this.#isWhole || since > MOST_EVENTS) return null;
    const changed = this.#changed;
    this.#changed = new Map();
    return changed;
  }

  close(): void {
    this.#isWhole = false;
    for (const folder of this.#watchers.keys()) this.remove(folder);
  }

  #giveUp(): void {
    this.#canWatch = false;
    this.close();
  }

  #note(folder: Folder, name: RawPath | null): void {
    FolderWatch.#events += 1;
    if (name === null || FolderWatch.#events - this.#taken > MOST_EVENTS) return this.close();
    const names = this.#changed.get(folder) ?? new Set();
    this.#changed.set(folder, names.add(name));
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function readMost(): number {
  try {
    return Math.max(FEWEST_WATCHES, SHARE * Number(readFileSync('/proc/sys/fs/inotify/max_user_watches', 'latin1')));
  } catch {
    return FEWEST_WATCHES;
  }
}
