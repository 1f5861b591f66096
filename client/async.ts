// Waits that may end early: for the arrival of a message, for a signal that aborts, for items of
// several sources.
import type { Client } from '@temporalio/client';
import { awaitInTime } from '../system/async.ts';
import { reasonOf } from '../system/text.ts';

/** Milliseconds that a leaving sender waits, enough for the server or a worker to answer once. */
export const LEAVING_MS = 10_000;

/**
 * Gives a message on its way time to arrive before its sender leaves. Returns null when it arrived,
 * and a sentence when it may not have: the server or the worker that would answer may be gone.
 */
export async function awaitArrival(what: string, sent: Promise<unknown>): Promise<string | null> {
  const why = sent.then(
    () => null,
    (error: unknown) => reasonOf(error),
  );
  const problem = await awaitInTime(why, 'nobody has answered', LEAVING_MS);
  return problem && `${what} may not have arrived: ${problem}`;
}

/**
 * Option of a method: the signal ends the wait, which throws its reason. What was sent by then may
 * have arrived.
 */
export type Abortable = { readonly signal?: AbortSignal | undefined };

/** Rejects with the signal's reason as soon as it is aborted, whatever `work` does. */
export async function untilAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  let give = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    give = () => reject(signal.reason as Error);
    signal.addEventListener('abort', give, { once: true });
  });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    signal.removeEventListener('abort', give);
  }
}

/** Does the same, and gives up what the work asks of the server. */
export function abortWith<T>(temporal: Client, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  return signal ? untilAborted(signal, () => temporal.withAbortSignal(signal, work)) : work();
}

/**
 * Calls `act` at most once, when the signal aborts. The returned function stops listening, since
 * the signal may outlive its listener, and waits for an `act` that has begun.
 */
export function actOnAbort(signal: AbortSignal | undefined, act: () => Promise<void>): () => Promise<void> {
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

/**
 * Joins several sources into one async iteration, in order of arrival. It has no bound: a source
 * looks at `waiting` before it pushes more.
 */
export type Mailbox<T> = AsyncIterable<T> & {
  push(item: T): void;
  /** Number of items that have not been read. */
  readonly waiting: number;
  /** Ends the iteration after the items that are in it. */
  close(): void;
  /** Lets more items come if the iteration was closed and has not ended. */
  reopen(): void;
};

export function createMailbox<T>(): Mailbox<T> {
  let items: T[] = [];
  let closed = false;
  let wake: (() => void) | null = null;
  const changed = (): void => {
    wake?.();
    wake = null;
  };
  return {
    get waiting() {
      return items.length;
    },
    push: (item) => {
      items.push(item);
      changed();
    },
    close: () => {
      closed = true;
      changed();
    },
    reopen: () => void (closed = false),
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
