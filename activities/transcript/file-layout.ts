// Where things lie in a store folder: store.json · blobs/<1 hex>/<hash> · keys/<key> · tmp/
import { resolve } from 'node:path';
import { type Hash, isHash } from '../../workflows/contract/ids.ts';
import { keyProblem } from './keys.ts';

export type FileLayout = {
  readonly dir: string;
  readonly temp: string;
  /** Throws RangeError for what is no hash or key: it may come from outside, and must not name a path elsewhere. */
  blob(hash: Hash): string;
  record(key: string): string;
};

export function fileLayout(folder: string): FileLayout {
  const dir = resolve(folder);
  return {
    dir,
    temp: `${dir}/tmp`,
    blob: (hash) => {
      if (!isHash(hash)) throw new RangeError(`"${String(hash).slice(0, 80)}" is not a hash of a stored value`);
      return `${dir}/blobs/${hash.slice(0, 1)}/${hash}`;
    },
    record: (key) => {
      const problem = keyProblem(key);
      if (problem !== undefined) throw new RangeError(problem);
      return `${dir}/keys/${key}`;
    },
  };
}
