// What is on its way when its sender leaves has a while to arrive: the server may be gone, or the worker that would answer.
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { reasonOf } from '../worker/embedded/setup-problem.ts';

/** Milliseconds: the server, or a worker, was asked once and could have answered. */
const LEAVING_MS = 10_000;

/** What `sent` resolves to; `late` when that takes longer, or someone is in a hurry. */
export async function inTime<T>(sent: Promise<T>, late: T, hurry?: AbortSignal, ms = LEAVING_MS): Promise<T> {
  const over = new AbortController();
  const enough = hurry ? AbortSignal.any([over.signal, hurry]) : over.signal;
  try {
    return await Promise.race([sent, isOver(ms, enough).then(() => late)]);
  } finally {
    over.abort();
  }
}

/** Null when it arrived; a sentence when it may not have. */
export async function arrival(what: string, sent: Promise<unknown>): Promise<string | null> {
  const why = sent.then(
    () => null,
    (error: unknown) => reasonOf(error),
  );
  const problem = await inTime(why, 'nobody has answered');
  return problem && `${what} may not have arrived: ${problem}`;
}

/** What has arrived already is not late, however great the hurry. */
async function isOver(ms: number, enough: AbortSignal): Promise<void> {
  await pause(ms, enough);
  await turn();
}

// A wait that can be cut short.

/** False when the signal came first. */
export async function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await sleep(ms, undefined, { signal });
    return true;
  } catch {
    // Only the signal ends it early.
    return false;
  }
}

// Something to do when a signal is aborted, and the end of both.

/** Acts at most once. What is returned stops listening, for the signal may outlive its listener, and waits for what was begun. */
export function onceAborted(signal: AbortSignal | undefined, act: () => Promise<void>): () => Promise<void> {
  let acting: Promise<void> | undefined;
  const begin = (): void => {
    acting = act();
  };
  if (signal?.aborted) begin();
  else signal?.addEventListener('abort', begin, { once: true });
  return async () => {
    signal?.removeEventListener('abort', begin);
    await acting;
  };
}

// Joins several sources into one async iteration, in order of arrival. Unbounded: whoever fills it is slower than who reads.

export type Mailbox<T> = AsyncIterable<T> & {
  push(item: T): void;
  /** The iteration ends after what is in it. */
  close(): void;
};

export function mailbox<T>(): Mailbox<T> {
  let items: T[] = [];
  let closed = false;
  let wake: (() => void) | null = null;
  const changed = (): void => {
    wake?.();
    wake = null;
  };
  return {
    push: (item) => {
      items.push(item);
      changed();
    },
    close: () => {
      closed = true;
      changed();
    },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        const batch = items;
        items = [];
        yield* batch;
        if (items.length > 0) continue;
        if (closed) return;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}
