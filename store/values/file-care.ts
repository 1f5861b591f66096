// Cleans a store folder. A value is set aside by one rename: it is always under one of its two
// names, whenever the process dies.
import type { Stats } from 'node:fs';
import { mkdir, opendir, readFile, rename, stat, unlink, utimes } from 'node:fs/promises';
import { isHash, type Hash } from '../../workflows/contract/ids.ts';
import { decodeRecord } from './key-record.ts';
import { createFileReads, type FileLayout, fileLayout } from './file-reads.ts';
import { nodeFiles } from './file-io.ts';
import {
  corruptRecord,
  isErrno,
  keyProblem,
  type StoreCare,
  type StoredObject,
  StoreError,
  toStoreError,
} from './store.ts';

export function fileCare(dir: string): StoreCare {
  const layout = fileLayout(dir);
  const reads = createFileReads(nodeFiles, layout);
  const ages = createAges();
  return {
    list: (kind) => listFolder(layout, ages, kind),
    value: (hash) => reads.blob(hash).catch(nullIfMissing),
    record: async (key) => {
      const path = layout.record(key);
      const file = await unlessGone(path, () => readFile(path));
      if (!file) return null;
      const record = decodeRecord(key, file);
      if ('problem' in record) throw corruptRecord(key, path, record.problem);
      return { bytes: record.bytes, values: record.blobs };
    },
    setAside: async (hash, olderThan) => {
      const path = layout.blob(hash);
      return unlessRemoved(path, async () => {
        if (!(ages.at(await stat(path)) < olderThan)) return false;
        await mkdir(layout.aside, { recursive: true, mode: 0o700 });
        // It is renewed before it has its new name: a process that dies in between has only made it
        // younger.
        await ages.renew(path);
        await rename(path, layout.asideBlob(hash));
        return true;
      });
    },
    putBack: async (hash) => {
      const path = layout.asideBlob(hash);
      await unlessRemoved(path, async () => {
        // A value that was written anew meanwhile is in its place already.
        if (!(await reads.whole(hash))) await rename(path, layout.blob(hash));
        else await unlink(path);
        return true;
      });
    },
    remove: async ({ kind, name }, olderThan) => {
      const path = kind === 'record' ? layout.record(name) : layout.asideBlob(name as Hash);
      return unlessRemoved(path, async () => {
        if (!(ages.at(await stat(path)) < olderThan)) return false;
        await unlink(path);
        return true;
      });
    },
  };
}

async function* listFolder(layout: FileLayout, ages: Ages, kind: StoredObject['kind']): AsyncIterable<StoredObject> {
  const folder = { record: `${layout.dir}/keys`, value: `${layout.dir}/blobs`, aside: layout.aside }[kind];
  for await (const { path, name: under } of filesIn(folder, '')) {
    const name = kind === 'record' ? under : under.slice(under.lastIndexOf('/') + 1);
    if (kind === 'record' ? keyProblem(name) === undefined : isHash(name)) yield* objectAt(ages, kind, name, path);
  }
}

/** Yields files as they are asked for, a few names at a time. */
async function* filesIn(
  folder: string,
  prefix: string,
): AsyncIterable<{ readonly path: string; readonly name: string }> {
  const opened = await unlessGone(folder, () => opendir(folder));
  if (!opened) return;
  for await (const entry of opened) {
    const [path, name] = [`${folder}/${entry.name}`, `${prefix}${entry.name}`];
    if (entry.isDirectory()) yield* filesIn(path, `${name}/`);
    else if (entry.isFile()) yield { path, name };
  }
}

async function* objectAt(
  ages: Ages,
  kind: StoredObject['kind'],
  name: string,
  path: string,
): AsyncIterable<StoredObject> {
  const found = await unlessGone(path, () => stat(path));
  if (!found) return;
  const { size: bytes, ino, nlink } = found;
  yield { kind, name, bytes, at: ages.at(found), ...(nlink > 1 && { shared: { file: String(ino), names: nlink } }) };
}

type Ages = {
  /** Returns milliseconds since the epoch. */
  at(file: Stats): number;
  /** Makes a file as old as a new one, for other processes. */
  renew(path: string): Promise<void>;
};

/**
 * All names of one file share one age: when one is set aside, the others keep their old age for
 * this cleaning.
 */
function createAges(): Ages {
  const before = new Map<number, { readonly at: number; readonly since: number }>();
  const at = ({ ino, mtimeMs }: Stats): number => {
    const renewed = before.get(ino);
    return renewed?.since === mtimeMs ? renewed.at : mtimeMs;
  };
  return {
    at,
    renew: async (path) => {
      const [file, now] = [await stat(path), new Date()];
      if (file.nlink > 1) before.set(file.ino, { at: at(file), since: now.getTime() });
      await utimes(path, now, now);
    },
  };
}

/** Resolves to false when the file has gone meanwhile. */
async function unlessRemoved(path: string, work: () => Promise<boolean>): Promise<boolean> {
  return (await unlessGone(path, work)) ?? false;
}

async function unlessGone<T>(path: string, work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (isErrno(error) && error.code === 'ENOENT') return null;
    throw toStoreError('clean the store', path, error);
  }
}

function nullIfMissing(error: unknown): null {
  if (error instanceof StoreError && error.problem === 'missing') return null;
  throw error;
}
