// A store folder names its version in a file that is written once. A folder of another version is
// refused before anything is read or written.
import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { z } from 'zod';
import { type Files, nodeFiles } from './file-io.ts';
import { createFileWrites, createFolders } from './file-writes.ts';
import { isErrno, toStoreError, StoreError } from './store.ts';

export type StoreIdentity = { readonly version: 1; readonly id: string };

const shape = z.object({ version: z.number(), id: z.string().min(1) });

/** The stores that this process has opened, by their folders. */
const opened = new Map<string, { readonly id: string; readonly stamp: string | null }>();

/**
 * Returns the store's id, as `storeIdentity` does. A `store.json` that is still the same file, with
 * no change since it was read, is not read again.
 */
export async function storeIdOf(dir: string): Promise<string> {
  const known = opened.get(dir);
  if (known !== undefined && known.stamp !== null && known.stamp === stampOf(dir)) return known.id;
  return (await storeIdentity(dir)).id;
}

/** Tells one state of `store.json` from each other one; null when it cannot be looked at. */
function stampOf(dir: string): string | null {
  try {
    const { dev, ino, ctimeNs } = statSync(`${dir}/store.json`, { bigint: true });
    return `${dev} ${ino} ${ctimeNs}`;
  } catch (error) {
    // Reading it says why.
    if (isErrno(error)) return null;
    throw error;
  }
}

/**
 * Reads `<dir>/store.json`, or creates folder and file. Throws StoreError for a folder that this
 * version cannot use, and for a store that has gone since this process opened it: a new one in its
 * place would hide that.
 */
export async function storeIdentity(dir: string, files: Files = nodeFiles): Promise<StoreIdentity> {
  const path = `${dir}/store.json`;
  try {
    const known = files === nodeFiles ? opened.get(dir)?.id : undefined;
    if (known !== undefined && !files.exists(path)) throw storeGoneError(dir);
    files.makeFolder(`${dir}/tmp`);
    if (!files.exists(path)) await create(files, dir, path);
    // Taken before it is read: a change in between shows at the next look.
    const stamp = stampOf(dir);
    const found = parseStoreIdentity(dir, path, await files.read(path));
    if (known !== undefined && known !== found.id) throw storeGoneError(dir);
    if (files === nodeFiles) opened.set(dir, { id: found.id, stamp });
    return found;
  } catch (error) {
    throw toStoreError('open the store', dir, error);
  }
}

/**
 * Throws StoreError where the store that this process opened in a folder is not there now: that a
 * file is missing says nothing then.
 */
export function requireStore(dir: string, files: Files): void {
  const known = files === nodeFiles ? opened.get(dir) : undefined;
  if (known === undefined || (known.stamp !== null && known.stamp === stampOf(dir))) return;
  const path = `${dir}/store.json`;
  try {
    if (!files.exists(path) || parseStoreIdentity(dir, path, files.readNow(path)).id !== known.id)
      throw storeGoneError(dir);
  } catch (error) {
    throw toStoreError('open the store', dir, error);
  }
}

function storeGoneError(dir: string): StoreError {
  const sentence = `the store in ${dir} has gone since it was opened: its folder was moved, removed or replaced`;
  return new StoreError('unavailable', `${sentence}. Put it back, or start this process again for another store`);
}

async function create(files: Files, dir: string, path: string): Promise<void> {
  const identity: StoreIdentity = { version: 1, id: randomUUID() };
  const writes = createFileWrites(files, createFolders(files, dir), `${dir}/tmp`);
  await writes.write([path], Buffer.from(`${JSON.stringify(identity)}\n`), (temp) => writes.link(temp, path));
  await flushParent(files, dir);
}

/**
 * Makes the folder's own name durable. We may not be allowed to open its parent; then its owner
 * answers for it.
 */
async function flushParent(files: Files, dir: string): Promise<void> {
  try {
    await files.flushFolder(`${dir}/..`);
  } catch (error) {
    if (!isErrno(error) || error.code !== 'EACCES') throw error;
  }
}

/**
 * `place` names the store in messages, and `path` is where `bytes` come from. Throws StoreError for
 * a store that this version cannot use.
 */
export function parseStoreIdentity(place: string, path: string, bytes: Uint8Array): StoreIdentity {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    value = undefined;
  }
  const found = shape.safeParse(value);
  if (!found.success) {
    throw new StoreError('corrupt', `${path} cannot be read: restore it from a backup, or use another place`);
  }
  const { version, id } = found.data;
  if (version !== 1) {
    const sentence = `the store in ${place} has version ${version}, this Perdure reads version 1`;
    throw new StoreError('unavailable', `${sentence}: use the Perdure that made it, or another place`);
  }
  return { version: 1, id };
}
