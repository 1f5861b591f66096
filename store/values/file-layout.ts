// Where things lie in a store folder: store.json · blobs/<1 hex>/<hash> · keys/<key> · aside/<hash>
// · tmp/
import { resolve } from 'node:path';
import { type Hash, isHash } from '../../workflows/contract/ids.ts';
import { keyProblem } from './store.ts';

export type FileLayout = {
  readonly dir: string;
  readonly temp: string;
  /**
   * Throws RangeError for a text that is not a hash or key: it may come from outside, and must not
   * name a path elsewhere.
   */
  blob(hash: Hash): string;
  /** The folder of values that a cleaning has set aside; readers look there too. */
  readonly aside: string;
  asideBlob(hash: Hash): string;
  record(key: string): string;
};

export function fileLayout(folder: string): FileLayout {
  const dir = resolve(folder);
  const asideDir = `${dir}/aside`;
  return {
    dir,
    temp: `${dir}/tmp`,
    aside: asideDir,
    blob: (hash) => `${dir}/blobs/${requireHash(hash).slice(0, 1)}/${hash}`,
    asideBlob: (hash) => `${asideDir}/${requireHash(hash)}`,
    record: (key) => {
      const problem = keyProblem(key);
      if (problem !== undefined) throw new RangeError(problem);
      return `${dir}/keys/${key}`;
    },
  };
}

function requireHash(hash: Hash): Hash {
  if (!isHash(hash)) throw new RangeError(`"${String(hash).slice(0, 80)}" is not a hash of a stored value`);
  return hash;
}
