// Reads the files of a session's attempts. A file that was read stays open until it is let go, so
// that its writer's last words can be read even if the file is forgotten meanwhile.
import type { Log } from '../../system/log.ts';
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import type { LiveHeader } from './events.ts';
import { type AttemptName, attemptFile, isMissing, listAttempts, parseAttemptFile } from './files.ts';
import { type FoundLines, isHeader, parseLines } from './lines.ts';

export type AttemptReader = {
  /**
   * Lists the attempts of steps from `before` on, which never becomes less. Of two steps, one after
   * the other, the second is never listed without the first.
   */
  list(before: number): readonly AttemptName[];
  /** Only these files may have come or gone since the last listing; null: any may have. */
  noteChanges(files: readonly string[] | null): void;
  /** Returns the size in bytes, or null when the file is gone. */
  size(name: AttemptName): number | null;
  /** Returns the whole lines from byte `from` up to byte `to`. */
  lines(name: AttemptName, from: number, to: number): FoundLines;
  /** Returns null until the line of the header is whole. */
  header(name: AttemptName, size: number): LiveHeader | null;
  letGo(name: AttemptName): void;
  close(): void;
};

export function createAttemptReader(folder: string, log: Log): AttemptReader {
  const open = createOpenFiles();
  const headers = new Map<string, LiveHeader>();
  const pathOf = (name: AttemptName): string => attemptFile(folder, name);
  const listing = createListing(folder);

  return {
    ...listing,
    size: (name) => open.size(pathOf(name)),
    lines: (name, from, to) => {
      const path = pathOf(name);
      const descriptor = open.keep(path);
      if (descriptor === null) return { lines: [], end: from, garbage: 0 };
      const found = parseLines(readBytes(descriptor, from, to), from);
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

function createOpenFiles() {
  const open = new Map<string, number>();
  return {
    /** Opens a file, or returns null when it is gone. */
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

/** Lists the folder anew only where it is not known which files have come or gone. */
function createListing(folder: string): Pick<AttemptReader, 'list' | 'noteChanges'> {
  /** By file; null when the last listing has failed. */
  let names: Map<string, AttemptName> | null = null;
  let changes: readonly string[] | null = null;
  let newest = -1;
  const listAnew = (): Map<string, AttemptName> =>
    new Map(listWithoutGaps(folder, newest).map((name) => [attemptFile(folder, name), name]));
  const takeChanges = (known: Map<string, AttemptName>, files: readonly string[]): Map<string, AttemptName> => {
    let last = newest;
    for (const name of files.flatMap((file) => parseAttemptFile(file) ?? [])) {
      // Files of the steps between may have been missed.
      if (name.step > last + 1) return listAnew();
      const path = attemptFile(folder, name);
      if (statSync(path, { throwIfNoEntry: false })) known.set(path, name);
      else known.delete(path);
      last = Math.max(last, name.step);
    }
    return known;
  };
  return {
    list: (before) => {
      const [known, files] = [names, changes];
      [names, changes] = [null, null];
      const found = known && files ? takeChanges(known, files) : listAnew();
      newest = Math.max(newest, newestOf([...found.values()]));
      for (const [path, { step }] of found) if (step < before) found.delete(path);
      names = found;
      return [...found.values()];
    },
    noteChanges: (files) => {
      changes = files;
    },
  };
}

/**
 * Lists attempts without gaps. A listing may miss a file that is created while it is made, so when
 * it shows a step for the first time, a second one is taken for the steps before it.
 */
function listWithoutGaps(folder: string, newest: number): readonly AttemptName[] {
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
    const first = parseLines(readBytes(descriptor, 0, Math.min(size, HEADER_MAX)), 0).lines[0]?.line;
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

export function readBytes(descriptor: number, from: number, to: number): Uint8Array {
  const bytes = Buffer.alloc(Math.max(0, to - from));
  let length = 0;
  while (length < bytes.length) {
    const read = readSync(descriptor, bytes, length, bytes.length - length, from + length);
    if (read === 0) break;
    length += read;
  }
  return bytes.subarray(0, length);
}
