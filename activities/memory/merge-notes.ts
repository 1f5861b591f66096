// Replaces notes by new ones, and keeps the old ones in a folder (L80). A kill at any moment leaves
// the old notes or the new ones; the next worker moves what is left to move.
import { randomUUID } from 'node:crypto';
import { link, mkdir, open, rename, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../../system/text.ts';
import {
  hashText,
  MERGE,
  type Merge,
  NEW_NOTES,
  type Note,
  readMerge,
  readNote,
  RECORD,
  REPLACED_NOTES,
  writeDurably,
  writeNote,
} from './notes.ts';

export type NewNote = Pick<Note, 'name' | 'text'>;

type MergeWork = { readonly id: string; readonly merged: readonly NewNote[]; readonly replaced: readonly Note[] };

/**
 * Merges the notes. Returns false, with nothing changed, when one of the replaced notes is no
 * longer as it was read, or another merge is under way.
 */
export async function mergeNotes(folder: string, { id, merged, replaced }: MergeWork): Promise<boolean> {
  const draft = join(folder, `${MERGE}.${randomUUID()}`);
  await mkdir(join(draft, NEW_NOTES), { recursive: true, mode: 0o700 });
  for (const { name, text } of merged) await writeNote(join(draft, NEW_NOTES, name), text);
  const record: Merge = {
    id,
    made: merged.map(({ name }) => name),
    replaced: Object.fromEntries(replaced.map(({ name, text }) => [name, hashText(text)])),
  };
  await writeDurably(await open(join(draft, RECORD), 'wx', 0o600), JSON.stringify(record));
  for (const each of [join(draft, NEW_NOTES), draft]) await writeDurably(await open(each));
  const now = await Promise.all(replaced.map(({ name }) => readNote(folder, name)));
  const asRead = now.every((note, at) => note?.text === replaced[at]?.text);
  if (!asRead || !(await renameIfFree(draft, join(folder, MERGE)))) {
    await rm(draft, { recursive: true, force: true });
    return false;
  }
  await writeDurably(await open(folder));
  await finishMerge(folder);
  return true;
}

/**
 * Moves the notes of a merge. Safe to do twice, and by several workers at once: each file is moved
 * once.
 */
export async function finishMerge(folder: string): Promise<void> {
  const merge = await readMerge(folder);
  if (!merge) return;
  const at = join(folder, MERGE);
  for (const name of merge.made) await renameIfFree(join(at, NEW_NOTES, name), join(folder, name));
  for (const [name, print] of Object.entries(merge.replaced)) await setAside(folder, name, print);
  await writeDurably(await open(folder));
  await rmdir(join(at, NEW_NOTES)).catch(rethrowUnless('ENOENT', 'ENOTEMPTY'));
  await mkdir(join(folder, REPLACED_NOTES), { recursive: true, mode: 0o700 });
  await renameIfFree(at, join(folder, REPLACED_NOTES, merge.id));
  for (const each of [join(folder, REPLACED_NOTES), folder]) await writeDurably(await open(each));
}

/** Moves a replaced note into the merge. A note that a person has edited since goes back. */
async function setAside(folder: string, name: string, print: string): Promise<void> {
  const [live, replacedPath] = [join(folder, name), join(folder, MERGE, name)];
  if ((await readNote(join(folder, MERGE), name)) === null) await renameIfFree(live, replacedPath);
  const note = await readNote(join(folder, MERGE), name);
  if (note === null || hashText(note.text) === print) return;
  try {
    await link(replacedPath, live);
    await rm(replacedPath, { force: true });
  } catch (error) {
    // The note was edited again: both are kept.
    rethrowUnless('ENOENT', 'EEXIST')(error);
  }
}

/** Renames. Returns false where there is nothing to move, or something stands in its place. */
export async function renameIfFree(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    rethrowUnless('ENOENT', 'ENOTEMPTY', 'EEXIST')(error);
    return false;
  }
}

export const rethrowUnless =
  (...codes: readonly string[]) =>
  (error: unknown): void => {
    if (!codes.includes(codeOf(error) ?? '')) throw error;
  };
