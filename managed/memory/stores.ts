// Memory stores as resources (G67): one log has their names, each store its own log of memories.
import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import type { BetaManagedAgentsMemoryStore } from '@anthropic-ai/sdk/resources/beta/memory-stores';
import { invalid, type ManagedError, notFound } from '../errors.ts';
import { formatTime } from '../ids.ts';
import { LIST_AGE_MS, type ManagedStore, type MemoryStoreItem } from '../log/stored.ts';
import { placeOfDated } from '../pages.ts';
import { patchMetadata } from '../shapes/parse.ts';
import type { memoryStoreCreate, memoryStoreUpdate } from '../shapes/memory-stores.ts';

export class MemoryStores {
  readonly #stored: ManagedStore;
  readonly #now: () => number;

  constructor(stored: ManagedStore, now: () => number) {
    this.#stored = stored;
    this.#now = now;
  }

  /** A repeated request with the same `id` creates nothing new. Throws 404 once it was deleted. */
  async create(
    id: string,
    by: string,
    body: z.output<typeof memoryStoreCreate>,
  ): Promise<BetaManagedAgentsMemoryStore> {
    const at = formatTime(this.#now());
    const { name, description = '', metadata = {} } = body;
    const item = { name, description, metadata, created_at: at, updated_at: at, archived_at: null };
    await this.#stored.memoryStores.append(by, (all, deleted) => {
      if (deleted.has(id)) throw missing(id);
      return all.has(id) ? null : { id, item };
    });
    return this.retrieve(id);
  }

  /** Throws ManagedError 404. */
  async retrieve(id: string): Promise<BetaManagedAgentsMemoryStore> {
    const item = (await this.#stored.memoryStores.read()).get(id);
    if (!item) throw missing(id);
    return show(id, item);
  }

  /** Throws ManagedError when it is archived: nothing in it changes any more. */
  async requireOpen(id: string): Promise<BetaManagedAgentsMemoryStore> {
    const store = await this.retrieve(id);
    if (store.archived_at !== null) throw archived(id);
    return store;
  }

  update(id: string, by: string, body: z.output<typeof memoryStoreUpdate>): Promise<BetaManagedAgentsMemoryStore> {
    return this.#change(id, by, (item) => {
      if (item.archived_at !== null) throw archived(id);
      return {
        ...item,
        name: body.name ?? item.name,
        description: body.description ?? item.description,
        metadata: patchMetadata(item.metadata, body.metadata),
      };
    });
  }

  archive(id: string, by: string): Promise<BetaManagedAgentsMemoryStore> {
    return this.#change(id, by, (item) => ({ ...item, archived_at: item.archived_at ?? formatTime(this.#now()) }));
  }

  /** Its memories and their versions are gone with it. Throws ManagedError 404. */
  async delete(id: string, by: string): Promise<void> {
    await this.#stored.memoryStores.append(by, (all) => {
      if (!all.has(id)) throw missing(id);
      return { id, item: null };
    });
  }

  /** Lists stores, newest first. */
  async list(includeArchived: boolean): Promise<readonly BetaManagedAgentsMemoryStore[]> {
    return [...(await this.#stored.memoryStores.read(LIST_AGE_MS))]
      .map(([id, item]) => show(id, item))
      .filter(({ archived_at }) => includeArchived || archived_at === null)
      .toSorted((a, b) => (placeOfDated(a) < placeOfDated(b) ? 1 : -1));
  }

  async #change(id: string, by: string, change: (item: MemoryStoreItem) => MemoryStoreItem) {
    await this.#stored.memoryStores.append(by, (all) => {
      const item = all.get(id);
      if (!item) throw missing(id);
      const next = change(item);
      return isDeepStrictEqual(next, item) ? null : { id, item: { ...next, updated_at: formatTime(this.#now()) } };
    });
    return this.retrieve(id);
  }
}

const show = (id: string, item: MemoryStoreItem): BetaManagedAgentsMemoryStore => ({
  id,
  type: 'memory_store',
  ...item,
});

const missing = (id: string): ManagedError => notFound('Memory store', id, 'memory_store_not_found');
const archived = (id: string): ManagedError =>
  invalid(`memory store ${id} is archived: it can be read and deleted alone`, undefined, 'memory_store_archived');
