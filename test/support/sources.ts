// The source files of the product that name something.
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

/** Paths from the root, sorted. `folders`: at the top of the repository. */
export function sourcesNaming(folders: readonly string[], pattern: RegExp): readonly string[] {
  return folders
    .flatMap((top) =>
      readdirSync(join(root, top), { recursive: true, encoding: 'utf8' }).map((name) => join(top, name)),
    )
    .filter((file) => /\.(tsx?|mjs)$/.test(file) && pattern.test(readFileSync(join(root, file), 'utf8')))
    .toSorted();
}
