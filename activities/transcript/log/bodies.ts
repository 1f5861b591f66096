// The texts of messages that were too long to travel through the workflow: read from the store once, kept while there is room.
import type { Hash } from '../../../workflows/contract/ids.ts';
import type { Entry } from './entries.ts';
import type { Store } from '../store/store.ts';

export type BodyReader = (entries: readonly Entry[]) => Promise<ReadonlyMap<Hash, string>>;

/** `maxCharacters` kept from call to call; what one call needs is read whatever its size. Throws StoreError. */
export function bodyReader(store: Store, { maxCharacters = 16 * 1024 * 1024 } = {}): BodyReader {
  const kept = new Map<Hash, string>();
  let size = 0;

  const read = async (hash: Hash): Promise<[Hash, string]> => {
    const known = kept.get(hash);
    if (known !== undefined) return [hash, known];
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(await store.get(hash));
    if (!kept.has(hash)) size += text.length;
    kept.set(hash, text);
    return [hash, text];
  };
  const trim = (): void => {
    for (const [hash, text] of kept) {
      if (size <= maxCharacters) return;
      kept.delete(hash);
      size -= text.length;
    }
  };

  return async (entries) => {
    const bodies = new Map(await Promise.all([...storedBodies(entries)].map(read)));
    trim();
    return bodies;
  };
}

function storedBodies(entries: readonly Entry[]): Set<Hash> {
  const bodies = entries.flatMap((entry) =>
    entry.kind === 'user' && entry.body.kind === 'stored' ? [entry.body] : [],
  );
  return new Set(bodies.map((body) => body.hash));
}
