// Counts the pages of a PDF without reading it: by the objects that say they are one, and by the
// largest count of a list. A file that was changed keeps old pages, and other lists have counts, so
// the smaller of the two is taken. It takes a fifth of a second at most, whatever is in the file:
// each part is looked at once, and how many there are, and how large they unpack, is bounded.
import { inflateSync } from 'node:zlib';

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
export const MOST_COUNTED = 10_000;
/** Characters between the type of a stream and its beginning. */
const DICTIONARY = 2_000;

/** Returns null when no page is found, or pages cannot be counted. */
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
  let seen = 0;
  for (let begin = opening.exec(text); begin !== null; begin = opening.exec(text)) {
    if ((seen += 1) > MOST_STREAMS) return null;
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
