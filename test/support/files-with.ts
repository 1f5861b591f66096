// Which files of a folder hold a text.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Returns the paths of files of the folder, or below it, that hold the text or its base64. */
export function filesWith(folder: string, text: string): readonly string[] {
  const spellings = [text, Buffer.from(text).toString('base64').replaceAll('=', '').slice(0, -1)];
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => spellings.some((one) => readFileSync(path).includes(one)));
}
