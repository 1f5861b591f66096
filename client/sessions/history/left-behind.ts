// Reads what rewinds have left behind (T6): entries that a conversation no longer has, as they
// stand under its earlier heads.
import type { Client } from '@temporalio/client';
import { createBodyReader } from '../../../store/log/bodies.ts';
import { type Entry, headLeftBy } from '../../../store/log/entries.ts';
import { readChain, type StoredSegment } from '../../../store/log/read-chain.ts';
import { isDamage, type Store } from '../../../store/values/store.ts';
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import { headOf } from '../newest-head.ts';
import type { SessionReading } from '../read.ts';

/** A stretch that a rewind has left behind; `first` is the position that its first entry had. */
export type LeftBehind = Pick<SessionReading, 'entries' | 'first' | 'bodies'> & {
  /** The sentence that says why it cannot be read. */
  readonly problem?: string;
};

/**
 * Returns what each rewind has left behind, by the rewind's entry. One that was left behind itself
 * counts to the rewind that left it. Throws StoreError unless the store is damaged.
 */
export async function readLeftBehind(
  { temporal, store }: { readonly temporal: { readonly client: Client }; readonly store: Store },
  session: SessionId,
): Promise<ReadonlyMap<number, readonly LeftBehind[]>> {
  const head = await headOf(temporal.client, session);
  const found = new Map<number, readonly LeftBehind[]>();
  const chain = head === null ? [] : await readUnlessDamaged(readChain(store, session, head));
  if (typeof chain === 'string') return found;
  const finder = new StretchFinder(store, chain);
  for (const { segment } of chain)
    for (const [index, entry] of segment.entries.entries()) {
      const stretches = await finder.find(entry, segment.session);
      if (stretches.length > 0) found.set(segment.first + index, stretches);
    }
  return found;
}

class StretchFinder {
  readonly #store: Store;
  readonly #read: ReturnType<typeof createBodyReader>;
  /** Segments that the conversation has, or that were found. */
  readonly #known: Set<Hash>;

  constructor(store: Store, chain: readonly StoredSegment[]) {
    this.#store = store;
    this.#read = createBodyReader(store);
    this.#known = new Set(chain.map(({ hash }) => hash));
  }

  async find(entry: Entry, session: SessionId): Promise<readonly LeftBehind[]> {
    const from = headLeftBy(entry);
    if (from === undefined || this.#known.has(from)) return [];
    const isKnown = (hash: Hash): boolean => this.#known.has(hash);
    const chain = await readUnlessDamaged(readChain(this.#store, session, from, { isKnown }));
    if (typeof chain === 'string') return [{ entries: [], first: 0, bodies: new Map(), problem: chain }];
    const left = chain.filter(({ hash }) => !isKnown(hash));
    for (const { hash } of left) this.#known.add(hash);
    const entries = left.flatMap(({ segment }) => segment.entries);
    const bodies = await readUnlessDamaged(this.#read(entries));
    const first = left[0]?.segment.first ?? 0;
    const within = [];
    for (const { segment } of left)
      for (const each of segment.entries) within.push(...(await this.find(each, segment.session)));
    return [...within, { entries, first, bodies: typeof bodies === 'string' ? new Map() : bodies }];
  }
}

/** Returns the sentence about damaged data. */
async function readUnlessDamaged<T>(reading: Promise<T>): Promise<T | string> {
  try {
    return await reading;
  } catch (error) {
    if (isDamage(error)) return error.message;
    throw error;
  }
}
