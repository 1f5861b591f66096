// A codec that makes every payload one that the SDK can decode: a payload that it would throw over
// becomes a value that says so. Decoding comes before any handler of ours, and an error there fails
// a workflow task on every try.
import { type PayloadCodec, METADATA_ENCODING_KEY, type Payload } from '@temporalio/common';
import { markUndecodable, type Undecodable } from '../../workflows/contract/undecodable.ts';

/** Codecs whose `decode` never throws, and returns a payload that can be read. */
export const safeCodecs = new WeakSet<PayloadCodec>();

const JSON_PLAIN = 'json/plain';
/** Encodings that the SDK's converter can always read. */
const BINARY: readonly string[] = ['binary/null', 'binary/plain'];

/**
 * Levels of JSON. A value that is nested thousands deep cannot be written again: it would overflow
 * the stack.
 */
const DEEPEST_JSON = 500;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export const readableCodec: PayloadCodec = {
  encode: (payloads) => Promise.resolve(payloads),
  decode: (payloads) => Promise.resolve(payloads.map(makeReadable)),
};
safeCodecs.add(readableCodec);

/** Returns the same payload, or one that holds the mark. */
export function makeReadable(payload: Payload): Payload {
  const why = readingProblem(payload);
  return why === undefined ? payload : markUnreadable({ why, elsewhere: false });
}

export function markUnreadable(what: Undecodable): Payload {
  const data = encoder.encode(JSON.stringify(markUndecodable(what)));
  return { metadata: { [METADATA_ENCODING_KEY]: encoder.encode(JSON_PLAIN) }, data };
}

export function encodingOf({ metadata }: Payload): string {
  const encoding = metadata?.[METADATA_ENCODING_KEY];
  return encoding ? decoder.decode(encoding) : '';
}

/**
 * Returns the data. A payload that came without data has an empty list there, as protobufjs makes
 * it.
 */
export function dataOf({ data }: Payload): Uint8Array {
  return data && ArrayBuffer.isView(data) ? data : new Uint8Array();
}

function readingProblem(payload: Payload): string | undefined {
  const encoding = encodingOf(payload);
  if (BINARY.includes(encoding)) return undefined;
  if (encoding !== JSON_PLAIN)
    return `has the encoding ${JSON.stringify(encoding.slice(0, 80))}, which this version cannot read`;
  const data = dataOf(payload);
  if (isTooDeep(data)) return `is JSON of more than ${DEEPEST_JSON} levels`;
  try {
    JSON.parse(decoder.decode(data));
    return undefined;
  } catch {
    return 'is broken JSON';
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSE: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** Scans the bytes, because the depth must be known before anything recurses into it. */
function isTooDeep(data: Uint8Array): boolean {
  if (data.length <= DEEPEST_JSON) return false;
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < data.length; at += 1) {
    const byte = data[at]!;
    if (quoted) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) quoted = false;
    } else if (byte === QUOTE) quoted = true;
    else if (OPEN.has(byte) && (depth += 1) > DEEPEST_JSON) return true;
    else if (CLOSE.has(byte)) depth -= 1;
  }
  return false;
}
