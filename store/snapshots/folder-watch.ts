// Learns from the system which names in folders have changed, so that not every file is checked.
// Linux reports a change before the call that makes it returns; elsewhere nothing is watched. It
// does not report what is written through mapped memory or another hard link, by another host, or
// on another mount.
import { readFileSync, watch, type FSWatcher, type Stats } from 'node:fs';
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
const WATCHES = '/proc/sys/fs/inotify/max_user_watches';
/** Watches may be free by then. Milliseconds. */
const AGAIN_MS = 10 * 60_000;

type WatchOptions = {
  /** The most folders that this process watches; absent: a part of what the user may have. */
  readonly most?: number;
  /** Milliseconds of a clock. */
  readonly now?: () => number;
};

export class FolderWatch<Folder> {
  /** Watched folders of this process. */
  static #count = 0;
  static #mostOfUser: number | undefined;
  /** Events of all folders of this process. */
  static #events = 0;
  /** A sentence about missing watches, to be told. */
  static #shortage: string | null = null;

  readonly #most: number;
  readonly #now: () => number;
  readonly #watchers = new Map<Folder, FSWatcher>();
  #changed = new Map<Folder, Set<RawPath>>();
  /** How many events there were when changes were last taken. */
  #eventsRead = 0;
  #isWhole = false;
  /** When watches were wanting: until when it waits, and how many would not do. */
  #wanting: { readonly until: number; readonly tooFew: number } | null = null;

  constructor({ most, now = () => performance.now() }: WatchOptions = {}) {
    FolderWatch.#mostOfUser ??= readMost();
    this.#most = most ?? FolderWatch.#mostOfUser;
    this.#now = now;
  }

  /** Says what to do where folders of this process were more than watches, and forgets it. */
  static takeShortage(): string | null {
    const shortage = FolderWatch.#shortage;
    FolderWatch.#shortage = null;
    return shortage;
  }

  /** Begins anew, or stops: all folders are added once more, each before it is listed. */
  restart(isWatched: boolean): void {
    this.#changed = new Map();
    this.#eventsRead = FolderWatch.#events;
    this.#isWhole = process.platform === 'linux' && isWatched && this.#mayHaveEnough();
  }

  /** Others may have given watches back, here or in another process. */
  #mayHaveEnough(): boolean {
    if (this.#wanting === null) return true;
    const isWaiting = this.#now() < this.#wanting.until && this.#most - FolderWatch.#count <= this.#wanting.tooFew;
    if (!isWaiting) this.#wanting = null;
    return !isWaiting;
  }

  /** Watches what has this place now. */
  add(folder: Folder, place: string | Buffer): void {
    this.remove(folder);
    if (!this.#isWhole) return;
    if (FolderWatch.#count >= this.#most) return this.#giveUp(describeFew(this.#most), this.#watchers.size);
    try {
      const watcher = watch(place, { persistent: false, encoding: 'latin1' });
      watcher.on('change', (_, name) => this.#note(folder, name as string | null));
      watcher.on('error', () => this.close());
      this.#watchers.set(folder, watcher);
      FolderWatch.#count += 1;
    } catch (error) {
      if (['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) return this.close();
      // Others have taken the watches: all is looked at meanwhile, as without any.
      this.#giveUp(describeTaken(codeOf(error) ?? ''), Infinity);
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
    const since = FolderWatch.#events - this.#eventsRead;
    this.#eventsRead = FolderWatch.#events;
    if (!this.#isWhole || since > MOST_EVENTS) return null;
    const changed = this.#changed;
    this.#changed = new Map();
    return changed;
  }

  close(): void {
    this.#isWhole = false;
    for (const folder of this.#watchers.keys()) this.remove(folder);
  }

  #giveUp(shortage: string, tooFew: number): void {
    this.#wanting = { until: this.#now() + AGAIN_MS, tooFew };
    FolderWatch.#shortage = shortage;
    this.close();
  }

  #note(folder: Folder, name: RawPath | null): void {
    FolderWatch.#events += 1;
    if (name === null || FolderWatch.#events - this.#eventsRead > MOST_EVENTS) return this.close();
    const names = this.#changed.get(folder) ?? new Set();
    this.#changed.set(folder, names.add(name));
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const BEGINNING = 'some folders are looked through as a whole at each snapshot, for';

const describeFew = (most: number): string =>
  `${BEGINNING} their folders are more than the ${Math.floor(most)} watches that Perdure takes, a tenth of the user's: raise fs.inotify.max_user_watches`;

const describeTaken = (code: string): string =>
  code === 'EMFILE'
    ? `${BEGINNING} the user has no watcher left: raise fs.inotify.max_user_instances`
    : `${BEGINNING} the user has no watch left: raise fs.inotify.max_user_watches`;

function readMost(): number {
  try {
    return Math.max(FEWEST_WATCHES, SHARE * Number(readFileSync(WATCHES, 'latin1')));
  } catch {
    return FEWEST_WATCHES;
  }
}

type Names<Folder> = ReadonlyMap<Folder, ReadonlySet<RawPath>>;

/**
 * Knows the files of a folder that have several names (hard links). The system reports a change
 * only in the folder of the name by which it was made, so these files are checked each time.
 */
export class LinkedFiles<Folder> {
  #names = new Map<Folder, Set<RawPath>>();
  #before: Names<Folder> | null = null;
  #hasNew = false;

  /** A name that is new is one of a file whose other names, which are older, were not looked at. */
  get hasNew(): boolean {
    return this.#hasNew;
  }

  /** Begins a look at everything. */
  restart(): void {
    [this.#names, this.#before, this.#hasNew] = [new Map(), null, false];
  }

  /** Begins a look at changes alone, and returns the names that are to be looked at besides. */
  lookAgain(): Names<Folder> {
    [this.#before, this.#names, this.#hasNew] = [this.#names, new Map(), false];
    return this.#before;
  }

  note(folder: Folder, name: RawPath, stats: Stats): void {
    if (stats.nlink < 2 || !stats.isFile()) return;
    const names = this.#names.get(folder) ?? new Set();
    this.#names.set(folder, names.add(name));
    if (this.#before && this.#before.get(folder)?.has(name) !== true) this.#hasNew = true;
  }
}
