// Where the live channel's files lie: <dir>/<session>/<step>.<attempt>.jsonl
import { readdirSync } from 'node:fs';
import { keySegment } from '../values/store.ts';
import type { LiveEvent, LiveFate, LiveHeader, LiveLine, Told } from './events.ts';

export type AttemptName = { readonly step: number; readonly attempt: number };

export function sessionFolder(dir: string, session: string): string {
  return `${dir}/${keySegment(session)}`;
}

export function attemptFile(folder: string, { step, attempt }: AttemptName): string {
  return `${folder}/${String(step).padStart(8, '0')}.${attempt}.jsonl`;
}

/** Empty when the folder is not there. Throws what readdir throws otherwise. */
export function listAttempts(folder: string): AttemptName[] {
  return namesIn(folder).flatMap((name) => {
    const found = /^(\d{8,15})\.(\d{1,9})\.jsonl$/.exec(name);
    return found ? [{ step: Number(found[1]), attempt: Number(found[2]) }] : [];
  });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === 'ENOENT';
}

// Lines of the live channel as a reader finds them: the last may not be whole yet, and any may be
// garbage.

/** `end`: the byte after the line. */
export type FoundLine = { readonly line: LiveLine; readonly end: number };

export type FoundLines = {
  readonly lines: readonly FoundLine[];
  /** The byte after the last whole line. */
  readonly end: number;
  /** Whole lines that are no lines of the channel. */
  readonly garbage: number;
};

/**
 * A record, so that a type that is written but not listed here is a compile error: its lines would
 * be lost to every watcher.
 */
const types: Readonly<Record<LiveLine['type'], true>> = {
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
  hook_start: true,
  hook_end: true,
  run_end: true,
};

/** `bytes` were read from byte `from` on, where a line begins. */
export function linesIn(bytes: Uint8Array, from: number): FoundLines {
  const lines: FoundLine[] = [];
  let garbage = 0;
  let start = 0;
  for (let newline = bytes.indexOf(10); newline !== -1; newline = bytes.indexOf(10, start)) {
    const line = parse(Buffer.from(bytes.subarray(start, newline)).toString('utf8'));
    start = newline + 1;
    if (line) lines.push({ line, end: from + start });
    else garbage += 1;
  }
  return { lines, end: from + start, garbage };
}

function parse(text: string): LiveLine | null {
  try {
    const value = JSON.parse(text) as { type?: unknown } | null;
    return typeof value?.type === 'string' && Object.hasOwn(types, value.type) ? (value as LiveLine) : null;
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

// How far a watcher is, in a form that it can keep and give back after a reconnect.

export type Cursor = {
  /** Steps before this one are over and done with. */
  readonly before: number;
  /** By step number. */
  readonly steps: Readonly<Record<string, StepCursor>>;
};

export type StepCursor = {
  readonly attempt: number;
  /** Lines up to here were given out, or will never be. */
  readonly byte: number;
  /** Nothing of this step follows. */
  readonly over: boolean;
  /** Something of this attempt was given out that a tombstone would have to take back. */
  readonly shown: boolean;
  /** The last one that the attempt named. */
  readonly iteration: number | null;
};

export type LiveItem = Told & { readonly cursor: Cursor };

export const noCursor: Cursor = { before: 0, steps: {} };

export function newStep(attempt: number): StepCursor {
  return { attempt, byte: 0, over: false, shown: false, iteration: null };
}

/** Facts that stay true although their attempt died: a tombstone does not take them back. */
export function isAnnouncement(event: LiveEvent): boolean {
  return event.type === 'retry' || event.type === 'request_start';
}

/** `event` was given out, or passed over. */
export function passEvent(at: StepCursor, event: LiveEvent, byte: number): StepCursor {
  const shown = at.shown || !isAnnouncement(event);
  return { ...at, byte, shown, iteration: 'iteration' in event ? event.iteration : at.iteration };
}
