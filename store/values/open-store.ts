// Opens the store of a place: a folder, or a bucket that many machines share.
import { join } from 'node:path';
import { blobCache } from './blob-cache.ts';
import { fileCare } from './file-care.ts';
import { fileStore } from './file-store.ts';
import type { Sealing, SealKeys } from './s3/record-seal.ts';
import { type Bucket, type Objects, s3Objects } from './s3/s3-objects.ts';
import { asideName, blobName, getValue, readRecord, recordName, s3Store } from './s3/s3-store.ts';
import { openStoreMemory } from './s3/sealed-since.ts';
import { storeIdOf } from './store-folder.ts';
import type { Network } from '../../system/network.ts';
import { corruptValue, hashOf, keyProblem, type Store, type StoreCare, type StoredObject } from './store.ts';
import { type Hash, isHash } from '../../workflows/contract/ids.ts';

type OpenedStore = {
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
type OpenStore = {
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

/** The folder that objects of each kind lie in. */
const FOLDERS = { record: 'keys/', value: 'blobs/', aside: 'aside/' } as const;

/**
 * Cleans a store in a bucket. A value is copied aside on a condition, then removed: a session that
 * writes it anew in between loses nothing, because readers look at both places. It needs two rights
 * more than sessions do. `sealing` tells how the store's records are sealed.
 */
export function s3Care(objects: Objects, sealing: () => Promise<Sealing | null>): StoreCare {
  return {
    list: (kind) => listFolder(objects, kind),
    value: async (hash) => {
      const bytes = await getValue(objects, hash);
      if (bytes && hashOf(bytes) !== hash) throw corruptValue(hash, objects.place(blobName(hash)), bytes.length);
      return bytes;
    },
    record: async (key) => {
      const record = await readRecord({ objects, sealing: await sealing() }, key);
      return record && { bytes: record.bytes, values: record.values };
    },
    setAside: async (hash, olderThan) => {
      if (!(await objects.copy(blobName(hash), asideName(hash), olderThan))) return false;
      await objects.remove(blobName(hash));
      return true;
    },
    putBack: async (hash) => {
      if (await objects.copy(asideName(hash), blobName(hash))) await objects.remove(asideName(hash));
    },
    remove: async ({ kind, name }, olderThan) => {
      const object = kind === 'record' ? recordName(name) : asideName(name as Hash);
      const at = await objects.writtenAt(object);
      if (at === null || at >= olderThan) return false;
      await objects.remove(object);
      return true;
    },
  };
}

async function* listFolder(objects: Objects, kind: StoredObject['kind']): AsyncIterable<StoredObject> {
  const folder = FOLDERS[kind];
  for await (const { name, bytes, at } of objects.list(folder)) {
    const short = name.slice(folder.length);
    if (kind === 'record' ? keyProblem(short) === undefined : isHash(short)) yield { kind, name: short, bytes, at };
  }
}
