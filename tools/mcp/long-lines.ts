// Reads JSON-RPC messages, a line each, from a program that may write anything. A line that is too
// long costs no memory, and the request that it answers is found by the id at one of its ends, so
// that its call fails at once and no other does.
import type { OpenLine } from './printed.ts';

export type LineReader = {
  /** Reads bytes, which are kept until their line has ended. */
  read(bytes: Buffer): void;
  /** Returns the beginning of a line that has not ended; of no bytes when the last one has. */
  readonly open: () => OpenLine;
};

type LineReaderOptions = {
  /** Bytes. */
  readonly limit: number;
  onLine(line: string): void;
  /** A line has become too long, and has not ended. */
  onGrown?(line: OpenLine): void;
  /** `ends` are the beginning and the end of a line that was dropped. */
  onLong(ends: readonly [string, string]): void;
};

/** The words of an error that stands in the place of a dropped answer. */
export const TOO_LARGE = 'the answer is too large';

const NEWLINE = 10;
/** Bytes of each end of a line that is dropped. */
const END = 256;

/** The kept ends of a text that may be too long for memory. */
export type LongText = {
  add(bytes: Uint8Array): void;
  readonly head: () => string;
  readonly tail: () => string;
};

export function keepEnds(): LongText {
  let [head, tail] = [Buffer.alloc(0), Buffer.alloc(0)];
  return {
    add(bytes) {
      if (head.length < END) head = Buffer.concat([head, bytes.subarray(0, END - head.length)]);
      tail = Buffer.concat([tail, bytes.subarray(-END)]).subarray(-END);
    },
    head: () => head.toString('utf8'),
    tail: () => tail.toString('utf8'),
  };
}

export function createLineReader({ limit, onLine, onGrown, onLong }: LineReaderOptions): LineReader {
  let parts: Buffer[] = [];
  let size = 0;
  /** The ends of a line that is being dropped. */
  let long: LongText | null = null;
  const add = (bytes: Buffer): void => {
    size += bytes.length;
    if (long !== null) return long.add(bytes);
    parts.push(bytes);
    if (size <= limit) return;
    long = keepEnds();
    for (const part of parts) long.add(part);
    parts = [];
    onGrown?.(open());
  };
  const open = (): OpenLine => ({
    head: long?.head() ?? Buffer.concat(parts).subarray(0, END).toString('utf8'),
    bytes: size,
  });
  const end = (): void => {
    const [whole, dropped] = [parts, long];
    [parts, size, long] = [[], 0, null];
    if (dropped !== null) onLong([dropped.head(), dropped.tail()]);
    else onLine(Buffer.concat(whole).toString('utf8'));
  };
  return {
    open,
    read(bytes) {
      let from = 0;
      for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, from)) {
        add(bytes.subarray(from, at));
        end();
        from = at + 1;
      }
      if (from < bytes.length) add(bytes.subarray(from));
    },
  };
}

/** The id as a message's own first or last field: its content may have others. */
const ID_FIRST = /^\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,/;
const LAST = /,\s*"id"\s*:\s*(\d{1,15})\s*\}$/;

/**
 * Reads the id of the request that a dropped line answers; undefined where neither end tells it.
 */
export function readAnsweredId(ends: readonly [string, string]): number | undefined {
  const [head, tail] = ends;
  const id = ID_FIRST.exec(head.trimStart())?.[1] ?? LAST.exec(tail.trimEnd())?.[1];
  return id === undefined ? undefined : Number(id);
}
