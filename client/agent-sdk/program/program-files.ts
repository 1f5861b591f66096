// Names and reads the files that note the state of programs in the data folder.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { codeOf } from '../../../system/text.ts';

/** Returns 16 hexadecimal digits that depend on the texts and their order. */
export function shortHash(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);
}

/** Returns an empty text when the file does not exist. */
export function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return '';
    throw error;
  }
}
