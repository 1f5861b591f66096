// The codec that seals payloads: AES-256-GCM under a key of the data folder, bound to the session,
// and for an activity to its name. A payload that was not sealed by a holder of the key, or for
// another session or activity, becomes a value that says so.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { METADATA_ENCODING_KEY, type Payload, type PayloadCodec, type SerializationContext } from '@temporalio/common';
import type { Log } from '../../system/log.ts';
import { firingOf } from '../../workflows/contract/schedules/firing.ts';
import { markUndecodable, type Undecodable } from '../../workflows/contract/undecodable.ts';
import type { KeyRing } from './key-ring.ts';

const SEALED = 'binary/encrypted';

/**
 * A sealed payload has format, key id, nonce and tag, then the ciphertext. Random nonces are good
 * for 2^32 payloads a key, a billion turns.
 */
const FORMAT = 1;
const ID = 4;
const NONCE = 12;
const TAG = 16;
const HEAD = 1 + ID + NONCE + TAG;
/** The encodings that are sealed, by index; the SDK's own converter writes only these. */
const ENCODINGS = ['json/plain', 'binary/null', 'binary/plain'] as const;

/**
 * The metadata that names the place a payload is sealed for. Workers never read it, since they know
 * where they found a payload; a codec server doesn't. The server knows all of it anyway.
 */
const PLACE_KEY = 'perdure-place';

/**
 * The most key ids that are reported: anyone can send payloads sealed with keys that do not exist.
 */
const MOST_REPORTED = 20;

/** Creates the codec. Each missing key is logged once. */
export function createSealingCodec(keys: KeyRing, log: Log): PayloadCodec {
  const reported = new Set<string>();
  const missing = (id: string): string => {
    const why = `is sealed with key ${id}, which is not in ${keys.path}`;
    if (!reported.has(id) && reported.size < MOST_REPORTED)
      log('warn', `a payload ${why}: what needs it waits for a worker that has the key`);
    reported.add(id);
    return why;
  };
  const codec: PayloadCodec = {
    encode: (payloads, context) => Promise.resolve(payloads.map((payload) => sealPayload(keys, payload, context))),
    decode: (payloads, context) =>
      Promise.resolve(payloads.map((payload) => openPayload({ keys, missing }, payload, placeBytes(context)))),
  };
  safeCodecs.add(codec);
  return codec;
}

function sealPayload(keys: KeyRing, payload: Payload, context: SerializationContext | undefined): Payload {
  const encoding = ENCODINGS.findIndex((known) => known === encodingOf(payload));
  if (encoding < 0) throw new Error(`a payload of encoding ${encodingOf(payload)} cannot be sealed`);
  const { id, key } = keys.active();
  const nonce = randomBytes(NONCE);
  const place = placeBytes(context);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  cipher.setAAD(place);
  const text = [cipher.update(Buffer.of(encoding)), cipher.update(Buffer.from(payload.data ?? [])), cipher.final()];
  const data = Buffer.concat([Buffer.of(FORMAT), Buffer.from(id, 'hex'), nonce, cipher.getAuthTag(), ...text]);
  const named = place.length > 0 && { [PLACE_KEY]: place };
  return { metadata: { [METADATA_ENCODING_KEY]: Buffer.from(SEALED), ...named }, data };
}

type Opening = { readonly keys: KeyRing; readonly missing: (id: string) => string };

/**
 * Opens a payload for people, at the place that it names itself. It proves that a holder of the key
 * sealed it for that place of the namespace, and not that it was found there. What isn't sealed is
 * returned as it is.
 */
export function openNamedPlace(keys: KeyRing, namespace: string, payload: Payload): Payload {
  if (encodingOf(payload) !== SEALED) return payload;
  const place = payload.metadata?.[PLACE_KEY];
  if (!place) return markUnreadable({ why: 'names no place: an older Perdure sealed it', elsewhere: true });
  if (namespaceOf(place) !== namespace)
    return markUnreadable({ why: `is not of namespace ${namespace}`, elsewhere: true });
  const missing = (id: string): string => `is sealed with key ${id}, which is not here`;
  return openPayload({ keys, missing }, payload, Buffer.from(place));
}

/** Returns undefined for a place that nothing was sealed for. */
function namespaceOf(place: Uint8Array): unknown {
  try {
    const [, namespace] = JSON.parse(Buffer.from(place).toString()) as readonly unknown[];
    return namespace;
  } catch {
    return undefined;
  }
}

function openPayload({ keys, missing }: Opening, payload: Payload, place: Buffer): Payload {
  const forged = (why: string): Payload => markUnreadable({ why, elsewhere: false });
  if (encodingOf(payload) !== SEALED) return forged('is not sealed with a key of this data folder');
  const data = Buffer.from(payload.data ?? []);
  if (data.length <= HEAD || data[0] !== FORMAT) return forged('is sealed in a format that this version does not know');
  const id = data.subarray(1, 1 + ID).toString('hex');
  const key = keys.find(id)?.key;
  if (!key) return markUnreadable({ why: missing(id), elsewhere: true });
  const decipher = createDecipheriv('aes-256-gcm', key, data.subarray(1 + ID, 1 + ID + NONCE), { authTagLength: TAG });
  decipher.setAAD(place);
  decipher.setAuthTag(data.subarray(1 + ID + NONCE, HEAD));
  try {
    const text = Buffer.concat([decipher.update(data.subarray(HEAD)), decipher.final()]);
    const encoding = ENCODINGS[text[0] ?? -1];
    if (!encoding) return forged('is sealed in a format that this version does not know');
    return makeReadable({ metadata: { [METADATA_ENCODING_KEY]: Buffer.from(encoding) }, data: text.subarray(1) });
  } catch {
    // The tag does not fit: the payload was changed, or sealed for another session or activity.
    return forged(`was not sealed with key ${id} for this place`);
  }
}

/**
 * Returns the place that a payload is bound to, so that a captured one opens nowhere else. Payloads
 * of a schedule's firings are bound to the schedule: their input is sealed once.
 */
function placeBytes(context: SerializationContext | undefined): Buffer {
  if (!context) return Buffer.of();
  const { type, namespace, workflowId } = context;
  const activity = context.type === 'activity' ? (context.activityId ?? '') : '';
  const place = firingOf(workflowId ?? '')?.schedule ?? workflowId ?? '';
  return Buffer.from(JSON.stringify([type, namespace, place, activity]));
}

// A codec that makes every payload one that the SDK can decode: a payload that it would throw over
// becomes a value that says so. Decoding comes before any handler of ours, and an error there fails
// a workflow task on every try.
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
