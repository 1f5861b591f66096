// The memories that a store cleaning keeps (G67): all of existing stores, except the texts of
// redacted or forgotten versions.
import type { Store } from '../values/store.ts';
import { ResourceLog } from '../values/resource-log.ts';
import { Memories, MEMORY_STORES, MEMORY_TEXTS, memoryLogName } from './memories.ts';

/**
 * Returns a function that tells whether a record is kept; undefined for records of other kinds.
 * Throws StoreError.
 */
export async function findKeptMemories(store: Store, now: () => number): Promise<(key: string) => boolean | undefined> {
  const stores = await new ResourceLog<object>({ store, name: MEMORY_STORES, now }).read();
  const needed = new Set<string>();
  for (const id of stores.keys()) {
    needed.add(memoryLogName(id)).add(`${memoryLogName(id)}-checkpoints`);
    for (const { text } of (await new Memories({ store, id, now }).versions()).values())
      if (text) needed.add(`${id}/${text.in}`);
  }
  return (key) => {
    const [kind, segment = '', name] = key.split('/');
    if (kind === MEMORY_TEXTS) return needed.has(`${segment}/${name}`);
    return kind === 'managed' && segment.startsWith(memoryLogName('')) ? needed.has(segment) : undefined;
  };
}
