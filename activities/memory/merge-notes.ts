// Puts new notes in the place of others, which are kept aside (L80). A kill at any moment leaves
// the old notes or the new ones; whoever comes next moves what is left to move.
import { randomUUID } from 'node:crypto';
import { link, mkdir, open, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../../system/text.ts';
import { flushed, type Note, readNote, writeNote } from './notes.ts';
import { fingerprint, MERGE, type Merge, NEW, OLD, readMerge, RECORD } from './pending-merge.ts';

export type MadeNote = Pick<Note, 'name' | 'text'>;

type Merging = { readonly id: string; readonly made: readonly MadeNote[]; readonly replaced: readonly Note[] };

/**
 * False, and nothing has changed, when one of the replaced is no longer as it was read, or another
 * merge is under way.
 */
export async function mergeNotes(folder: string, { id, made, replaced }: Merging): Promise<boolean> {
  const draft = join(folder, `${MERGE}.${randomUUID()}`);
  await mkdir(join(draft, NEW), { recursive: true, mode: 0o700 });
  for (const { name, text } of made) await writeNote(join(draft, NEW, name), text);
  const record: Merge = {
    id,
    made: made.map(({ name }) => name),
    replaced: Object.fromEntries(replaced.map(({ name, text }) => [name, fingerprint(text)])),
  };
  await flushed(await open(join(draft, RECORD), 'wx', 0o600), JSON.stringify(record));
  for (const each of [join(draft, NEW), draft]) await flushed(await open(each));
  const now = await Promise.all(replaced.map(({ name }) => readNote(folder, name)));
  const asRead = now.every((note, at) => note?.text === replaced[at]?.text);
  if (!asRead || !(await becomes(draft, join(folder, MERGE)))) {
    await rm(draft, { recursive: true, force: true });
    return false;
  }
  await flushed(await open(folder));
  await finishMerge(folder);
  return true;
}

/** Safe to do twice, and by several at once: each file is moved once. */
export async function finishMerge(folder: string): Promise<void> {
  const merge = await readMerge(folder);
  if (!merge) return;
  const at = join(folder, MERGE);
  for (const name of merge.made) await becomes(join(at, NEW, name), join(folder, name));
  for (const [name, print] of Object.entries(merge.replaced)) await setAside(folder, name, print);
  await flushed(await open(folder));
  await rmdir(join(at, NEW)).catch(unless('ENOENT', 'ENOTEMPTY'));
  await mkdir(join(folder, OLD), { recursive: true, mode: 0o700 });
  await becomes(at, join(folder, OLD, merge.id));
  for (const each of [join(folder, OLD), folder]) await flushed(await open(each));
}

/** One that a person has edited since goes back. */
async function setAside(folder: string, name: string, print: string): Promise<void> {
  const [live, aside] = [join(folder, name), join(folder, MERGE, name)];
  if ((await readNote(join(folder, MERGE), name)) === null) await becomes(live, aside);
  const note = await readNote(join(folder, MERGE), name);
  if (note === null || fingerprint(note.text) === print) return;
  try {
    await link(aside, live);
    await rm(aside, { force: true });
  } catch (error) {
    // Edited again: both are kept.
    unless('ENOENT', 'EEXIST')(error);
  }
}

/** False where there is nothing to move, or something in its place. */
async function becomes(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    unless('ENOENT', 'ENOTEMPTY', 'EEXIST')(error);
    return false;
  }
}

const unless =
  (...codes: readonly string[]) =>
  (error: unknown): void => {
    if (!codes.includes(codeOf(error) ?? '')) throw error;
  };

// One at a time in a folder, over processes: a file says when one began. After a failure, or a
// kill, it stays until its time is over.

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
      if (Math.abs(now - Number(began)) < LEASE_MS || !(await becomes(path, old))) return false;
      // Another was quicker, and it is theirs that was taken.
      if ((await readLease(old)) !== began) return (await linked(old, path), false);
    }
    if (!(await linked(draft, path))) return false;
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
  return readFile(path, 'utf8').catch((error: unknown) => (unless('ENOENT')(error), null));
}

async function linked(from: string, to: string): Promise<boolean> {
  return link(from, to).then(
    () => true,
    (error: unknown) => (unless('EEXIST', 'ENOENT')(error), false),
  );
}

/** Those of attempts that died. */
async function removeDrafts(folder: string): Promise<void> {
  const names = await readdir(folder);
  const left = names.filter((name) => name.startsWith(`${MERGE}.`) || name.startsWith(`${LEASE}.`));
  for (const name of left) await rm(join(folder, name), { recursive: true, force: true });
}
