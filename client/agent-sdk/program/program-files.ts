// What the notes about programs in the data folder are named by, and how they are read.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { codeOf } from '../../../system/text.ts';

/** Of texts in their order: 16 hexadecimal digits. */
export function shortHash(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);
}

/** Empty where there is no such file. */
export function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return '';
    throw error;
  }
}
