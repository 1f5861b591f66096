// Parses lines of the live channel: the last may not be whole yet, and any may be garbage.
import { eventTypes } from './event-shapes.ts';
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

const LINE_TYPES: ReadonlySet<string> = new Set<LiveLine['type']>(['header', 'fate', ...eventTypes]);

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
    return typeof value?.type === 'string' && LINE_TYPES.has(value.type) ? (value as LiveLine) : null;
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
