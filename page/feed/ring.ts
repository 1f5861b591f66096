// The last changes of one feed, shared by all who watch it. A watcher is only a place in it: one
// that reads slowly, or not at all, costs nothing, and is told to begin again when its place has
// been forgotten.
import { randomBytes } from 'node:crypto';

/**
 * A change of what is on the screen. `text` goes on in an element as it is said; the others take
 * rendered HTML, with ids of their own.
 */
export type Change =
  | { readonly do: 'text'; readonly id: string; readonly text: string }
  /** Put in the place of the element of this id, or at the end of `into` where there is none. */
  | { readonly do: 'put'; readonly id: string; readonly into: string; readonly html: string }
  | { readonly do: 'drop'; readonly id: string }
  /** The elements of `into`, by their ids, are to stand in this order. */
  | { readonly do: 'order'; readonly into: string; readonly ids: readonly string[] };

/** `at`: the place of a watcher that has been given these changes. */
export type Changes = { readonly changes: readonly Change[]; readonly at: number };

export type Ring = {
  /** Differs from that of another process, or of another feed of the same session. */
  readonly epoch: string;
  /** The place of a watcher that knows everything so far. */
  readonly now: number;
  push(...changes: readonly Change[]): void;
  /** Null when what comes after `at` has been forgotten. */
  since(at: number): Changes | null;
  /** Resolves at the next change, or when the signal is aborted. */
  changed(signal: AbortSignal): Promise<void>;
};

/**
 * Characters of changes that are kept: some seconds of the fastest model, and far more than a page
 * takes to load.
 */
const MOST = 2_000_000;

export function changeRing(most = MOST): Ring {
  const kept: Change[] = [];
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
      return first + kept.length;
    },
    push: (...changes) => {
      for (const change of changes) {
        kept.push(change);
        size += sizeOf(change);
      }
      let gone = 0;
      for (; size > most && gone < kept.length - 1; gone += 1) size -= sizeOf(kept[gone] as Change);
      kept.splice(0, gone);
      first += gone;
      if (changes.length > 0) wake();
    },
    since: (at) => {
      if (at < first || at > first + kept.length) return null;
      return { changes: kept.slice(at - first), at: first + kept.length };
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

/** An element with an id of its own, put where it belongs when it has changed. */
export type Part = { readonly id: string; readonly into: string; readonly html: string };

/**
 * Puts what has changed of the parts since they were drawn, and takes away what is no longer among
 * them.
 */
export function frameChanges(drawn: Map<string, string>, parts: readonly Part[]): readonly Change[] {
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
