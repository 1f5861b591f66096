// Keeps the shadow repository small while its worker captures folders: packs it in quiet moments,
// and stops captures while it takes more of the disk than it may.
import { LockHeld } from '../../system/process/file-lock.ts';
import type { Log } from '../../system/log.ts';
import { clip, onOneLine, reasonOf } from '../../system/text.ts';
import {
  DEFAULT_DISK_BYTES,
  describeFull,
  isPackingDue,
  LONGEST_PACKING_MS,
  measureShadow,
  noteRoom,
  PACKING_BOUNDS,
  type PackingBounds,
  packShadow,
  type ShadowSize,
  withPackingLock,
} from '../../store/snapshots/pack-shadow.ts';
import { shadowEnvironment, snapshotsFolderOf } from '../../store/snapshots/shadow.ts';
import type { RunHeld } from '../../store/snapshots/take-snapshot.ts';

/** The repository is looked at so long after a capture. Milliseconds. */
const QUIET_MS = 10_000;
/** A worker that is never quiet packs after so many waits: git has the lowest priority. */
const OVERDUE_FACTOR = 5;
/** The bounds for packing before captures stop for want of room. */
const NEARLY_ALL: PackingBounds = { loose: 200, packs: 10 };

export type KeeperOptions = {
  readonly dataDir: string;
  /** The path of git. */
  readonly git: string;
  /** Runs a program on the repository until it is aborted. */
  readonly runUntil: (signal: AbortSignal) => RunHeld;
  /** Tells whether a folder is being captured. */
  readonly isBusy: () => boolean;
  readonly log: Log;
  /** Bytes of the disk from which on nothing more is captured. */
  readonly diskBytes?: number;
  readonly bounds?: PackingBounds;
  readonly quietMs?: number;
};

export class ShadowKeeper {
  readonly #options: KeeperOptions;
  readonly #gitDir: string;
  readonly #bounds: PackingBounds;
  readonly #diskBytes: number;
  readonly #closed = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | null = null;
  #isFull = false;
  #problem = '';

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#bounds = options.bounds ?? PACKING_BOUNDS;
    this.#diskBytes = options.diskBytes ?? DEFAULT_DISK_BYTES;
    this.#gitDir = snapshotsFolderOf(options.dataDir);
  }

  /** Looks at the repository soon, beside what the worker does. */
  noteCapture(): void {
    if (this.#closed.signal.aborted) return;
    this.#timer ??= setTimeout(() => this.#begin(), this.#options.quietMs ?? QUIET_MS).unref();
  }

  /** Throws while the repository takes more of the disk than it may; it is looked at again. */
  requireRoom(): void {
    if (!this.#isFull) return;
    this.noteCapture();
    throw new Error(describeFull(this.#diskBytes));
  }

  /** Ends what packs. It leaves a repository that is whole. */
  async close(): Promise<void> {
    this.#closed.abort();
    clearTimeout(this.#timer);
    await this.#looking;
  }

  #begin(): void {
    this.#timer = undefined;
    this.#looking ??= this.#look().finally(() => (this.#looking = null));
  }

  async #look(): Promise<void> {
    try {
      const size = await measureShadow(this.#gitDir);
      if (size.bytes > this.#diskBytes) return await this.#makeRoom(size);
      this.#noteFull(false);
      if (!isPackingDue(size, this.#bounds)) return;
      // A quiet moment comes, or there is far too much.
      if (this.#options.isBusy() && !isPackingDue(size, scaleBounds(this.#bounds))) return this.noteCapture();
      await this.#pack(this.#bounds);
    } catch (error) {
      if (!this.#closed.signal.aborted) this.#report(error);
    }
  }

  async #makeRoom(size: ShadowSize): Promise<void> {
    try {
      if (isPackingDue(size, NEARLY_ALL)) await this.#pack(NEARLY_ALL);
    } finally {
      const { bytes } = await measureShadow(this.#gitDir, 'exact');
      this.#noteFull(bytes > this.#diskBytes);
    }
  }

  #noteFull(isFull: boolean): void {
    this.#isFull = isFull;
    noteRoom(this.#gitDir, { diskBytes: this.#diskBytes, isFull });
  }

  async #pack(bounds: PackingBounds): Promise<void> {
    const { git, runUntil } = this.#options;
    const run = runUntil(this.#closed.signal);
    const options = { env: shadowEnvironment(), cwd: this.#gitDir, timeoutMs: LONGEST_PACKING_MS };
    const packing = { gitDir: this.#gitDir, git, run: (argv: readonly string[]) => run(argv, options) };
    await withPackingLock(this.#gitDir, 0, () => packShadow(packing, bounds));
    this.#problem = '';
  }

  #report(error: unknown): void {
    // Another worker packs.
    if (error instanceof LockHeld) return;
    const problem = clip(onOneLine(reasonOf(error)), 300);
    if (problem !== this.#problem) this.#options.log('warn', `the snapshots of files are not packed: ${problem}`);
    this.#problem = problem;
  }
}

const scaleBounds = ({ loose, packs }: PackingBounds): PackingBounds => ({
  loose: loose * OVERDUE_FACTOR,
  packs: packs * OVERDUE_FACTOR,
});
