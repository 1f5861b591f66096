// Keeps processes that capture folders for a worker, held as the commands of agents are. One
// remembers what lies in the folders that it has captured, so that the next capture of them is a
// look; a folder of which much is to be read holds up no other.
import { statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Log } from '../../system/log.ts';
import { isNeverBuilt, MOST_BUILDS } from '../../system/process/bwrap.ts';
import { killTree } from '../../system/process/kill-tree.ts';
import { pipePlace } from '../../system/process/pipes.ts';
import { spawnPiped, type PipedProcess } from '../../system/process/spawn-piped.ts';
import type { CaptureRequest, Snapshot } from '../../store/snapshots/capture-folder.ts';
import { OutOfBounds } from '../../store/snapshots/folder-index.ts';
import { openShadow, requireOwnSettings, shadowEnvironment, snapshotsFolderOf } from '../../store/snapshots/shadow.ts';
import { captureProgram, readCapture } from '../../store/snapshots/take-snapshot.ts';
import type { Sandbox } from '../../tools/sandbox.ts';
import { LONGEST_CAPTURE_MS, runGitHeld } from './run-git-held.ts';
import { ShadowKeeper } from './shadow-keeper.ts';

const IDLE_MS = 60_000;
const MOST_PROCESSES = 3;
const MOST_ATTEMPTS = 2;

type PoolOptions = {
  readonly sandbox: Sandbox;
  readonly dataDir: string;
  readonly log: Log;
  readonly diskBytes?: number | undefined;
};

export class CapturePool {
  readonly #options: PoolOptions;
  readonly #keeper: ShadowKeeper;
  readonly #noted = new Set<string>();
  #processes: CaptureProcess[] = [];

