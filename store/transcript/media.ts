// Examines images and PDF documents: their type, judged by their first bytes and never by a name,
// and whether the Messages API accepts them. One that it refuses fails the whole request.
import { type ImageType, type MediaType, MOST_MEDIA } from '../../workflows/contract/people.ts';
import { inflateSync } from 'node:zlib';

/**
 * `problem` says why the API does not take it, as the end of a sentence; what `isBroken` no program
 * may open. `note` describes it in words.
 */
type ExaminedMedia =
  | { readonly kind: 'medium'; readonly mediaType: MediaType; readonly characters: number; readonly note: string }
  | { readonly kind: 'refused'; readonly problem: string; readonly isBroken?: true };

/** Characters of base64 of one image. */
const LARGEST_IMAGE = 5 * 1024 * 1024;
/** Characters of base64 of all images and documents of a message; a request may have 32 MB. */
const LARGEST_MEDIA = 20 * 1024 * 1024;
/** Pixels of width or height. */
const MOST_PIXELS = 8_000;
export const MOST_PAGES = 100;
/**
 * An image's share of a window: the API counts 1,600 tokens for one of the largest that it does not
 * shrink.
 */
const IMAGE_CHARACTERS = 6_400;
/** A page is sent as its text and as an image of it. */
const PAGE_CHARACTERS = 10_000;
/** Bytes that count as one page, where pages cannot be counted. */
const PAGE_BYTES = 50_000;

function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}

/** A block as the Messages API takes it. `data` is base64. */
export type MediaBlock =
  | { readonly type: 'image'; readonly source: Base64<ImageType> }
  | { readonly type: 'document'; readonly source: Base64<'application/pdf'> };

type Base64<Type extends MediaType> = { readonly type: 'base64'; readonly media_type: Type; readonly data: string };

export function mediaBlock(mediaType: MediaType, data: string): MediaBlock {
  return mediaType === 'application/pdf'
    ? { type: 'document', source: { type: 'base64', media_type: mediaType, data } }
    : { type: 'image', source: { type: 'base64', media_type: mediaType, data } };
}

/** Tells whether one message may have them all. */
export function fitsMessage(media: readonly { readonly bytes: number }[]): boolean {
  return media.length <= MOST_MEDIA && media.reduce((sum, { bytes }) => sum + base64Length(bytes), 0) <= LARGEST_MEDIA;
}

export const TOO_MANY_MEDIA = `one message has ${MOST_MEDIA} images and documents and ${LARGEST_MEDIA / 1024 / 1024} MB of them at most`;

/** Returns the most bytes of a file of this type. */
export function maxBytesOf(type: MediaType): number {
  return Math.floor((type === 'application/pdf' ? LARGEST_MEDIA : LARGEST_IMAGE) / 4) * 3;
}

/** Returns null for bytes that are neither an image nor a PDF. */
export function examineMedia(bytes: Buffer): ExaminedMedia | null {
  const type = detectMediaType(bytes);
  if (type === null) return null;
  const problem = sizeProblem(type, bytes.length);
  if (problem !== undefined) return { kind: 'refused', problem };
  return type === 'application/pdf' ? examineDocument(bytes) : examineImage(type, bytes);
}

export function sizeProblem(type: MediaType, bytes: number): string | undefined {
  const most = maxBytesOf(type);
  if (bytes <= most) return undefined;
  return `is ${type} of ${groupDigits(bytes)} bytes, and the model takes ${groupDigits(most)}: make it smaller, or take a part of it`;
}

function examineImage(mediaType: ImageType, bytes: Buffer): ExaminedMedia {
  const size = readImageSize(bytes);
  if (size === null || size.width === 0 || size.height === 0)
    return {
      kind: 'refused',
      problem: `begins as ${mediaType} and is broken: its width and height are not there`,
      isBroken: true,
    };
  const { width, height } = size;
  if (Math.max(width, height) > MOST_PIXELS) {
    const problem = `is an image of ${width} × ${height} pixels, and the model takes ${MOST_PIXELS} in width and height: make it smaller`;
    return { kind: 'refused', problem };
  }
  const note = `[${mediaType}, ${width} × ${height} pixels, ${groupDigits(bytes.length)} bytes]`;
  return { kind: 'medium', mediaType, characters: IMAGE_CHARACTERS, note };
}

