// What is kept of commands in the background (L84), in files of this machine: any worker of it can
// read one's output, or end it, while the worker that started it writes. A record is written by its
// owner; by another once its owner is dead.
import { createHash } from 'node:crypto';
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../text.ts';
import { entriesOf } from './places.ts';
import { isAlive, type ChildRecord, type ProcessIdentity } from './identity.ts';
import type { ProcessTree } from './spawn-tree.ts';
import type { TreeExit } from './spawner.ts';

/** `lost`: its worker has died, and it with it. */
export type BackgroundEnd =
  | ({ readonly kind: 'exit' } & TreeExit)
  | { readonly kind: 'stopped'; readonly by: 'agent' | 'session' | 'worker' | 'output' }
  | { readonly kind: 'lost' };

export type BackgroundRecord = {
  readonly id: string;
  readonly command: string;
  /** In the environment of all its processes. */
  readonly mark: string;
  readonly leader: ChildRecord;
  readonly owner: ProcessIdentity;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly end?: BackgroundEnd;
  /**
   * The model was told of its end after the reply at this position; `known`: it ended it itself.
   */
  readonly told?: number | 'known';
};

/** `from` and `to` are positions in all that it has written; what is before `kept` is gone. */
export type OutputPart = {
  readonly bytes: Buffer;
  readonly from: number;
  readonly to: number;
  readonly total: number;
  readonly kept: number;
};

export type StartBackground = {
  readonly session: string;
  readonly command: string;
  /** Whether the session is over; absent where nobody can tell. */
  readonly isOver?: (() => Promise<boolean>) | undefined;
  /** Starts it with this mark in its environment. */
  readonly spawn: (mark: string, onOutput: (bytes: Uint8Array) => void) => Promise<ProcessTree>;
};

export type Told = { readonly source: string; readonly text: string };

export type BackgroundCommands = {
  /** Throws a ToolFailure when there are too many. */
  start(given: StartBackground): Promise<BackgroundRecord>;
  /** Null for one that is not known here. */
  output(
    session: string,
    id: string,
    since?: number,
  ): { readonly record: BackgroundRecord; readonly part: OutputPart } | null;
  /** Ends all that this worker has started for it. */
  endSession(session: string): Promise<void>;
  /** Ends all of its processes. Null for one that is not known here. */
  stop(session: string, id: string): Promise<BackgroundRecord | null>;
  /** Ends that the model has not been told of; those told after the same reply, again. */
  news(session: string, since: number): readonly Told[];
  /** Ends all that this worker has started. */
  close(): Promise<void>;
};

/** Bytes of a file of output, and how many files of a command are kept, the newest. */
const PIECE = 1024 * 1024;
const MOST_PIECES = 8;

export type BackgroundFolder = ReturnType<typeof backgroundFolder>;

/** In a data folder, where no command of an agent reaches. */
export const backgroundRoot = (dataDir: string): string => join(dataDir, 'background');

/** Of one session. */
export function backgroundFolder(root: string, session: string) {
  return folderAt(folderOf(root, session));
}

export function folderOf(root: string, session: string): string {
  return join(root, createHash('sha256').update(session).digest('hex').slice(0, 32));
}

/** Days after which what is left of a session is removed, where its worker died before it. */
const KEPT_DAYS = 30;

/** `now`: milliseconds since the epoch. What still runs is kept. */
export function sweepBackground(root: string, now: number): void {
  for (const folder of entriesOf(root).map(({ name }) => join(root, name))) {
    const changed = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? now;
    const left = folderAt(folder);
    if (now - changed > KEPT_DAYS * 86_400_000 && left.list().every((record) => record.end)) left.remove();
  }
}

