// Reads the files of a session's attempts. A file that was read stays open until it is let go: what
// its writer says last can be read even if the file is forgotten meanwhile.
import type { Log } from '../../system/log.ts';
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import type { LiveHeader } from './events.ts';
import { type AttemptName, attemptFile, isMissing, listAttempts, type FoundLines, isHeader, linesIn } from './files.ts';

export type AttemptReader = {
  /**
   * Every attempt there is. Of two steps, one after the other, the second is never listed without
   * the first.
   */
  list(): readonly AttemptName[];
  /** No file has come or gone since the last listing: the next one is the same. */
  keepList(): void;
  /** Null when the file is gone. */
  size(name: AttemptName): number | null;
  /** Whole lines from `from`, up to byte `to`. */
  lines(name: AttemptName, from: number, to: number): FoundLines;
  /** Null until its line is whole. */
  header(name: AttemptName, size: number): LiveHeader | null;
  letGo(name: AttemptName): void;
  close(): void;
};

export function attemptReader(folder: string, log: Log): AttemptReader {
  const open = openFiles();
  const headers = new Map<string, LiveHeader>();
  const pathOf = (name: AttemptName): string => attemptFile(folder, name);
  let newest = -1;
  let names: readonly AttemptName[] | null = null;
  let kept = false;

  return {
    list: () => {
      names = (kept ? names : null) ?? listAgain(folder, newest);
      kept = false;
      newest = Math.max(newest, newestOf(names));
      return names;
    },
    keepList: () => {
      kept = true;
    },
    size: (name) => open.size(pathOf(name)),
    lines: (name, from, to) => {
      const path = pathOf(name);
      const descriptor = open.keep(path);
      if (descriptor === null) return { lines: [], end: from, garbage: 0 };
      const found = linesIn(bytesOf(descriptor, from, to), from);
      if (found.garbage > 0) {
        log('warn', `${path} has ${found.garbage} unreadable lines from byte ${from} on: they are left out`);
      }
      return found;
    },
    header: (name, size) => {
      const path = pathOf(name);
      const known = headers.get(path) ?? readHeader(path, size);
      if (known) headers.set(path, known);
      return known;
    },
    letGo: (name) => {
      open.letGo(pathOf(name));
      headers.delete(pathOf(name));
    },
    close: open.close,
  };
}

function openFiles() {
  const open = new Map<string, number>();
  return {
    /** Null when the file is gone. */
    keep: (path: string): number | null => {
      const descriptor = open.get(path) ?? openFile(path);
      if (descriptor !== null) open.set(path, descriptor);
      return descriptor;
    },
    size: (path: string): number | null => {
      const descriptor = open.get(path);
      const found = descriptor === undefined ? statSync(path, { throwIfNoEntry: false }) : fstatSync(descriptor);
      return found?.size ?? null;
    },
    letGo: (path: string): void => {
      const descriptor = open.get(path);
      if (descriptor !== undefined) closeSync(descriptor);
      open.delete(path);
    },
    close: (): void => {
      for (const descriptor of open.values()) closeSync(descriptor);
      open.clear();
    },
  };
}

/**
 * A listing may miss what is created while it is made. When it shows a step for the first time,
 * what was there before that step is in a second one.
 */
function listAgain(folder: string, newest: number): readonly AttemptName[] {
  const first = listAttempts(folder);
  const last = newestOf(first);
  return last <= newest ? first : listAttempts(folder).filter(({ step }) => step <= last);
}

function newestOf(names: readonly AttemptName[]): number {
  return names.reduce((newest, { step }) => Math.max(newest, step), -1);
}

const HEADER_MAX = 4_096;

function readHeader(path: string, size: number): LiveHeader | null {
  const descriptor = openFile(path);
  if (descriptor === null) return null;
  try {
    const first = linesIn(bytesOf(descriptor, 0, Math.min(size, HEADER_MAX)), 0).lines[0]?.line;
    return first && isHeader(first) ? first : null;
  } finally {
    closeSync(descriptor);
  }
}

function openFile(path: string): number | null {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

function bytesOf(descriptor: number, from: number, to: number): Uint8Array {
  const bytes = Buffer.alloc(Math.max(0, to - from));
  let length = 0;
  while (length < bytes.length) {
    const read = readSync(descriptor, bytes, length, bytes.length - length, from + length);
    if (read === 0) break;
    length += read;
  }
  return bytes.subarray(0, length);
}