function examineDocument(bytes: Buffer): ExaminedMedia {
  const mediaType = 'application/pdf';
  if (!bytes.includes('startxref') && !bytes.includes('%%EOF'))
    return {
      kind: 'refused',
      problem: `begins as ${mediaType} and is broken: its end is not there`,
      isBroken: true,
    };
  if (bytes.includes('/Encrypt'))
    return { kind: 'refused', problem: `is ${mediaType} that is encrypted: the model cannot open it` };
  const pages = countPdfPages(bytes);
  if (pages !== null && pages > MOST_PAGES) {
    const problem = `is ${mediaType} of ${pages < MOST_COUNTED ? '' : 'at least '}${groupDigits(pages)} pages, and the model takes ${MOST_PAGES}: take some of them, or its text`;
    return { kind: 'refused', problem };
  }
  const counted = pages === null ? '' : `${pages} ${pages === 1 ? 'page' : 'pages'}, `;
  const note = `[${mediaType}, ${counted}${groupDigits(bytes.length)} bytes]`;
  const characters = (pages ?? Math.min(MOST_PAGES, Math.ceil(bytes.length / PAGE_BYTES))) * PAGE_CHARACTERS;
  return { kind: 'medium', mediaType, characters, note };
}

function groupDigits(n: number): string {
  return n.toLocaleString('en-US');
}

/**
 * Bounds of the search: the bytes to which object streams unpack together, the number of those, and
 * the number of all streams.
 */
const MOST_INFLATED = 8 * 1024 * 1024;
const MOST_OBJECT_STREAMS = 1_000;
const MOST_STREAMS = 50_000;
/**
 * The most objects that say they are a page, and lists with a count: far more than the pages a
 * model takes.
 */
const MOST_COUNTED = 10_000;
/** Characters between the type of a stream and its beginning. */
const DICTIONARY = 2_000;

/**
 * Counts the pages of a PDF without reading it: by the objects that say they are one, and by the
 * largest count of a list. A file that was changed keeps old pages, and other lists have counts, so
 * the smaller of the two is taken. It takes a fifth of a second at most, whatever is in the file:
 * each part is looked at once, and how many there are, and how large they unpack, is bounded.
 * Returns null when no page is found, or pages cannot be counted.
 */
export function countPdfPages(bytes: Buffer): number | null {
  const text = bytes.toString('latin1');
  const streams = unpackObjectStreams(bytes, text);
  if (streams === null) return null;
  const all = [text, ...streams];
  let objects = 0;
  for (const _ of findMatches(all, /\/Type\s*\/Page(?![A-Za-z])/g)) objects += 1;
  if (objects === 0) return null;
  let listed = 0;
  for (const [, count] of findMatches(all, /\/Count\s+(\d{1,7})/g)) listed = Math.max(listed, Number(count));
  return listed === 0 ? objects : Math.min(objects, listed);
}

function* findMatches(texts: readonly string[], pattern: RegExp): Iterable<RegExpExecArray> {
  let left = MOST_COUNTED;
  for (const text of texts)
    for (const found of text.matchAll(pattern)) {
      yield found;
      left -= 1;
      if (left === 0) return;
    }
}

/**
 * Returns null when a stream is broken or packed another way, or when they are too many or too
 * large together.
 */
function unpackObjectStreams(bytes: Buffer, text: string): readonly string[] | null {
  const streams: string[] = [];
  const opening = /(?<!end)stream\r?\n/g;
  let left = MOST_INFLATED;
  let end = 0;
  let count = 0;
  for (let begin = opening.exec(text); begin !== null; begin = opening.exec(text)) {
    if ((count += 1) > MOST_STREAMS) return null;
    const from = opening.lastIndex;
    const isOfObjects = text.slice(Math.max(end, begin.index - DICTIONARY), begin.index).includes('/ObjStm');
    const close = text.indexOf('endstream', from);
    if (close < 0) break;
    end = close + 'endstream'.length;
    opening.lastIndex = end;
    if (!isOfObjects) continue;
    if (streams.length === MOST_OBJECT_STREAMS) return null;
    try {
      const inflated = inflateSync(bytes.subarray(from, close), { maxOutputLength: left });
      left -= inflated.length;
      streams.push(inflated.toString('latin1'));
    } catch {
      return null;
    }
    if (left <= 0) return null;
  }
  return streams;
}

/** Bytes that are enough for `detectMediaType`. */
export const MEDIA_START = 12;

/** Detects the type of an image or a PDF, and the size of an image, from its first bytes. */
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
