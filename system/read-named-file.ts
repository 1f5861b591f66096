// Reads a file that a person named. A pipe or a device may be waited for, or read, for ever.
import { isUtf8 } from 'node:buffer';
import { readFileSync, statSync } from 'node:fs';
import { codeOf, reasonOf } from './text.ts';

/** Throws what the system says, and a sentence's part for what is no file or no text. */
export function readNamedFile(path: string): string {
  const seen = statSync(path);
  // The system itself refuses to read a folder.
  if (!seen.isFile() && !seen.isDirectory()) throw new Error('it is not a regular file');
  return utf8Text(readFileSync(path));
}

/** Throws a sentence's part: what is read as another encoding would be another text. */
export function utf8Text(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new Error('it is not UTF-8');
  return bytes.toString('utf8');
}

/** A sentence's part: why a file that a person named could not be read. */
export function whyUnread(error: unknown): string {
  const code = codeOf(error) ?? reasonOf(error);
  return code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
}
