// Checks the limits on the images of a whole request, those of old turns and of results included:
// their number, their bytes, their pixels a side.
import type { ModelProfile } from '../models/model-profile.ts';
import { problemWithCode, firstProblem, isObject, type Json, type RequestProblem } from './shape.ts';

/** Base64 characters. */
const MOST_BYTES = 10 * 1_024 * 1_024;
const MOST_PIXELS = 8_000;
/** From this many images on, each side may have no more pixels than the limit below. */
const MANY = 20;
const MOST_PIXELS_OF_MANY = 2_000;
const MOST_MESSAGES = 100_000;

type Image = { readonly path: string; readonly data: string };

export function sizesProblem({ messages }: Json, profile: ModelProfile | undefined): RequestProblem | undefined {
  const list = messages as readonly Json[];
  if (list.length > MOST_MESSAGES)
    return `messages: at most ${MOST_MESSAGES} messages are allowed, and got ${list.length}`;
  const images = list.flatMap(({ content }, index) => listImages(content, `messages.${index}.content`));
  const most = profile === undefined || profile.window > 200_000 ? 600 : 100;
  if (images.length > most) return `messages: too many images and document pages: ${images.length} > ${most}`;
  const heavy = firstProblem(images, ({ path, data }) =>
    data.length <= MOST_BYTES
      ? undefined
      : `${path}.image.source.base64: image exceeds 10 MB maximum: ${data.length} bytes > ${MOST_BYTES} bytes`,
  );
  return heavy ?? pixelsProblem(images);
}

function pixelsProblem(images: readonly Image[]): RequestProblem | undefined {
  const many = images.length > MANY;
  const most = many ? MOST_PIXELS_OF_MANY : MOST_PIXELS;
  const large = images.filter(({ data }) => Math.max(0, ...readSides(Buffer.from(data, 'base64'))) > most);
  const [first] = large;
  if (first === undefined) return undefined;
  const limit = many ? `for many-image requests: ${most} pixels` : `: ${most} pixels`;
  const words = `At least one of the image dimensions exceed max allowed size${many ? ' ' : ''}${limit}`;
  const paths = large.map(({ path }) => path);
  const more = { paths, max_side_length_pixels: most };
  return problemWithCode(`${first.path}.image.source.base64.data: ${words}`, 'image_dimensions_too_large', more);
}

function listImages(content: unknown, path: string): readonly Image[] {
  if (!Array.isArray(content)) return [];
  return (content as unknown[]).flatMap((block, at): readonly Image[] => {
    if (!isObject(block)) return [];
    const own = `${path}.${at}`;
    const { type, source } = block;
    if (type === 'tool_result') return listImages(block['content'], `${own}.content`);
    if (type !== 'image') return [];
    return [{ path: own, data: isObject(source) && source['type'] === 'base64' ? String(source['data']) : '' }];
  });
}

/**
 * Reads width and height in pixels from the file's head; empty for bytes that are not a picture.
 */
function readSides(bytes: Buffer): readonly number[] {
  if (bytes.length < 30) return [];
  if (bytes.readUInt32BE(0) === 0x89504e47) return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  if (bytes.toString('latin1', 0, 3) === 'GIF') return [bytes.readUInt16LE(6), bytes.readUInt16LE(8)];
  if (bytes.toString('latin1', 8, 12) === 'WEBP') return readWebpSides(bytes);
  return bytes.readUInt16BE(0) === 0xffd8 ? readJpegSides(bytes) : [];
}

function readWebpSides(bytes: Buffer): readonly number[] {
  const kind = bytes.toString('latin1', 12, 16);
  if (kind === 'VP8X') return [bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1];
  if (kind === 'VP8 ') return [bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff];
  const packed = bytes.readUInt32LE(21);
  return [(packed & 0x3fff) + 1, ((packed >> 14) & 0x3fff) + 1];
}

/** Reads a JPEG's size from the segment that starts its frame, after any number of others. */
function readJpegSides(bytes: Buffer): readonly number[] {
  for (let at = 2; at + 9 < bytes.length && bytes[at] === 0xff;) {
    const marker = bytes[at + 1] ?? 0;
    const startsFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (startsFrame) return [bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5)];
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return [];
}
