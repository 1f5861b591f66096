// Keeps the beginning and the end of an output of any length, in bounded memory, and the first lines
// between them that look like errors. 1 GiB costs what 8 MiB do; nothing goes to disk.
import { listErrorLines } from '../../../system/error-lines.ts';
import { dropPartialEnd, dropPartialStart } from '../files/partial-characters.ts';

/** Bytes kept of each end. Together they are also the most that is ever stored of one output. */
const KEPT_END = 4 * 1024 * 1024;
const MOST_ERRORS = 50;

export type BoundedOutput = {
  /** Copies the bytes: the view may be reused. */
  add(bytes: Uint8Array): void;
  /**
   * Returns both ends; `omitted` is the number of bytes left out between them, `errors` the first
   * lines of those that look like errors.
   */
  ends(): {
    readonly head: Buffer;
    readonly tail: Buffer;
    readonly omitted: number;
    readonly errors: readonly string[];
  };
};

export function createBoundedOutput(keptEnd = KEPT_END): BoundedOutput {
  let head: Buffer = Buffer.alloc(0);
  let headLength = 0;
  let ring: Buffer = Buffer.alloc(0);
  let total = 0;
  /** Lines that look like errors, by where the bytes begin that held them. */
  let errors: readonly { readonly at: number; readonly text: string }[] = [];
  const noteErrors = (rest: Uint8Array, at: number): void => {
    if (errors.length >= MOST_ERRORS) return;
    const found = listErrorLines(Buffer.from(rest.buffer, rest.byteOffset, rest.byteLength).toString('utf8'));
    errors = [...errors, ...found.map(({ text }) => ({ at, text }))].slice(0, MOST_ERRORS);
  };
  const tailTotal = (): number => total - headLength;
  return {
    add(bytes) {
      const toHead = bytes.subarray(0, keptEnd - headLength);
      head = growBuffer(head, headLength + toHead.length, keptEnd);
      head.set(toHead, headLength);
      const before = tailTotal();
      headLength += toHead.length;
      total += bytes.length;
      if (toHead.length === bytes.length) return;
      ring = growBuffer(ring, tailTotal(), keptEnd);
      // Only the last `keptEnd` bytes can survive this call.
      const rest = bytes.subarray(toHead.length);
      noteErrors(rest, headLength + before);
      const newest = rest.subarray(Math.max(0, rest.length - keptEnd));
      const place = (before + rest.length - newest.length) % keptEnd;
      const first = newest.subarray(0, keptEnd - place);
      ring.set(first, place);
      ring.set(newest.subarray(first.length), 0);
    },
    ends() {
      const start = headLength === 0 ? head : head.subarray(0, headLength);
      const length = tailTotal();
      if (length <= keptEnd) return { head: start, tail: ring.subarray(0, length), omitted: 0, errors: [] };
      const oldest = length % keptEnd;
      const tail = dropPartialStart(Buffer.concat([ring.subarray(oldest), ring.subarray(0, oldest)]));
      const whole = dropPartialEnd(start);
      const cut = total - tail.length;
      const between = new Set(errors.filter(({ at }) => at < cut).map(({ text }) => text));
      return { head: whole, tail, omitted: cut - whole.length, errors: [...between] };
    },
  };
}

/**
 * Grows a buffer to at least `needed` bytes, at most `most`. It doubles, so that small outputs cost
 * little and large ones are not copied often.
 */
function growBuffer(buffer: Buffer, needed: number, most: number): Buffer {
  if (buffer.length >= Math.min(needed, most)) return buffer;
  const larger = Buffer.allocUnsafe(Math.min(most, Math.max(needed, 2 * buffer.length, 64 * 1024)));
  larger.set(buffer);
  return larger;
}
