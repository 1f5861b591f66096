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