  constructor(options: PoolOptions) {
    this.#options = options;
    const { dataDir, log, diskBytes, sandbox } = options;
    this.#keeper = new ShadowKeeper({
      dataDir,
      log,
      git: sandbox.programs.at('git'),
      runUntil: (signal) => runGitHeld(options, signal),
      isBusy: () => this.#processes.some(({ waiting }) => waiting > 0),
      ...(diskBytes !== undefined && { diskBytes }),
    });
  }

  /**
   * Captures of one folder come one after the other, by the same process as long as it lives.
   * Rejects where the repository takes more of the disk than it may.
   */
  async capture(request: CaptureRequest): Promise<Snapshot> {
    this.#keeper.requireRoom();
    try {
      return await this.#attempt(request);
    } finally {
      this.#keeper.noteCapture();
    }
  }

  async #attempt(request: CaptureRequest): Promise<Snapshot> {
    this.#dropStale(request.place.gitDir);
    // A process starts in the repository.
    if (this.#processes.every(({ isOver }) => isOver)) await openShadow(request.place);
    for (let count = 1; ; count += 1) {
      const chosen = this.#choose(request.place.own);
      requireOwnSettings(request.place.gitDir);
      try {
        return await chosen.capture(request);
      } catch (error) {
        const most = chosen.isNeverBuilt() ? MOST_BUILDS : MOST_ATTEMPTS;
        if (error instanceof OutOfBounds || count >= most) throw error;
        // Its view of the disk may be that of before: it does not see a repository that was made
        // anew.
        await chosen.close();
        await openShadow(request.place);
      }
    }
  }

  #noteOnce(line: string): void {
    if (this.#noted.has(line)) return;
    this.#noted.add(line);
    this.#options.log('info', line);
  }

  /** A process whose repository was removed sees that one still, and would wait in it for ever. */
  #dropStale(gitDir: string): void {
    const repository = identify(gitDir);
    for (const one of this.#processes) if (one.repository !== repository) void one.close();
  }

  #choose(folder: string): CaptureProcess {
    this.#processes = this.#processes.filter(({ isOver }) => !isOver);
    const processes = this.#processes;
    const own = processes.find((one) => one.folders.has(folder));
    if (own) return own;
    const least = processes.toSorted((a, b) => a.waiting - b.waiting)[0];
    if (least && (least.waiting === 0 || processes.length >= MOST_PROCESSES)) return least;
    const added = new CaptureProcess(this.#options, (line) => this.#noteOnce(line));
    processes.push(added);
    return added;
  }

  async close(): Promise<void> {
    await Promise.all([this.#keeper.close(), ...this.#processes.map((one) => one.close())]);
  }
}

/** Returns a text that is another where another folder has the place; empty where none is there. */
function identify(folder: string): string {
  const stats = statSync(folder, { throwIfNoEntry: false });
  return stats ? `${stats.dev} ${stats.ino} ${stats.birthtimeMs}` : '';
}

class CaptureProcess {
  readonly folders = new Set<string>();
  readonly repository: string;
  waiting = 0;
  isOver = false;
  readonly #argv: readonly string[];
  readonly #note: (line: string) => void;
  readonly #started: Promise<PipedProcess>;
  #answers: AsyncIterator<string> | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #said = '';
  #idle: NodeJS.Timeout | undefined;

  constructor({ sandbox, dataDir }: Pick<PoolOptions, 'sandbox' | 'dataDir'>, note: (line: string) => void) {
    this.#note = note;
    const cwd = snapshotsFolderOf(dataDir);
    this.repository = identify(cwd);
    this.#argv = sandbox.wrap(captureProgram(), { cwd, dir: cwd, dataDir, offline: true });
    const env = { ...sandbox.programs.environment(), ...shadowEnvironment() };
    this.#started = spawnPiped(this.#argv, { cwd, env, pipes: pipePlace(sandbox.programs, dataDir) });
    this.#started.then(
      (process) => this.#watch(process),
      () => (this.isOver = true),
    );
  }

  async capture(request: CaptureRequest): Promise<Snapshot> {
    clearTimeout(this.#idle);
    this.folders.add(request.place.own);
    this.waiting += 1;
    const answer = this.#last.then(() => this.#ask(request));
    this.#last = answer.catch(() => undefined);
    try {
      return await answer;
    } finally {
      this.waiting -= 1;
      if (this.waiting === 0) this.#idle = setTimeout(() => void this.close(), IDLE_MS).unref();
    }
  }

  /** Tells whether its sandbox was never built, as where a socket goes away meanwhile. */
  isNeverBuilt(): boolean {
    return isNeverBuilt(this.#said, this.#argv);
  }

  async close(): Promise<void> {
    this.isOver = true;
    clearTimeout(this.#idle);
    const process = await this.#started.catch(() => null);
    process?.stdout.ref().resume();
    process?.stdin.end();
    await process?.closed();
  }

  #watch(process: PipedProcess): void {
    for (const pipe of [process.stdin, process.stdout, process.stderr]) pipe.unref();
    process.stderr
      .setEncoding('utf8')
      .on('data', (text: string) => (this.#said = `${this.#said}${text}`.slice(-2_000)));
    void process.exit.then(() => (this.isOver = true));
  }

  async #ask(request: CaptureRequest): Promise<Snapshot> {
    const process = await this.#started;
    this.#answers ??= createInterface({ input: process.stdout })[Symbol.asyncIterator]();
    process.stdout.ref();
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      void killTree(process.tree, { graceMs: 0 });
    }, LONGEST_CAPTURE_MS);
    try {
      process.stdin.write(`${JSON.stringify(request)}\n`);
      const { value, done } = await this.#answers.next();
      if (done !== true) return readCapture(value, this.#note);
      this.isOver = true;
      if (isLate) throw new OutOfBounds(`it took longer than ${LONGEST_CAPTURE_MS / 1_000} s`);
      throw new Error(this.#said.trim() || 'the process that captures files ended');
    } finally {
      clearTimeout(timer);
      process.stdout.unref();
    }
  }
}