function folderAt(folder: string) {
  const recordPath = (id: string): string => join(folder, `${id}.json`);
  const read = (id: string): BackgroundRecord | null => {
    try {
      return parseRecord(readFileSync(recordPath(id), 'utf8'));
    } catch {
      // Not there, or no longer what we wrote: there is no such command.
      return null;
    }
  };
  const names = (): readonly string[] => {
    try {
      return readdirSync(folder);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    }
  };
  return {
    read,
    list: (): readonly BackgroundRecord[] =>
      names()
        .filter((name) => name.endsWith('.json'))
        .flatMap((name) => read(name.slice(0, -'.json'.length)) ?? [])
        .sort((one, other) => one.startedAt - other.startedAt),
    write(record: BackgroundRecord): void {
      const whole = recordPath(record.id);
      writeFileSync(`${whole}.new`, JSON.stringify(record), { mode: 0o600 });
      renameSync(`${whole}.new`, whole);
    },
    openOutput(id: string): ReturnType<typeof pieceWriter> {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      return pieceWriter((piece) => join(folder, `${id}.${piece}`));
    },
    /** At most `most` bytes, from `since` on; without it, the last ones. */
    readOutput: (id: string, since: number | undefined, most: number): OutputPart =>
      readPieces((piece) => join(folder, `${id}.${piece}`), piecesOf(names(), id), since, most),
    /** What is kept of one. */
    drop: (id: string): void =>
      names()
        .filter((name) => name.startsWith(`${id}.`))
        .forEach((name) => rmSync(join(folder, name), { force: true })),
    remove: (): void => rmSync(folder, { recursive: true, force: true }),
  };
}

/** One whose owner is dead has ended: nothing of it outlives a worker. */
export function parseRecord(text: string): BackgroundRecord {
  const record = JSON.parse(text) as BackgroundRecord;
  if (record.end || isAlive(record.owner, 'here') !== 'dead') return record;
  return { ...record, end: { kind: 'lost' } };
}

export function piecesOf(names: readonly string[], id: string): readonly number[] {
  const pieces = names.filter((name) => name.startsWith(`${id}.`)).map((name) => Number(name.slice(id.length + 1)));
  return pieces.filter((piece) => Number.isSafeInteger(piece)).sort((one, other) => one - other);
}

/** Writes at once: a command that floods is slowed, and memory holds none of it. */
function pieceWriter(pathOf: (piece: number) => string) {
  let total = 0;
  let open: { readonly piece: number; readonly file: number } | null = null;
  const close = (): void => {
    if (open) closeSync(open.file);
    open = null;
  };
  const fileOf = (piece: number): number => {
    if (open?.piece === piece) return open.file;
    close();
    open = { piece, file: openSync(pathOf(piece), 'w', 0o600) };
    rmSync(pathOf(piece - MOST_PIECES), { force: true });
    return open.file;
  };
  return {
    close,
    /** Returns how many bytes there have been. */
    add(bytes: Uint8Array): number {
      for (let at = 0; at < bytes.length;) {
        const piece = Math.floor(total / PIECE);
        const room = (piece + 1) * PIECE - total;
        const written = writeSync(fileOf(piece), bytes, at, Math.min(room, bytes.length - at));
        at += written;
        total += written;
      }
      return total;
    },
  };
}

function readPieces(
  pathOf: (piece: number) => string,
  pieces: readonly number[],
  since: number | undefined,
  most: number,
): OutputPart {
  const first = pieces[0] ?? 0;
  const last = pieces.at(-1) ?? 0;
  const kept = first * PIECE;
  const total = pieces.length === 0 ? 0 : last * PIECE + statSync(pathOf(last)).size;
  const from = Math.min(total, Math.max(kept, since ?? total - most));
  const to = Math.min(total, from + most);
  const parts: Buffer[] = [];
  for (let at = from; at < to;) {
    const piece = Math.floor(at / PIECE);
    const part = readAt(pathOf(piece), at - piece * PIECE, Math.min(to, (piece + 1) * PIECE) - at);
    if (part.length === 0) break;
    parts.push(part);
    at += part.length;
  }
  const bytes = Buffer.concat(parts);
  return { bytes, from, to: from + bytes.length, total, kept };
}

/** Empty for what has been dropped meanwhile. */
function readAt(path: string, position: number, length: number): Buffer {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
  try {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, readSync(file, bytes, 0, length, position));
  } finally {
    closeSync(file);
  }
}
