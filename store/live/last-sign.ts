// Tells when an attempt last told of output: words of the model, or of a tool. That an attempt has
// begun, or waits for its next try, is no output.
import { closeSync, fstatSync, openSync } from 'node:fs';
import { attemptFile, isMissing, listAttempts } from './files.ts';
import type { LiveLine } from './events.ts';
import { parseLines } from './lines.ts';
import { readBytes } from './attempt-reader.ts';

const OUTPUT: ReadonlySet<LiveLine['type']> = new Set([
  'text_delta',
  'thinking_delta',
  'tool_use',
  'web_search',
  'tool_start',
  'tool_progress',
  'tool_end',
  'reply',
  'compaction_end',
  'hook_end',
]);

/** Bytes from the end of a file: its last lines, unless they are very long. */
const END = 8_192;
/** Newest attempts to look at: calls of one reply run next to each other. */
const MOST = 4;

export const isOutput = ({ type }: LiveLine): boolean => OUTPUT.has(type);

/**
 * Returns the time of the newest output of a session's live files, in milliseconds since the epoch;
 * null when none of the newest attempts has any.
 */
export function lastSignIn(folder: string): number | null {
  const newest = listAttempts(folder).toSorted((a, b) => b.step - a.step || b.attempt - a.attempt);
  const signs = newest.slice(0, MOST).flatMap((name) => signOf(attemptFile(folder, name)) ?? []);
  return signs.length === 0 ? null : Math.max(...signs);
}

function signOf(path: string): number | null {
  let descriptor: number | null = null;
  try {
    descriptor = openSync(path, 'r');
    const { size, mtimeMs } = fstatSync(descriptor);
    const { lines } = parseLines(readBytes(descriptor, Math.max(0, size - END), size), 0);
    const last = lines.at(-1)?.line;
    return last && isOutput(last) ? mtimeMs : null;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  } finally {
    if (descriptor !== null) closeSync(descriptor);
  }
}
