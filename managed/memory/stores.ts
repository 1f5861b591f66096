// Memory stores as resources (G67): a log holds their names, and each has its memories beside it.
import type { z } from 'zod';
import type { BetaManagedAgentsMemoryStore } from '@anthropic-ai/sdk/resources/beta/memory-stores';
import { DatedResources } from '../dated-resources.ts';
import { invalid } from '../errors.ts';
import type { ManagedStore, MemoryStoreItem } from '../log/stored.ts';
import { patchMetadata } from '../shapes/parse.ts';
import type { memoryStoreCreate, memoryStoreUpdate } from '../shapes/memory-stores.ts';

export class MemoryStores {
  readonly #resources: DatedResources<MemoryStoreItem>;

  constructor({ memoryStores: log }: ManagedStore, now: () => number) {
    const archived = (id: string) =>
      invalid(`memory store ${id} is archived: it can be read and deleted alone`, undefined, 'memory_store_archived');
    this.#resources = new DatedResources({ log, kind: 'Memory store', now, archived });
  }

  /** A repeated request with the same `id` creates nothing new. Throws 404 once it was deleted. */
  async create(
    id: string,
    by: string,
    { name, description = '', metadata = {} }: z.output<typeof memoryStoreCreate>,
  ): Promise<BetaManagedAgentsMemoryStore> {
    return show(id, await this.#resources.create(id, by, { name, description, metadata }));
  }

  /** Throws ManagedError 404. */
  async retrieve(id: string): Promise<BetaManagedAgentsMemoryStore> {
    return show(id, await this.#resources.retrieve(id));
  }

  /** Throws ManagedError when it is archived: nothing in it changes any more. */
  async requireOpen(id: string): Promise<BetaManagedAgentsMemoryStore> {
    return show(id, await this.#resources.requireOpen(id));
  }

  async update(
    id: string,
    by: string,
    body: z.output<typeof memoryStoreUpdate>,
  ): Promise<BetaManagedAgentsMemoryStore> {
    const change = (item: MemoryStoreItem): MemoryStoreItem => ({
      ...item,
      name: body.name ?? item.name,
      description: body.description ?? item.description,
      metadata: patchMetadata(item.metadata, body.metadata),
    });
    return show(id, await this.#resources.update(id, by, change));
  }

  async archive(id: string, by: string): Promise<BetaManagedAgentsMemoryStore> {
    return show(id, await this.#resources.archive(id, by));
  }

  /** Its memories and their versions are gone with it. Throws ManagedError 404. */
  delete(id: string, by: string): Promise<void> {
    return this.#resources.delete(id, by);
  }

  /** Lists stores, newest first. */
  async list(includeArchived: boolean): Promise<readonly BetaManagedAgentsMemoryStore[]> {
    return (await this.#resources.list(includeArchived)).map(([id, item]) => show(id, item));
  }
}

const show = (id: string, item: MemoryStoreItem): BetaManagedAgentsMemoryStore => ({
  id,
  type: 'memory_store',
  ...item,
});
