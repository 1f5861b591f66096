// Looks at the end of a session's live channel: when it last told of output, and which calls run.
// That an attempt has begun, or waits for its next try, is no output.
import { closeSync, fstatSync, openSync } from 'node:fs';
import { readBytes } from './attempt-reader.ts';
import type { LiveLine } from './events.ts';
import { attemptFile, isMissing, listAttempts } from './files.ts';
import { parseLines } from './lines.ts';

/** A call that has begun and not ended. `input` is null where its beginning is too long ago. */
export type OpenCall = { readonly tool: string; readonly input: unknown };

export type LivePeek = {
  /** When there was output last, in milliseconds since the epoch; null when that is not known. */
  readonly at: number | null;
  readonly calls: readonly OpenCall[];
};

export const NOTHING_SAID: LivePeek = { at: null, calls: [] };

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

/** Bytes from the end of a file to read. */
const END = 32_768;
/** Newest attempts to look at: calls of one reply run next to each other. */
const MOST = 4;

/** `at` is when the last of the lines was written. */
export function peekAt(lines: readonly LiveLine[], at: number): LivePeek {
  const last = lines.at(-1);
  if (!last || last.type === 'fate') return { at: last ? at : null, calls: [] };
  const asked = new Map<number, OpenCall>();
  const open = new Map<number, OpenCall>();
  for (const line of lines) {
    if (line.type === 'tool_use') asked.set(line.index, { tool: line.name, input: line.input });
    if (line.type === 'tool_start') open.set(line.index, asked.get(line.index) ?? { tool: line.name, input: null });
    if (line.type === 'tool_end') open.delete(line.index);
  }
  return { at: OUTPUT.has(last.type) ? at : null, calls: [...open.values()] };
}

/** Looks at the live files in a session's folder. */
export function peekIn(folder: string): LivePeek {
  const newest = listAttempts(folder).toSorted((a, b) => b.step - a.step || b.attempt - a.attempt);
  return joinPeeks(newest.slice(0, MOST).map((name) => peekInFile(attemptFile(folder, name))));
}

export function joinPeeks(peeks: readonly LivePeek[]): LivePeek {
  const signs = peeks.flatMap(({ at }) => at ?? []);
  return { at: signs.length === 0 ? null : Math.max(...signs), calls: peeks.flatMap(({ calls }) => calls) };
}

function peekInFile(path: string): LivePeek {
  let descriptor: number | null = null;
  try {
    descriptor = openSync(path, 'r');
    const { size, mtimeMs } = fstatSync(descriptor);
    const { lines } = parseLines(readBytes(descriptor, Math.max(0, size - END), size), 0);
    return peekAt(
      lines.map(({ line }) => line),
      mtimeMs,
    );
  } catch (error) {
    if (isMissing(error)) return NOTHING_SAID;
    throw error;
  } finally {
    if (descriptor !== null) closeSync(descriptor);
  }
}
