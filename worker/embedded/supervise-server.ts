// Keeps the server of a data folder running for as long as a process that stays is joined. It sees
// a death by the process list, not by being the parent: the starter may be another process. Whoever
// gets the folder's lock restarts it, the others find it.
import { setTimeout as sleep } from 'node:timers/promises';
import { withFolderLock } from './file-lock.ts';
import type { Embedded } from './join-server.ts';
import { readyServer } from './wait-ready.ts';
import { runningServer, type ServerRecord, wantedVersion } from './server-record.ts';
import { reasonOf } from '../../system/text.ts';
import { startServer } from './start-server.ts';

export type Supervise = {
  /**
   * The server died and one is ready again at the same address. `here`: this process started it.
   */
  readonly onRestart: (restart: { readonly address: string; readonly here: boolean }) => void;
  /**
   * It died and could not be started; it is tried again, less and less often. Said once for each
   * different reason.
   */
  readonly onProblem: (why: string) => void;
};

/** Tells what happens to the embedded server while a process stays joined. */
export function supervision(say: (line: string) => void): Supervise {
  return {
    onRestart: ({ here }) => {
      if (here) say('the Temporal server had ended: it was started again, nothing is lost');
    },
    onProblem: (why) => say(`the Temporal server has ended and cannot be started again: ${why}; trying on`),
  };
}

/** `ps` is run for each look where there is no /proc. */
const LOOK_MS = process.platform === 'linux' ? 200 : 1_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

/**
 * Ends by itself when `embedded` is left. The returned function ends it earlier and resolves when
 * nothing of it runs any more.
 */
export function superviseServer(embedded: Embedded, supervise: Supervise): () => Promise<void> {
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, embedded.left]);
  const watching = watch(embedded, supervise, signal);
  return () => {
    stop.abort();
    return watching;
  };
}

async function watch(embedded: Embedded, { onRestart, onProblem }: Supervise, signal: AbortSignal): Promise<void> {
  const { folder } = embedded.options;
  let last = runningServer(folder);
  let said: string | null = null;
  let pause = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    try {
      const { record, here } = await keepRunning(embedded, signal);
      if (record !== null && !(last !== null && same(record, last))) onRestart({ address: record.address, here });
      last = record ?? last;
      [said, pause] = [null, FIRST_PAUSE_MS];
      await rest(LOOK_MS, signal);
    } catch (error) {
      // Whatever it is (a full disk, a lost binary), sessions wait for the server: say it and try
      // again.
      const why = reasonOf(error);
      if (why !== said) onProblem(why);
      said = why;
      await rest(pause, signal);
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    }
  }
}

const same = (a: ServerRecord, b: ServerRecord) => a.pid === b.pid && a.startTime === b.startTime;

/** The record is null only when the signal came in between. */
async function keepRunning(
  { options }: Embedded,
  signal: AbortSignal,
): Promise<{ readonly record: ServerRecord | null; readonly here: boolean }> {
  const { folder } = options;
  const running = runningServer(folder);
  if (running !== null) return { record: running, here: false };
  const binary = await options.binary(wantedVersion(folder));
  return withFolderLock(folder, async () => {
    if (signal.aborted) return { record: null, here: false };
    const other = await readyServer(folder);
    if (other !== null) return { record: other, here: false };
    return { record: await startServer({ ...options, binary, keepPort: true }), here: true };
  });
}

async function rest(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal, ref: false });
  } catch {
    // Aborted: the loop sees it.
  }
}
