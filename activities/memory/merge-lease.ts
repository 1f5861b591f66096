// Lets one merge at a time run in a folder, across processes: a file says when one began. After a
// failure, or a kill, it stays until its time is over.
import { randomUUID } from 'node:crypto';
import { link, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MERGE } from './pending-merge.ts';
import { renameIfFree, rethrowUnless } from './merge-notes.ts';

const LEASE = '.merging';
const LEASE_MS = 3_600_000;

export async function takeLease(folder: string, now: number): Promise<boolean> {
  const path = join(folder, LEASE);
  const draft = `${path}.${randomUUID()}`;
  const old = `${path}.${randomUUID()}`;
  try {
    await writeFile(draft, String(now), { flag: 'wx', mode: 0o600 });
    const began = await readLease(path);
    if (began !== null) {
      if (Math.abs(now - Number(began)) < LEASE_MS || !(await renameIfFree(path, old))) return false;
      // Another worker was quicker, and its lease was taken.
      if ((await readLease(old)) !== began) return (await linkIfFree(old, path), false);
    }
    if (!(await linkIfFree(draft, path))) return false;
  } finally {
    for (const each of [draft, old]) await rm(each, { force: true });
  }
  await removeDrafts(folder);
  return true;
}

export async function endLease(folder: string): Promise<void> {
  await rm(join(folder, LEASE), { force: true });
}

async function readLease(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch((error: unknown) => (rethrowUnless('ENOENT')(error), null));
}

async function linkIfFree(from: string, to: string): Promise<boolean> {
  return link(from, to).then(
    () => true,
    (error: unknown) => (rethrowUnless('EEXIST', 'ENOENT')(error), false),
  );
}

/** Removes the drafts of attempts that died. */
async function removeDrafts(folder: string): Promise<void> {
  const names = await readdir(folder);
  const left = names.filter((name) => name.startsWith(`${MERGE}.`) || name.startsWith(`${LEASE}.`));
  for (const name of left) await rm(join(folder, name), { recursive: true, force: true });
}
