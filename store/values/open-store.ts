// Opens the store of a place: a folder, or a bucket that many machines share.
import { join } from 'node:path';
import { blobCache } from './blob-cache.ts';
import { fileCare } from './file-care.ts';
import { fileStore } from './file-store.ts';
import type { SealKeys, Sealing } from './s3/record-seal.ts';
import { s3Care } from './s3/s3-care.ts';
import { s3Objects, type Bucket } from './s3/s3-objects.ts';
import { s3Store } from './s3/s3-store.ts';
import { openStoreMemory } from './s3/sealed-since.ts';
import { storeIdOf } from './store-folder.ts';
import type { Network } from '../../system/network.ts';
import type { StoreCare } from './store-care.ts';
import type { Store } from './store.ts';

export type OpenedStore = {
  readonly store: Store;
  /** The store for records of this machine alone, such as those of its processes. */
  readonly ofHost: Store;
  readonly care: StoreCare;
  /**
   * Resolves to an id that tells stores apart. Throws StoreError when the store cannot be reached
   * or used.
   */
  id(): Promise<string>;
  /** Resolves to how records are sealed, or null where they are not. Throws StoreError. */
  sealing(): Promise<Sealing | null>;
};

const SCHEME = 's3://';

/** `dataDir` is this machine's data folder, where values of a bucket are cached. */
export type OpenStore = {
  /** An absolute path, or `s3://bucket/prefix` as `storePlaceProblem` accepts it. */
  readonly storePlace: string;
  readonly dataDir: string;
  /** The keys that seal records of a bucket. A folder is its owner's alone and is not sealed. */
  readonly storeKeys?: SealKeys | undefined;
  /** How a bucket is reached; absent: as the SDK reaches it by itself. */
  readonly network?: (() => Network) | undefined;
};

/** Opens the store without reaching out yet. */
export function openStore({ storePlace: place, dataDir, storeKeys: keys, network }: OpenStore): OpenedStore {
  if (!place.startsWith(SCHEME)) {
    const store = fileStore({ dir: place });
    const id = () => storeIdOf(place);
    return { store, ofHost: store, care: fileCare(place), id, sealing: () => Promise.resolve(null) };
  }
  const objects = s3Objects({ ...bucketOf(place), network });
  const store = s3Store(objects, blobCache(join(dataDir, 'store-cache')), { keys, memory: openStoreMemory(dataDir) });
  const ofHost = fileStore({ dir: join(dataDir, 'host-store') });
  const { identity, sealing } = store;
  return { store, ofHost, care: s3Care(objects, sealing), id: async () => (await identity()).id, sealing };
}

const NAME = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const PREFIX = /^(?:[A-Za-z0-9._-]+(?:\/[A-Za-z0-9._-]+)*)?$/;

/** Returns why `PERDURE_STORE` cannot be `place`, or undefined. */
export function storePlaceProblem(place: string): string | undefined {
  const { bucket, prefix } = bucketOf(place);
  if (place.startsWith(SCHEME) && NAME.test(bucket) && PREFIX.test(prefix)) return undefined;
  return `PERDURE_STORE is "${place.slice(0, 200)}": give s3://bucket/prefix, of letters, digits, ".", "_", "-" and "/", or unset it to keep the store in the data folder`;
}

function bucketOf(place: string): Bucket {
  const [bucket = '', ...rest] = place.slice(SCHEME.length).split('/');
  return { bucket, prefix: rest.join('/').replace(/\/$/, '') };
}
