// Keeps the server of a data folder running for as long as a process that stays is joined. It sees
// a death by the process list, not by being the parent: the starter may be another process. The
// process that gets the folder's lock restarts it, the others find it.
import { setTimeout as sleep } from 'node:timers/promises';
import { withFolderLock } from './folder-lock.ts';
import type { EmbeddedServer } from './join-server.ts';
import { findReadyServer } from './wait-ready.ts';
import { findRunningServer, type ServerRecord, versionToMatch } from './server-record.ts';
import { reasonOf } from '../../system/text.ts';
import { startServer } from './start-server.ts';
import { isWatched, recordWatched } from './start-watch.ts';

export type Supervise = {
  /**
   * Called when the server died and one is ready again at the same address. `here` says that this
   * process started it.
   */
  readonly onRestart: (restart: { readonly address: string; readonly here: boolean }) => void;
  /**
   * Called when the server died and could not be started, once for each different reason; it is
   * tried again, less and less often.
   */
  readonly onProblem: (why: string) => void;
};

/** Tells what happens to the embedded server while a process stays joined. */
export function createSupervision(say: (line: string) => void): Supervise {
  return {
    onRestart: ({ here }) => {
      if (here) say('the Temporal server had ended: it was started again, nothing is lost');
    },
    onProblem: (why) => say(`the Temporal server has ended and cannot be started again: ${why}; trying on`),
  };
}

/** Milliseconds between looks; without /proc each look runs `ps`. */
const LOOK_MS = process.platform === 'linux' ? 200 : 1_000;
/**
 * Milliseconds between looks for the process that watches the server: one that fails costs little.
 */
const WATCH_LOOK_MS = 5_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

/**
 * Ends by itself when `embedded` is left. The returned function ends it earlier, and resolves when
 * it has ended.
 */
export function superviseServer(embedded: EmbeddedServer, supervise: Supervise): () => Promise<void> {
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, embedded.left]);
  const watching = watchServer(embedded, supervise, signal);
  return () => {
    stop.abort();
    return watching;
  };
}

async function watchServer(
  embedded: EmbeddedServer,
  { onRestart, onProblem }: Supervise,
  signal: AbortSignal,
): Promise<void> {
  const { folder } = embedded.options;
  let last = findRunningServer(folder);
  let reported: string | null = null;
  let pause = FIRST_PAUSE_MS;
  const keepWatched = createWatchKeeper(embedded, signal);
  while (!signal.aborted) {
    try {
      const { record, here } = await keepRunning(embedded, signal);
      if (record !== null) await keepWatched(record);
      if (record !== null && !(last !== null && isSameServer(record, last)))
        onRestart({ address: record.address, here });
      last = record ?? last;
      [reported, pause] = [null, FIRST_PAUSE_MS];
      await pauseUnlessAborted(LOOK_MS, signal);
    } catch (error) {
      // Sessions wait for the server whatever the cause (a full disk, a lost binary): report it and
      // try again.
      const why = reasonOf(error);
      if (why !== reported) onProblem(why);
      reported = why;
      await pauseUnlessAborted(pause, signal);
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    }
  }
}

/** Returns a function that starts the watch of a server again if that was killed. */
function createWatchKeeper({ options: { folder, env } }: EmbeddedServer, signal: AbortSignal) {
  let looked = performance.now();
  return async (record: ServerRecord): Promise<void> => {
    if (performance.now() - looked < WATCH_LOOK_MS) return;
    looked = performance.now();
    if (isWatched(record)) return;
    await withFolderLock(folder, async () => {
      const running = signal.aborted ? null : findRunningServer(folder);
      if (running !== null) recordWatched(folder, running, env);
    });
  };
}

const isSameServer = (a: ServerRecord, b: ServerRecord) => a.pid === b.pid && a.startTime === b.startTime;

/** Resolves to a null record only when the signal came in between. */
async function keepRunning(
  { options }: EmbeddedServer,
  signal: AbortSignal,
): Promise<{ readonly record: ServerRecord | null; readonly here: boolean }> {
  const { folder } = options;
  const running = findRunningServer(folder);
  if (running !== null) return { record: running, here: false };
  const binary = await options.binary(versionToMatch(folder));
  return withFolderLock(folder, async () => {
    if (signal.aborted) return { record: null, here: false };
    const other = await findReadyServer(folder);
    if (other !== null) return { record: other, here: false };
    return { record: await startServer({ ...options, binary, keepPort: true }), here: true };
  });
}

async function pauseUnlessAborted(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal, ref: false });
  } catch {
    // The loop sees the abort.
  }
}
