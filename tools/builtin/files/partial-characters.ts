// Turns bytes into text where a cut may have gone through a character.
import { isUtf8 } from 'node:buffer';

/** Drops an incomplete character at the end. */
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
