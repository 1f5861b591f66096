// Notes that were merged, until the files are where they belong (L80): the folder `.merge`, which
// appears whole, has the new notes and says which ones they replace. From then on the new ones
// count, and those that they replace do not.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { codeOf } from '../../system/text.ts';

export const MERGE = '.merge';
/** In it: the new notes. Beside it lie those that were set aside. */
export const NEW = 'new';
export const RECORD = 'merge.json';
/** Where merges go that are done, each with the notes that it replaced. */
export const OLD = 'old';

/**
 * `replaced`: the fingerprint of each, by name. One that reads otherwise by now was edited, and
 * stays.
 */
export type Merge = {
  readonly id: string;
  readonly made: readonly string[];
  readonly replaced: Readonly<Record<string, string>>;
};

export function fingerprint(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Null when none is under way. Throws what the file system throws. */
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
