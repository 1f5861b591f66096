// Reads a file that a person named, and refuses a pipe or a device: reading one may never end.
import { isUtf8 } from 'node:buffer';
import { readFileSync, statSync } from 'node:fs';
import { codeOf, reasonOf } from './text.ts';

/**
 * Throws the system's error, or one whose message continues a sentence when the path is not a
 * regular file or its bytes are not UTF-8.
 */
export function readNamedFile(path: string): string {
  const stats = statSync(path);
  // The system itself refuses to read a folder.
  if (!stats.isFile() && !stats.isDirectory()) throw new Error('it is not a regular file');
  return utf8Text(readFileSync(path));
}

/**
 * Throws an error whose message continues a sentence: bytes of another encoding would become
 * another text.
 */
export function utf8Text(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new Error('it is not UTF-8');
  return bytes.toString('utf8');
}

/** Returns why a file that a person named could not be read, as the end of a sentence. */
export function whyUnread(error: unknown): string {
  const code = codeOf(error) ?? reasonOf(error);
  return code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
}
