// Reads lines of a file or a stored result, by number, without holding more than is shown: a file
// may be larger than memory, and so may one of its lines.
import { dropPartialStart, dropPartialEnd, decodeShown } from './encoding.ts';
import type { OpenFile } from '../../../system/open-file.ts';
import { sizeToRead } from './open-inside.ts';

export type LineRange = {
  /** The first line, from 1. */
  readonly offset: number;
  readonly limit: number;
  /** The first byte shown of each line, from 1. */
  readonly column: number;
  /** Bytes shown of a line, at most. */
  readonly maxLine: number;
};

export type Line = {
  readonly number: number;
  /** The text without its newline; a carriage return stays. */
  readonly text: string;
  readonly valid: boolean;
  /** The byte that the line was cut at, from 1; null when it is shown to its end. */
  readonly cutAt: number | null;
};

export type LinesEnd =
  /** `total` is the number of all lines. */
  | { readonly kind: 'end'; readonly total: number }
  | { readonly kind: 'more' }
  /** The first bytes hold a NUL. */
  | { readonly kind: 'binary' };

/** Bytes at the start that are searched for a NUL. */
const SNIFF = 8_192;

/**
 * Calls `onLine` for each line of the range, until it returns false. `chunks` may reuse their
 * memory.
 */
export async function readLines(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  range: LineRange,
  onLine: (line: Line) => boolean,
): Promise<LinesEnd> {
  const last = range.offset + range.limit - 1;
  let number = 1;
  let current: OpenLine | undefined;
  let open = true;
  let sniffed = false;
  let inLine = false;
  for await (const view of chunks) {
    const chunk = Buffer.from(view.buffer, view.byteOffset, view.byteLength);
    if (!sniffed && chunk.subarray(0, SNIFF).includes(0)) return { kind: 'binary' };
    sniffed = true;
    for (let at = 0; at < chunk.length;) {
      if (!open || number > last) return { kind: 'more' };
      const newline = chunk.indexOf(10, at);
      const end = newline === -1 ? chunk.length : newline;
      if (number >= range.offset) (current ??= startLine(range)).add(chunk.subarray(at, end));
      inLine = newline === -1;
      at = end + 1;
      if (current !== undefined && (!inLine || (number === last && current.isCut()))) {
        open = onLine(current.finish(number));
        current = undefined;
        if (inLine) return { kind: 'more' };
      }
      if (!inLine) number++;
    }
  }
  if (current !== undefined) onLine(current.finish(number));
  return { kind: 'end', total: inLine ? number : number - 1 };
}

/** Bytes of a chunk. */
const CHUNK_BYTES = 256 * 1024;

/**
 * Reads to the end of the file as it is then. `size` is what the file was seen to have: a small one
 * costs no large buffer. Throws what `check` throws, before each read.
 */
export async function* readChunks(
  handle: Pick<OpenFile, 'read'>,
  size: number,
  check: () => void,
): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafe(sizeToRead(size, CHUNK_BYTES));
  for (let position = 0; ;) {
    check();
    const bytesRead = await handle.read(buffer, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

type OpenLine = { add(part: Buffer): void; isCut(): boolean; finish(number: number): Line };

function startLine({ column, maxLine }: LineRange): OpenLine {
  const parts: Buffer[] = [];
  let length = 0;
  let keptLength = 0;
  const isCut = (): boolean => column - 1 + keptLength < length;
  return {
    isCut,
    add(part) {
      const from = Math.min(part.length, Math.max(0, column - 1 - length));
      const used = part.subarray(from, from + maxLine - keptLength);
      // The bytes are copied, because the next read overwrites them.
      if (used.length > 0) parts.push(Buffer.from(used));
      keptLength += used.length;
      length += part.length;
    },
    finish(number) {
      const bytes = Buffer.concat(parts);
      const whole = column > 1 ? dropPartialStart(bytes) : bytes;
      const visible = isCut() ? dropPartialEnd(whole) : whole;
      const after = column + bytes.length - whole.length + visible.length;
      return { number, ...decodeShown(visible), cutAt: isCut() ? after : null };
    },
  };
}
