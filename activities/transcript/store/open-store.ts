// Opens the store of a place: a folder, or a bucket that many machines share.
import { join } from 'node:path';
import { blobCache } from './blob-cache.ts';
import { fileCare } from './file-care.ts';
import { fileStore } from './file-store.ts';
import { s3Care } from './s3-care.ts';
import { s3Objects, type Bucket } from './s3-objects.ts';
import { s3Store } from './s3-store.ts';
import { storeIdentity } from './store-folder.ts';
import type { StoreCare } from './store-care.ts';
import type { Store } from './store.ts';

export type OpenedStore = {
  readonly store: Store;
  /** For what concerns this machine alone, such as processes on it: never elsewhere. */
  readonly ofHost: Store;
  readonly care: StoreCare;
  /** Tells stores apart. Throws StoreError when it cannot be reached or used. */
  id(): Promise<string>;
};

const SCHEME = 's3://';

/**
 * `place`: an absolute path, or `s3://bucket/prefix` as `placeProblem` accepts it. `dataDir`: of this machine; what is read from a bucket
 * is kept there. Reaches nothing yet.
 */
export function openStore(place: string, dataDir: string): OpenedStore {
  if (!place.startsWith(SCHEME)) {
    const store = fileStore({ dir: place });
    return { store, ofHost: store, care: fileCare(place), id: async () => (await storeIdentity(place)).id };
  }
  const objects = s3Objects(bucketOf(place));
  const store = s3Store(objects, blobCache(join(dataDir, 'store-cache')));
  const ofHost = fileStore({ dir: join(dataDir, 'host-store') });
  return { store, ofHost, care: s3Care(objects), id: async () => (await store.identity()).id };
}

const NAME = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const PREFIX = /^(?:[A-Za-z0-9._-]+(?:\/[A-Za-z0-9._-]+)*)?$/;

/** Why `PERDURE_STORE` cannot be `place`, or undefined. */
export function storePlaceProblem(place: string): string | undefined {
  const { bucket, prefix } = bucketOf(place);
  if (place.startsWith(SCHEME) && NAME.test(bucket) && PREFIX.test(prefix)) return undefined;
  return `PERDURE_STORE is "${place.slice(0, 200)}": give s3://bucket/prefix, of letters, digits, ".", "_", "-" and "/", or unset it to keep the store in the data folder`;
}

function bucketOf(place: string): Bucket {
  const [bucket = '', ...rest] = place.slice(SCHEME.length).split('/');
  return { bucket, prefix: rest.join('/').replace(/\/$/, '') };
}
