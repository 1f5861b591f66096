// Finds since when every record of a shared store has a seal. A store that began with keys says so
// in its id. For an older one it is a day after the first opening with keys, so that workers of an
// earlier release can finish alongside newer ones. Each machine remembers what it has seen, because
// a stranger who can write in the bucket can remove what is said there.
import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { Objects } from './s3-objects.ts';
import { type SealKeys, type Sealing, computeSeal, sealProblem, unknownKey } from './record-seal.ts';
import type { StoreIdentity } from '../store-folder.ts';
import { isErrno, parseStored, StoreError } from '../store.ts';

/** The memory of a machine about its shared stores: one file each, in the data folder. */
export type StoreMemory = {
  /** Returns null when the machine has not seen the store at `place`. */
  known(place: string): KnownStore | null;
  learn(place: string, known: KnownStore): void;
  /** Returns the path of the file, for messages. */
  file(place: string): string;
};

type KnownStore = { readonly id: string; readonly until: number };

const shape = z.object({ id: z.string(), until: z.number() });
const SEALED = 'sealed-';
const DAY_MS = 24 * 3_600_000;

export function createStoreId(keys: SealKeys | undefined): string {
  return keys ? `${SEALED}${randomUUID()}` : randomUUID();
}

export const isSealedFromStart = ({ id }: StoreIdentity): boolean => id.startsWith(SEALED);

export function openStoreMemory(dataDir: string): StoreMemory {
  const file = (place: string): string =>
    join(dataDir, 'sealed-stores', `${createHash('sha256').update(place).digest('hex').slice(0, 32)}.json`);
  return {
    file,
    known: (place) => {
      const bytes = readIfThere(file(place));
      if (!bytes) return null;
      const found = shape.safeParse(parseStored(bytes));
      if (found.success) return found.data;
      throw new StoreError(
        'unavailable',
        `${file(place)}, which says since when ${place} is sealed, is damaged: remove it`,
      );
    },
    learn: (place, known) => {
      const path = file(place);
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      const temp = `${path}.${randomUUID()}`;
      writeFileSync(temp, `${JSON.stringify({ place, ...known })}\n`, { mode: 0o600, flush: true });
      renameSync(temp, path);
    },
  };
}

function readIfThere(path: string): Uint8Array | null {
  try {
    return readFileSync(path);
  } catch (error) {
    if (isErrno(error) && error.code === 'ENOENT') return null;
    throw error;
  }
}

type Opening = {
  readonly objects: Objects;
  readonly keys: SealKeys;
  readonly memory: StoreMemory;
  readonly now: () => number;
};

/**
 * Throws StoreError where the store is another than this machine knew, or makes a claim that is not
 * sealed with a key.
 */
export async function findSealing(opening: Opening, identity: StoreIdentity): Promise<Sealing> {
  const { objects, keys, memory } = opening;
  const { id } = identity;
  const place = objects.place('');
  const known = memory.known(place);
  if (known && known.id !== id)
    throw new StoreError(
      'unavailable',
      `the store in ${place} was ${known.id} and is now ${id}: if you have replaced it, remove ${memory.file(place)}`,
    );
  if (known) return { keys, store: id, until: known.until };
  const until = isSealedFromStart(identity) ? 0 : await findSealedSince(opening, id);
  memory.learn(place, { id, until });
  return { keys, store: id, until };
}

const MARK = 'sealed.json';
const markShape = z.object({ until: z.number(), seal: z.string() });

async function findSealedSince({ objects, keys, now }: Opening, id: string): Promise<number> {
  const heldBy = (until: number): string[] => ['perdure-store', id, String(until)];
  const there = await objects.get(MARK);
  const own = now() + DAY_MS;
  const mark = { v: 1, until: own, seal: computeSeal(keys.active(), heldBy(own)) };
  if (!there && (await objects.putNew(MARK, Buffer.from(`${JSON.stringify(mark)}\n`)))) return own;
  const found = markShape.safeParse(parseStored(there ?? (await objects.get(MARK)) ?? new Uint8Array()));
  const problem = found.success ? sealProblem(keys, found.data.seal, heldBy(found.data.until)) : null;
  const place = objects.place(MARK);
  if (problem?.kind === 'unknown') throw unknownKey(place, problem.id, keys);
  if (!found.success || problem)
    throw new StoreError('unavailable', `${place} was not written with a key of ${keys.path}: remove it`);
  return found.data.until;
}
