// Reads files of a workspace that git reads, too: bounded, and never through a link. Paths are
// bytes, kept as latin1.
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { bytesOf, type RawPath } from './listing.ts';

/** A longer file counts up to here, whole lines only. */
const MOST_BYTES = 1024 * 1024;

const toWholeLines = (text: string): string => text.slice(0, text.lastIndexOf('\n') + 1);

/** Returns what counts of the text of a file of rules. */
export function wholeLines(text: string): string {
  return text.length > MOST_BYTES ? toWholeLines(text.slice(0, MOST_BYTES)) : text;
}

/** Returns null for all but a file that can be read. No link is followed to it. */
export function readBeginning(path: RawPath): string | null {
  let file: number;
  try {
    file = openSync(bytesOf(path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    // Git passes over one that it cannot read, too.
    return null;
  }
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) return null;
    const content = Buffer.allocUnsafe(Math.min(stats.size, MOST_BYTES));
    const text = content.subarray(0, readSync(file, content, 0, content.length, 0)).toString('latin1');
    return stats.size > MOST_BYTES ? toWholeLines(text) : text;
  } catch {
    return null;
  } finally {
    closeSync(file);
  }
}
