// Decodes the text of a file. A mark at its start decides (UTF-8, UTF-16); without one it is UTF-8,
// or bytes of an unknown encoding, of which the ASCII characters can still be read. All tools share
// one decoding, so that what one shows another can change.
import { isAscii, isUtf8 } from 'node:buffer';

/** The mark at the start of a file. */
export type ByteOrderMark = 'none' | 'utf8' | 'utf16le' | 'utf16be';

const MARKS: Readonly<Record<Exclude<ByteOrderMark, 'none'>, Buffer>> = {
  utf8: Buffer.from([0xef, 0xbb, 0xbf]),
  utf16le: Buffer.from([0xff, 0xfe]),
  utf16be: Buffer.from([0xfe, 0xff]),
};

/** Names of the marks, for people and models. */
export const MARK_NAMES: Readonly<Record<Exclude<ByteOrderMark, 'none'>, string>> = {
  utf8: 'UTF-8 with a byte order mark',
  utf16le: 'UTF-16 (little-endian)',
  utf16be: 'UTF-16 (big-endian)',
};

/** UTF-32 begins as UTF-16 does; nothing here reads it. */
const UTF_32 = Buffer.from([0xff, 0xfe, 0, 0]);

export function detectMark(start: Uint8Array): ByteOrderMark {
  if (UTF_32.equals(start.subarray(0, UTF_32.length))) return 'none';
  const begins = ([, mark]: readonly [string, Buffer]): boolean => mark.equals(start.subarray(0, mark.length));
  return (Object.entries(MARKS).find(begins)?.[0] as ByteOrderMark | undefined) ?? 'none';
}

export type FileText =
  /** `utf8` is the text in UTF-8, without the mark. */
  | { readonly kind: 'text'; readonly mark: ByteOrderMark; readonly utf8: Buffer }
  /** The bytes are neither UTF-8 nor marked; they are kept as they are. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'binary' }
  /** The file is marked as UTF-16, and it is not. */
  | { readonly kind: 'broken'; readonly mark: 'utf16le' | 'utf16be' };

export function decodeFile(bytes: Buffer): FileText {
  const mark = detectMark(bytes);
  if (mark === 'utf16le' || mark === 'utf16be') {
    const utf8 = decodeUtf16(bytes, mark);
    if (utf8 === null) return { kind: 'broken', mark };
    return utf8.includes(0) ? { kind: 'binary' } : { kind: 'text', mark, utf8 };
  }
  if (bytes.includes(0)) return { kind: 'binary' };
  if (!isUtf8(bytes)) return { kind: 'unknown' };
  return { kind: 'text', mark, utf8: mark === 'none' ? bytes : bytes.subarray(MARKS.utf8.length) };
}

function decodeUtf16(bytes: Buffer, mark: 'utf16le' | 'utf16be'): Buffer | null {
  try {
    return Buffer.from(new TextDecoder(labelForMark(mark), { fatal: true }).decode(bytes));
  } catch {
    return null;
  }
}

/** Encodes the bytes of a file that begins with `mark`. */
export function encodeFile(utf8: Buffer, mark: ByteOrderMark): Buffer {
  if (mark === 'none') return utf8;
  if (mark === 'utf8') return Buffer.concat([MARKS.utf8, utf8]);
  const units = Buffer.from(utf8.toString('utf8'), 'utf16le');
  return Buffer.concat([MARKS[mark], mark === 'utf16be' ? units.swap16() : units]);
}

/**
 * Decodes the chunks to UTF-8 without a mark; with mark `none` they pass as they are. Broken
 * characters are shown as U+FFFD.
 */
export async function* decodeChunks(
  chunks: AsyncIterable<Uint8Array>,
  mark: ByteOrderMark,
): AsyncGenerator<Uint8Array> {
  if (mark === 'utf16le' || mark === 'utf16be') {
    const decoder = new TextDecoder(labelForMark(mark));
    for await (const chunk of chunks) yield Buffer.from(decoder.decode(chunk, { stream: true }));
    yield Buffer.from(decoder.decode());
    return;
  }
  let skip = mark === 'none' ? 0 : MARKS.utf8.length;
  for await (const chunk of chunks) {
    yield chunk.subarray(skip);
    skip = Math.max(0, skip - chunk.length);
  }
}

const labelForMark = (mark: 'utf16le' | 'utf16be'): string => (mark === 'utf16le' ? 'utf-16le' : 'utf-16be');

/** Tells whether a text reads the same in nearly every encoding. */
export const isPlainAscii = (text: string): boolean => isAscii(Buffer.from(text));

/**
 * Turns bytes into text where a cut may have gone through a character. Drops an incomplete
 * character at the end.
 */
export function dropPartialEnd(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (isContinuation(byte)) continue;
    return lengthOfSequence(byte) > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}

/** Drops the rest of a character that began before. */
export function dropPartialStart(bytes: Buffer): Buffer {
  let at = 0;
  while (at < 3 && isContinuation(bytes[at] ?? 0)) at++;
  return bytes.subarray(at);
}

/**
 * Decodes bytes. A NUL is shown as its picture; invalid UTF-8 as U+FFFD, and `valid` is false. A
 * byte order mark stays.
 */
export function decodeShown(bytes: Buffer): { readonly text: string; readonly valid: boolean } {
  return { text: bytes.toString('utf8').replaceAll('\0', '\u2400'), valid: isUtf8(bytes) };
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

function lengthOfSequence(lead: number): number {
  if (lead >= 0xf0) return 4;
  if (lead >= 0xe0) return 3;
  return lead >= 0xc0 ? 2 : 1;
}
