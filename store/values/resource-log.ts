// The log of one kind of resource on the store's port (G2): record `n` is created once, and
// creating it is the lock. The state is folded in memory; every 256 records it is stored as a
// checkpoint, from which a new process begins. It needs no database and no worker.
import { z } from 'zod';
import type { Hash } from '../../workflows/contract/ids.ts';
import { parseStored, type Store, StoreError } from './store.ts';

const CHECKPOINT = 256;
/** Records read at once by a process that has none yet. */
const AHEAD = 16;

const recordShape = z.looseObject({
  v: z.literal(1),
  at: z.number(),
  by: z.string(),
  id: z.string(),
  item: z.unknown(),
});
const checkpointShape = z.object({ v: z.literal(1), hash: z.string() });
const stateShape = z.object({
  v: z.literal(1),
  items: z.array(z.tuple([z.string(), z.unknown()])),
  deleted: z.array(z.string()).default([]),
});

/** Resources by id, in the order in which they were created. */
export type Resources<Item> = ReadonlyMap<string, Item>;

/** A resource's new value; null deletes it, and its id is never free again. */
export type Change<Item> = { readonly id: string; readonly item: Item | null };

type LogOptions<Item> = {
  readonly store: Store;
  /** A segment of the store's keys. */
  readonly name: string;
  readonly now: () => number;
  /**
   * Returns the ids of resources to forget after a record, by the resources alone: every reader
   * forgets the same.
   */
  readonly forget?: (items: Resources<Item>) => readonly string[];
};

export class ResourceLog<Item> {
  readonly #options: LogOptions<Item>;
  readonly #items = new Map<string, Item>();
  readonly #deleted = new Set<string>();
  #count = 0;
  #isOpen = false;
  #readAt = -Infinity;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: LogOptions<Item>) {
    this.#options = options;
  }

  /** Returns the state, read again when it is older than `maxAgeMs`. Throws StoreError. */
  read(maxAgeMs = 0): Promise<Resources<Item>> {
    return this.#inTurn(async () => {
      if (this.#options.now() - this.#readAt >= maxAgeMs) await this.#refresh();
      return this.#items;
    });
  }

  /**
   * Appends what `decide` makes of the newest state; null appends nothing. When another writer was
   * first, it decides anew. `deleted` has the ids of resources that were deleted, so that a late
   * repeat of their creation can be refused. Passes on what `decide` throws.
   */
  append(
    by: string,
    decide: (items: Resources<Item>, deleted: ReadonlySet<string>) => Change<Item> | null,
  ): Promise<void> {
    return this.#inTurn(async () => {
      const { store, now } = this.#options;
      for (;;) {
        await this.#refresh();
        const change = decide(this.#items, this.#deleted);
        if (change === null) return;
        const bytes = Buffer.from(JSON.stringify({ v: 1, at: now(), by, ...change }));
        const outcome = await store.create(this.#key(this.#count + 1), bytes);
        await this.#fold(outcome.kind === 'created' ? bytes : outcome.bytes);
        if (outcome.kind === 'created') return;
      }
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work, work);
    this.#last = turn;
    return turn;
  }

  #key(n: number): string {
    return `managed/${this.#options.name}/${n}`;
  }

  #checkpointKey(n: number): string {
    return `managed/${this.#options.name}-checkpoints/${n}`;
  }

  async #refresh(): Promise<void> {
    const { store, now } = this.#options;
    const startedAt = now();
    if (!this.#isOpen) await this.#open();
    for (let ahead = 1; ; ahead = AHEAD) {
      const numbers = Array.from({ length: ahead }, (_, at) => this.#count + 1 + at);
      const records = await Promise.all(numbers.map((n) => store.read(this.#key(n))));
      const end = records.findIndex((bytes) => bytes === null);
      for (const bytes of end < 0 ? records : records.slice(0, end)) await this.#fold(bytes!);
      if (end >= 0) break;
    }
    this.#readAt = startedAt;
  }

  async #open(): Promise<void> {
    const { store } = this.#options;
    const newest = await findNewest(async (n) => (await store.read(this.#checkpointKey(n))) !== null);
    if (newest > 0) {
      const record = parse(checkpointShape, await store.read(this.#checkpointKey(newest)), this.#checkpointKey(newest));
      const state = parse(stateShape, await store.get(record.hash as Hash), `checkpoint ${record.hash}`);
      for (const [id, item] of state.items) this.#items.set(id, item as Item);
      for (const id of state.deleted) this.#deleted.add(id);
      this.#count = newest * CHECKPOINT;
    }
    this.#isOpen = true;
  }

  async #fold(bytes: Uint8Array): Promise<void> {
    const { id, item } = parse(recordShape, bytes, this.#key(this.#count + 1));
    if (item === null) {
      this.#items.delete(id);
      this.#deleted.add(id);
    } else this.#items.set(id, item as Item);
    for (const old of this.#options.forget?.(this.#items) ?? []) this.#items.delete(old);
    this.#count += 1;
    if (this.#count % CHECKPOINT === 0) await this.#writeCheckpoint();
  }

  /** All who pass it store the same bytes, so that it does not matter who is first. */
  async #writeCheckpoint(): Promise<void> {
    const { store } = this.#options;
    const state = { v: 1, items: [...this.#items], deleted: [...this.#deleted] };
    const hash = await store.put(Buffer.from(JSON.stringify(state)));
    const record = Buffer.from(JSON.stringify({ v: 1, hash }));
    await store.create(this.#checkpointKey(this.#count / CHECKPOINT), record);
  }
}

function parse<T>(shape: z.ZodType<T>, bytes: Uint8Array | null, what: string): T {
  const { success, data } = shape.safeParse(bytes && parseStored(bytes));
  if (success) return data;
  throw new StoreError('corrupt', `the record "${what}" is damaged: restore it from a backup of the store`);
}

/** Returns the greatest `n` that exists, where all numbers from 1 to it do; 0 for none. */
export async function findNewest(exists: (n: number) => Promise<boolean>): Promise<number> {
  let high = 1;
  while (await exists(high)) high *= 2;
  let low = Math.floor(high / 2);
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (await exists(middle)) low = middle;
    else high = middle;
  }
  return low;
}
