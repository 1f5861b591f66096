// A store in memory. It keeps the port's promises for as long as the process lives.
import type { Hash } from '../../workflows/contract/ids.ts';
import {
  hashOf,
  keyProblem,
  missingValue,
  type CreateOutcome,
  type StepWrite,
  type Store,
} from '../../store/values/store.ts';

export function memoryStore(): Store {
  const blobs = new Map<Hash, Uint8Array>();
  const records = new Map<string, Uint8Array>();

  const put = (bytes: Uint8Array): Hash => {
    const hash = hashOf(bytes);
    if (!blobs.has(hash)) blobs.set(hash, bytes.slice());
    return hash;
  };
  const create = (key: string, bytes: Uint8Array): CreateOutcome => {
    const problem = keyProblem(key);
    if (problem !== undefined) throw new RangeError(problem);
    const existing = records.get(key);
    if (existing) return { kind: 'existing', bytes: existing.slice() };
    records.set(key, bytes.slice());
    return { kind: 'created' };
  };

  return {
    put: async (bytes) => put(bytes),
    get: async (hash) => {
      const bytes = blobs.get(hash);
      if (!bytes) throw missingValue(hash, 'in memory');
      return bytes.slice();
    },
    has: async (hash) => blobs.has(hash),
    create: async (key, bytes) => create(key, bytes),
    read: async (key) => records.get(key)?.slice() ?? null,
    writeStep: async (step: StepWrite) => {
      for (const bytes of step.blobs) put(bytes);
      return create(step.key, step.bytes);
    },
  };
}
