// Detects the type of an image or a PDF, and the size of an image, from its first bytes.
import type { MediaType, ImageType } from '../../workflows/contract/people.ts';

/** Bytes that are enough for `detectMediaType`. */
export const MEDIA_START = 12;

export function detectMediaType(start: Buffer): MediaType | null {
  const begins = (text: string, at = 0): boolean => start.toString('latin1', at, at + text.length) === text;
  if (begins('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (begins('GIF87a') || begins('GIF89a')) return 'image/gif';
  if (begins('\xff\xd8\xff')) return 'image/jpeg';
  if (begins('RIFF') && begins('WEBP', 8)) return 'image/webp';
  return begins('%PDF-') ? 'application/pdf' : null;
}

type ImageSize = { readonly mediaType: ImageType; readonly width: number; readonly height: number };

/** Returns null for anything but an image, and for one whose size is not where it should be. */
export function readImageSize(bytes: Buffer): ImageSize | null {
  const mediaType = detectMediaType(bytes);
  try {
    if (mediaType === 'image/png') return { mediaType, width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
    if (mediaType === 'image/gif') return { mediaType, width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
    if (mediaType === 'image/jpeg') return jpegSize(bytes);
    return mediaType === 'image/webp' ? webpSize(bytes, bytes.toString('latin1', 12, 16)) : null;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** The size stands in the first frame header; the segments before it are passed over. */
function jpegSize(bytes: Buffer): ImageSize | null {
  for (let at = 2; bytes.readUInt8(at) === 0xff; at += 2 + bytes.readUInt16BE(at + 2)) {
    const marker = bytes.readUInt8(at + 1);
    // C4, C8 and CC are tables.
    if (marker < 0xc0 || marker > 0xcf || [0xc4, 0xc8, 0xcc].includes(marker)) continue;
    return { mediaType: 'image/jpeg', width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
  }
  return null;
}

function webpSize(bytes: Buffer, form: string): ImageSize | null {
  const sizeOf = (width: number, height: number): ImageSize => ({ mediaType: 'image/webp', width, height });
  if (form === 'VP8X') return sizeOf(bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1);
  if (form === 'VP8 ') return sizeOf(bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff);
  if (form !== 'VP8L') return null;
  const bits = bytes.readUInt32LE(21);
  return sizeOf((bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1);
}
