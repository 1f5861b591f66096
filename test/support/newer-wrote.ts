// A store as a worker sees it that is older than the Perdure which wrote it.
import type { Store } from '../../store/values/store.ts';

/** Segments and configurations have the next version; what has none is as it was. */
export function newerWrote(store: Store): Store {
  return {
    ...store,
    get: async (hash) => {
      const text = Buffer.from(await store.get(hash)).toString();
      return Buffer.from(text.replace(/^\{"v":1,/, '{"v":2,'));
    },
  };
}
