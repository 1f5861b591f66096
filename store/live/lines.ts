// Parses lines of the live channel: the last may not be whole yet, and any may be garbage.
import type { LiveEvent, LiveFate, LiveHeader, LiveLine } from './events.ts';

/** `end` is the byte after the line. */
export type FoundLine = { readonly line: LiveLine; readonly end: number };

export type FoundLines = {
  readonly lines: readonly FoundLine[];
  /** The byte after the last whole line. */
  readonly end: number;
  /** The number of whole lines that are not lines of the channel. */
  readonly garbage: number;
};

/**
 * Is a record so that a type that is written but not listed here is a compile error: its lines
 * would be lost to every watcher.
 */
const LINE_TYPES: Readonly<Record<LiveLine['type'], true>> = {
  header: true,
  fate: true,
  run_start: true,
  user: true,
  transition: true,
  notice: true,
  steered: true,
  request_start: true,
  text_delta: true,
  thinking_delta: true,
  tool_use: true,
  web_search: true,
  tool_start: true,
  tool_progress: true,
  tool_end: true,
  retry: true,
  reply: true,
  compaction_start: true,
  compaction_end: true,
  collapse_staged: true,
  collapse_committed: true,
  microcompact: true,
  snip: true,
  hook_start: true,
  hook_end: true,
  run_end: true,
};

/** Parses `bytes`, which were read from byte `from` on, where a line begins. */
export function parseLines(bytes: Uint8Array, from: number): FoundLines {
  const lines: FoundLine[] = [];
  let garbage = 0;
  let start = 0;
  for (let newline = bytes.indexOf(10); newline !== -1; newline = bytes.indexOf(10, start)) {
    const line = parseLine(Buffer.from(bytes.subarray(start, newline)).toString('utf8'));
    start = newline + 1;
    if (line) lines.push({ line, end: from + start });
    else garbage += 1;
  }
  return { lines, end: from + start, garbage };
}

function parseLine(text: string): LiveLine | null {
  try {
    const value = JSON.parse(text) as { type?: unknown } | null;
    return typeof value?.type === 'string' && Object.hasOwn(LINE_TYPES, value.type) ? (value as LiveLine) : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

export function isHeader(line: LiveLine): line is LiveHeader {
  return line.type === 'header';
}

export function isFate(line: LiveLine): line is LiveFate {
  return line.type === 'fate';
}

export function isEvent(line: LiveLine): line is LiveEvent {
  return line.type !== 'header' && line.type !== 'fate';
}
