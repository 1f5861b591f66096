// Looks at the end of a session's live channel: when it last had output, and which calls run. The
// begin of an attempt, and its wait for the next try, don't count as output.
import { closeSync, fstatSync, openSync } from 'node:fs';
import { readBytes } from './attempt-reader.ts';
import type { LiveLine } from './events.ts';
import { attemptFile, isMissing, listAttempts } from './files.ts';
import { parseLines } from './lines.ts';
import type { Spend } from '../../workflows/contract/loop.ts';

/** A call that has begun and not ended. `input` is null where its beginning is too long ago. */
export type OpenCall = { readonly tool: string; readonly input: unknown };

export type LivePeek = {
  /** When there was output last, in milliseconds since the epoch; null when that is not known. */
  readonly at: number | null;
  readonly calls: readonly OpenCall[];
  /** The bills of attempts that reported a reply, by the number of the step. */
  readonly billed: ReadonlyMap<number, Spend>;
};

export const NOTHING_SAID: LivePeek = { at: null, calls: [], billed: new Map() };

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

/** `at` is when the last of the lines of a step was written. */
export function peekAt(step: number, lines: readonly LiveLine[], at: number): LivePeek {
  const last = lines.at(-1);
  const billed = new Map(
    lines.flatMap((line) => (line.type === 'reply' && line.spend ? [[step, line.spend] as const] : [])),
  );
  // An attempt that died, as each does whose model gives no answer, has brought nothing.
  if (last?.type === 'fate') return { at: last.fate === 'died' ? null : at, calls: [], billed };
  if (!last) return { at: null, calls: [], billed };
  const requested = new Map<number, OpenCall>();
  const open = new Map<number, OpenCall>();
  for (const line of lines) {
    if (line.type === 'tool_use') requested.set(line.index, { tool: line.name, input: line.input });
    if (line.type === 'tool_start') open.set(line.index, requested.get(line.index) ?? { tool: line.name, input: null });
    if (line.type === 'tool_end') open.delete(line.index);
  }
  return { at: OUTPUT.has(last.type) ? at : null, calls: [...open.values()], billed };
}

/** Looks at the live files in a session's folder. */
export function peekIn(folder: string): LivePeek {
  const newest = listAttempts(folder).toSorted((a, b) => b.step - a.step || b.attempt - a.attempt);
  return joinPeeks(newest.slice(0, MOST).map((name) => peekInFile(name.step, attemptFile(folder, name))));
}

function joinPeeks(peeks: readonly LivePeek[]): LivePeek {
  const billed = new Map(peeks.toReversed().flatMap((peek) => [...peek.billed]));
  const signs = peeks.flatMap(({ at }) => at ?? []);
  return { at: signs.length === 0 ? null : Math.max(...signs), calls: peeks.flatMap(({ calls }) => calls), billed };
}

function peekInFile(step: number, path: string): LivePeek {
  let descriptor: number | null = null;
  try {
    descriptor = openSync(path, 'r');
    const { size, mtimeMs } = fstatSync(descriptor);
    const { lines } = parseLines(readBytes(descriptor, Math.max(0, size - END), size), 0);
    return peekAt(
      step,
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
