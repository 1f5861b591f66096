// Keeps the records and output of commands in the background (L84) in files of this machine: any
// worker of it can read a command's output, or end it, while the worker that started it writes. A
// record is written by its owner, and by another worker only once its owner is dead.
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
import { listEntries } from './places.ts';
import { isAlive, type ChildRecord, type ProcessIdentity } from './identity.ts';
import type { ProcessTree } from './spawn-tree.ts';
import type { TreeExit } from './spawner.ts';

/** `lost`: the command died with its worker. */
export type BackgroundEnd =
  | ({ readonly kind: 'exit' } & TreeExit)
  | { readonly kind: 'stopped'; readonly by: 'agent' | 'session' | 'worker' | 'output' }
  | { readonly kind: 'lost' };

export type BackgroundRecord = {
  readonly id: string;
  readonly command: string;
  /** The value that marks all its processes, in their environment. */
  readonly mark: string;
  readonly leader: ChildRecord;
  readonly owner: ProcessIdentity;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly end?: BackgroundEnd;
  /** The reply after which the model was told of the end; `known`: it ended the command itself. */
  readonly told?: number | 'known';
};

/** `from`, `to`, `total`, `kept`: byte positions in all output; what precedes `kept` is gone. */
type OutputPart = {
  readonly bytes: Buffer;
  readonly from: number;
  readonly to: number;
  readonly total: number;
  readonly kept: number;
};

export type StartBackground = {
  readonly session: string;
  readonly command: string;
  /** Tells whether the session is over; absent where that cannot be told. */
  readonly isOver?: (() => Promise<boolean>) | undefined;
  /** Starts the command with `mark` in its environment. */
  readonly spawn: (mark: string, onOutput: (bytes: Uint8Array) => void) => Promise<ProcessTree>;
};

type BackgroundNews = { readonly source: string; readonly text: string };

export type BackgroundCommands = {
  /** Throws a ToolFailure when there are too many. */
  start(options: StartBackground): Promise<BackgroundRecord>;
  /** Returns null for an unknown id. */
  output(
    session: string,
    id: string,
    since?: number,
  ): { readonly record: BackgroundRecord; readonly part: OutputPart } | null;
  /** Ends all that this worker has started for the session. */
  endSession(session: string): Promise<void>;
  /** Ends all processes of a command. Returns null for an unknown id. */
  stop(session: string, id: string): Promise<BackgroundRecord | null>;
  /** Returns the ends that the model has not read, and those told after the reply at `since`. */
  news(session: string, since: number): readonly BackgroundNews[];
  /** Ends all commands that this worker has started. */
  close(): Promise<void>;
};

/** Bytes of one file of output; a command keeps its newest MOST_PIECES of them. */
const PIECE_BYTES = 1024 * 1024;
const MOST_PIECES = 8;

export type BackgroundFolder = ReturnType<typeof openBackgroundFolder>;

/** Returns the root in a data folder, where no command of an agent reaches. */
export const backgroundRoot = (dataDir: string): string => join(dataDir, 'background');

/** Opens the folder of one session, which need not exist yet. */
export function openBackgroundFolder(root: string, session: string) {
  return openFolder(sessionFolderOf(root, session));
}

export function sessionFolderOf(root: string, session: string): string {
  return join(root, createHash('sha256').update(session).digest('hex').slice(0, 32));
}

/** A session's files are removed after so many days where its worker died before it could. */
const KEPT_DAYS = 30;

/** Removes old sessions' files, except of running commands. `now`: ms since the epoch. */
export function sweepBackground(root: string, now: number): void {
  for (const folder of listEntries(root).map(({ name }) => join(root, name))) {
    const changed = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? now;
    const left = openFolder(folder);
    if (now - changed > KEPT_DAYS * 86_400_000 && left.list().every((record) => record.end)) left.remove();
  }
}

function openFolder(folder: string) {
  const recordPath = (id: string): string => join(folder, `${id}.json`);
  const read = (id: string): BackgroundRecord | null => {
    try {
      return parseRecord(readFileSync(recordPath(id), 'utf8'));
    } catch {
      // A record that is missing or not as we wrote it counts as an unknown command.
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
    openOutput(id: string): ReturnType<typeof createPieceWriter> {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      return createPieceWriter((piece) => join(folder, `${id}.${piece}`));
    },
    /** Returns at most `most` bytes, from `since` on, or the last ones without it. */
    readOutput: (id: string, since: number | undefined, most: number): OutputPart =>
      readPieces((piece) => join(folder, `${id}.${piece}`), listPieces(names(), id), since, most),
    /** Removes the record and the output of one command. */
    drop: (id: string): void =>
      names()
        .filter((name) => name.startsWith(`${id}.`))
        .forEach((name) => rmSync(join(folder, name), { force: true })),
    remove: (): void => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Reads a record; a command whose owner is dead has ended, since none outlives its worker. */
export function parseRecord(text: string): BackgroundRecord {
  const record = JSON.parse(text) as BackgroundRecord;
  if (record.end || isAlive(record.owner, 'here') !== 'dead') return record;
  return { ...record, end: { kind: 'lost' } };
}

export function listPieces(names: readonly string[], id: string): readonly number[] {
  const pieces = names.filter((name) => name.startsWith(`${id}.`)).map((name) => Number(name.slice(id.length + 1)));
  return pieces.filter((piece) => Number.isSafeInteger(piece)).sort((one, other) => one - other);
}

/** Writes synchronously: a command that floods is slowed, and nothing piles up in memory. */
function createPieceWriter(pathOf: (piece: number) => string) {
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
    /** Returns how many bytes have been written in all. */
    add(bytes: Uint8Array): number {
      for (let at = 0; at < bytes.length;) {
        const piece = Math.floor(total / PIECE_BYTES);
        const room = (piece + 1) * PIECE_BYTES - total;
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
  const oldest = first * PIECE_BYTES;
  const total = pieces.length === 0 ? 0 : last * PIECE_BYTES + statSync(pathOf(last)).size;
  const from = Math.min(total, Math.max(oldest, since ?? total - most));
  const to = Math.min(total, from + most);
  const parts: Buffer[] = [];
  for (let at = from; at < to;) {
    const piece = Math.floor(at / PIECE_BYTES);
    const part = readAt(pathOf(piece), at - piece * PIECE_BYTES, Math.min(to, (piece + 1) * PIECE_BYTES) - at);
    if (part.length === 0) break;
    parts.push(part);
    at += part.length;
  }
  const bytes = Buffer.concat(parts);
  return { bytes, from, to: from + bytes.length, total, kept: oldest };
}

/** Returns no bytes when the file has been dropped meanwhile. */
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
