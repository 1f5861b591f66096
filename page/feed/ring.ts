// Keeps the last changes of one feed for all its watchers. A watcher is only a place in it: a slow
// one costs nothing, and is told to begin again when its place has been forgotten.
import { randomBytes } from 'node:crypto';

/**
 * A change on the screen. `text` appends to an element; the others carry rendered HTML with ids of
 * its own.
 */
export type Change =
  | { readonly do: 'text'; readonly id: string; readonly text: string }
  /** Replaces the element of this id, or appends to `into` if it does not exist. */
  | { readonly do: 'put'; readonly id: string; readonly into: string; readonly html: string }
  | { readonly do: 'drop'; readonly id: string }
  /** Puts the elements of `into` in this order, by their ids. */
  | { readonly do: 'order'; readonly into: string; readonly ids: readonly string[] };

/** `at` is the place of a watcher that has received these changes. */
type RingChanges = { readonly changes: readonly Change[]; readonly at: number };

export type Ring = {
  /** Distinguishes this ring from those of other processes and other feeds of the same session. */
  readonly epoch: string;
  /** The place of a watcher that knows everything so far. */
  readonly now: number;
  push(...changes: readonly Change[]): void;
  /** Forgets all changes: every watcher begins again. */
  forget(): void;
  /** Returns null when the changes after `at` have been forgotten. */
  since(at: number): RingChanges | null;
  /** Resolves at the next change, or when the signal is aborted. */
  changed(signal: AbortSignal): Promise<void>;
};

/**
 * Characters of changes to keep: some seconds of the fastest model, and far more than a page takes
 * to load.
 */
const MOST = 2_000_000;

export function changeRing(most = MOST): Ring {
  const buffer: Change[] = [];
  let first = 0;
  let size = 0;
  const waiting = new Set<() => void>();
  const wake = (): void => {
    for (const resolve of waiting) resolve();
    waiting.clear();
  };
  return {
    epoch: randomBytes(6).toString('hex'),
    get now() {
      return first + buffer.length;
    },
    push: (...changes) => {
      for (const change of changes) {
        buffer.push(change);
        size += sizeOf(change);
      }
      let excess = 0;
      for (; size > most && excess < buffer.length - 1; excess += 1) size -= sizeOf(buffer[excess] as Change);
      buffer.splice(0, excess);
      first += excess;
      if (changes.length > 0) wake();
    },
    forget: () => {
      first += buffer.length + 1;
      buffer.length = size = 0;
      wake();
    },
    since: (at) => {
      if (at < first || at > first + buffer.length) return null;
      return { changes: buffer.slice(at - first), at: first + buffer.length };
    },
    changed: (signal) => {
      if (signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const done = (): void => {
          waiting.delete(done);
          signal.removeEventListener('abort', done);
          resolve();
        };
        waiting.add(done);
        signal.addEventListener('abort', done, { once: true });
      });
    },
  };
}

const sizeOf = (change: Change): number =>
  100 + (change.do === 'text' ? change.text.length : change.do === 'put' ? change.html.length : 0);

/** An element with an id of its own, replaced when it has changed. */
export type FramePart = { readonly id: string; readonly into: string; readonly html: string };

/** Puts the parts that have changed since they were drawn, and drops those that are gone. */
export function frameChanges(drawn: Map<string, string>, parts: readonly FramePart[]): readonly Change[] {
  const changes: Change[] = [];
  for (const { id, into, html } of parts) {
    if (drawn.get(id) === html) continue;
    drawn.set(id, html);
    changes.push({ do: 'put', id, into, html });
  }
  const ids = new Set(parts.map(({ id }) => id));
  for (const id of [...drawn.keys()].filter((known) => !ids.has(known))) {
    drawn.delete(id);
    changes.push({ do: 'drop', id });
  }
  return changes;
}
