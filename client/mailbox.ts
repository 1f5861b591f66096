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
