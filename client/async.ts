// Gives a message on its way time to arrive when its sender leaves: the server may be gone, or the
// worker that would answer.
import { awaitInTime } from '../system/async.ts';
import { reasonOf } from '../system/text.ts';

/** Milliseconds: the server, or a worker, was asked once and could have answered. */
export const LEAVING_MS = 10_000;

/** Null when it arrived; a sentence when it may not have. */
export async function awaitArrival(what: string, sent: Promise<unknown>): Promise<string | null> {
  const why = sent.then(
    () => null,
    (error: unknown) => reasonOf(error),
  );
  const problem = await awaitInTime(why, 'nobody has answered', LEAVING_MS);
  return problem && `${what} may not have arrived: ${problem}`;
}

// A wait that its caller may end.

/**
 * As an option of a method: ends the wait, which throws the signal's reason. What was sent by then
 * may have arrived.
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

// Something to do when a signal is aborted, and the end of both.

/**
 * Acts at most once. What is returned stops listening, for the signal may outlive its listener, and
 * waits for what was begun.
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

// Joins several sources into one async iteration, in order of arrival. Whoever fills it looks at
// how much waits.

export type Mailbox<T> = AsyncIterable<T> & {
  push(item: T): void;
  /** That nobody has read. */
  readonly waiting: number;
  /** The iteration ends after what is in it. */
  close(): void;
  /** Where it was closed and has not ended, more may come. */
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
