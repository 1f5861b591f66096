// Cleans a store in a bucket. A value is copied aside on a condition, then removed: a session that
// writes it anew in between loses nothing, because readers look at both places. It needs two rights
// more than sessions do.
import { isHash, type Hash } from '../../../workflows/contract/ids.ts';
import type { Sealing } from './record-seal.ts';
import type { Objects } from './s3-objects.ts';
import { asideName, blobName, getValue, readRecord, recordName } from './s3-store.ts';
import type { StoreCare, StoredObject } from '../store-care.ts';
import { corruptValue, hashOf, keyProblem } from '../store.ts';

/** The folder that objects of each kind lie in. */
const FOLDERS = { record: 'keys/', value: 'blobs/', aside: 'aside/' } as const;

/** `sealing` tells how the store's records are sealed. */
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
