// Wraps a store so that each operation is observed: how long it took, and whether it failed.
import type { Observe } from '../../store/live/observe.ts';
import type { Store } from '../../store/values/store.ts';

export function watchStore(store: Store, observe: Observe): Store {
  const timeOperation = async <Value>(operation: keyof Store, run: () => Promise<Value>): Promise<Value> => {
    const at = Date.now();
    const began = performance.now();
    const report = (failed: boolean): void => {
      observe({ kind: 'store', operation, at, ms: performance.now() - began, failed });
    };
    try {
      const value = await run();
      report(false);
      return value;
    } catch (error) {
      report(true);
      throw error;
    }
  };
  return {
    put: (bytes) => timeOperation('put', () => store.put(bytes)),
    get: (hash) => timeOperation('get', () => store.get(hash)),
    has: (hash) => timeOperation('has', () => store.has(hash)),
    create: (key, bytes) => timeOperation('create', () => store.create(key, bytes)),
    read: (key) => timeOperation('read', () => store.read(key)),
    writeStep: (step) => timeOperation('writeStep', () => store.writeStep(step)),
  };
}
