// A merge of notes until the files are in place (L80): the folder `.merge`, which appears whole,
// has the new notes and says which ones they replace. From then on the new ones count, and the
// replaced ones do not.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { codeOf } from '../../system/text.ts';

export const MERGE = '.merge';
/** The folder of the new notes in it. The replaced ones lie next to that folder. */
export const NEW_NOTES = 'new';
export const RECORD = 'merge.json';
/** The folder of finished merges, each with the notes that it replaced. */
export const REPLACED_NOTES = 'old';

/**
 * `replaced` has the fingerprint of each note, by name. A note that reads otherwise by now was
 * edited, and stays.
 */
export type Merge = {
  readonly id: string;
  readonly made: readonly string[];
  readonly replaced: Readonly<Record<string, string>>;
};

export function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Reads the merge that is under way, or null. Throws what the file system throws. */
export async function readMerge(folder: string): Promise<Merge | null> {
  const path = join(folder, MERGE);
  try {
    const merge = JSON.parse(await readFile(join(path, RECORD), 'utf8')) as Merge;
    const names = [merge.id, ...merge.made, ...Object.keys(merge.replaced)];
    if (names.every((name) => basename(name) === name && !name.startsWith('.'))) return merge;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    if (codeOf(error) !== undefined) throw error;
  }
  throw new Error(`${path} is no merge of notes: move that folder away`);
}
