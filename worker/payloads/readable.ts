// A codec that makes every payload one that the SDK can decode: whatever it would throw over becomes a value that says so. Its
// decoding comes before any handler of ours, and what it throws over fails a workflow task on every try.
import { METADATA_ENCODING_KEY, type Payload, type PayloadCodec } from '@temporalio/common';
import { markUndecodable, type Undecodable } from '../../workflows/contract/undecodable.ts';

const JSON_PLAIN = 'json/plain';
/** What the SDK's converter can always read. */
const BINARY: readonly string[] = ['binary/null', 'binary/plain'];

/** Levels of JSON. What is nested thousands deep cannot be written again: the stack does not reach. */
const DEEPEST = 500;

const bytes = new TextEncoder();
const text = new TextDecoder();

export const readableCodec: PayloadCodec = {
  encode: (payloads) => Promise.resolve(payloads),
  decode: (payloads) => Promise.resolve(payloads.map(readable)),
};

/** The same, or a payload that holds the mark. */
export function readable(payload: Payload): Payload {
  const why = problemOf(payload);
  return why === undefined ? payload : unreadable({ why, elsewhere: false });
}

export function unreadable(what: Undecodable): Payload {
  const data = bytes.encode(JSON.stringify(markUndecodable(what)));
  return { metadata: { [METADATA_ENCODING_KEY]: bytes.encode(JSON_PLAIN) }, data };
}

export function encodingOf({ metadata }: Payload): string {
  const encoding = metadata?.[METADATA_ENCODING_KEY];
  return encoding ? text.decode(encoding) : '';
}

function problemOf(payload: Payload): string | undefined {
  const encoding = encodingOf(payload);
  if (BINARY.includes(encoding)) return undefined;
  if (encoding !== JSON_PLAIN)
    return `has the encoding ${JSON.stringify(encoding.slice(0, 80))}, which nothing here reads`;
  const data = payload.data ?? new Uint8Array();
  if (isTooDeep(data)) return `is JSON of more than ${DEEPEST} levels`;
  try {
    JSON.parse(text.decode(data));
    return undefined;
  } catch {
    return 'is broken JSON';
  }
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const OPEN: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSE: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** By its bytes, for the depth is to be known before anything recurses into it. */
function isTooDeep(data: Uint8Array): boolean {
  if (data.length <= DEEPEST) return false;
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < data.length; at += 1) {
    const byte = data[at]!;
    if (quoted) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) quoted = false;
    } else if (byte === QUOTE) quoted = true;
    else if (OPEN.has(byte) && (depth += 1) > DEEPEST) return true;
    else if (CLOSE.has(byte)) depth -= 1;
  }
  return false;
}
