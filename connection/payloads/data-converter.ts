// The one place that says how payloads are written and read: every client and every worker takes
// its converter from here, by the keys of the server that it talks to.
import type { Log } from '../../system/log.ts';
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import {
  defaultFailureConverter,
  defaultPayloadConverter,
  type LoadedDataConverter,
  METADATA_ENCODING_KEY,
  type Payload,
  type PayloadCodec,
  type SerializationContext,
} from '@temporalio/common';
import type { WorkerOptions } from '@temporalio/worker';
import { pathOfBuiltFile } from '../../system/process/places.ts';
import type { KeyRing } from './key-ring.ts';
import { reasonOf } from '../../system/text.ts';
import { firingOf } from '../../workflows/contract/schedules/firing.ts';
import { markUndecodable, type Undecodable } from '../../workflows/contract/failures.ts';

const codecs = (keys: KeyRing | undefined, log: Log) => [keys ? sealingCodec(keys, log) : readableCodec];

/** Those whose `decode` never throws, and gives what can be read. */
const ours = new WeakSet<PayloadCodec>();

/** For `Worker.create`. Failures are written by the same converter as in the bundle. */
export function workerConverter(keys: KeyRing | undefined, log: Log): NonNullable<WorkerOptions['dataConverter']> {
  return { failureConverterPath: pathOfBuiltFile('workflows/bundled.js'), payloadCodecs: codecs(keys, log) };
}

/** For `new Client`, which takes it loaded as well: a client needs no built file. */
export function clientConverter(keys: KeyRing | undefined): LoadedDataConverter {
  return {
    payloadConverter: defaultPayloadConverter,
    failureConverter: defaultFailureConverter,
    // A client says itself what it cannot read.
    payloadCodecs: codecs(keys, () => undefined),
  };
}

/**
 * Of a client of the user's own, which may throw over what it was not made for: what it cannot read
 * becomes a value that says so.
 */
export function readableConverter(theirs: LoadedDataConverter): LoadedDataConverter {
  const { payloadConverter, payloadCodecs } = theirs;
  if (payloadCodecs.some((codec) => ours.has(codec))) return theirs;
  const decode = async (payload: Payload, context: SerializationContext | undefined): Promise<Payload> => {
    try {
      let decoded = [payload];
      for (const codec of payloadCodecs.toReversed()) decoded = await codec.decode(decoded, context);
      const [only = payload] = decoded;
      payloadConverter.fromPayload(only);
      return only;
    } catch (error) {
      return markUnreadable({ why: `cannot be read by this client (${reasonOf(error)})`, elsewhere: true });
    }
  };
  const encode: PayloadCodec['encode'] = async (payloads, context) => {
    let encoded = payloads;
    for (const codec of payloadCodecs) encoded = await codec.encode(encoded, context);
    return encoded;
  };
  const codec: PayloadCodec = {
    encode,
    decode: (payloads, context) => Promise.all(payloads.map((payload) => decode(payload, context))),
  };
  ours.add(codec);
  return { ...theirs, payloadCodecs: [codec] };
}

// A codec that makes every payload one that the SDK can decode: whatever it would throw over
// becomes a value that says so. Its decoding comes before any handler of ours, and what it throws
// over fails a workflow task on every try.

const JSON_PLAIN = 'json/plain';
/** Encodings that the SDK's converter can always read. */
const BINARY: readonly string[] = ['binary/null', 'binary/plain'];

/**
 * Levels of JSON. What is nested thousands deep cannot be written again: the stack does not reach.
 */
const DEEPEST = 500;

const bytes = new TextEncoder();
const decoder = new TextDecoder();

export const readableCodec: PayloadCodec = {
  encode: (payloads) => Promise.resolve(payloads),
  decode: (payloads) => Promise.resolve(payloads.map(makeReadable)),
};
ours.add(readableCodec);

/** The same, or a payload that holds the mark. */
export function makeReadable(payload: Payload): Payload {
  const why = problemOf(payload);
  return why === undefined ? payload : markUnreadable({ why, elsewhere: false });
}

export function markUnreadable(what: Undecodable): Payload {
  const data = bytes.encode(JSON.stringify(markUndecodable(what)));
  return { metadata: { [METADATA_ENCODING_KEY]: bytes.encode(JSON_PLAIN) }, data };
}

export function encodingOf({ metadata }: Payload): string {
  const encoding = metadata?.[METADATA_ENCODING_KEY];
  return encoding ? decoder.decode(encoding) : '';
}

/** A payload that came without data has an empty list there, as protobufjs makes it. */
export function dataOf({ data }: Payload): Uint8Array {
  return data && ArrayBuffer.isView(data) ? data : new Uint8Array();
}

function problemOf(payload: Payload): string | undefined {
  const encoding = encodingOf(payload);
  if (BINARY.includes(encoding)) return undefined;
  if (encoding !== JSON_PLAIN)
    return `has the encoding ${JSON.stringify(encoding.slice(0, 80))}, which this version cannot read`;
  const data = dataOf(payload);
  if (isTooDeep(data)) return `is JSON of more than ${DEEPEST} levels`;
  try {
    JSON.parse(decoder.decode(data));
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

// The codec that seals payloads: AES-256-GCM under a key of the data folder, bound to the session,
// and for an activity to its name. What was not sealed by a holder of the key, or for another
// session or activity, becomes a value that says so.

export const SEALED = 'binary/encrypted';

/**
 * Format, key id, nonce, tag; then the ciphertext. Random nonces are good for 2^32 payloads a key,
 * a billion turns.
 */
const FORMAT = 1;
const [ID, NONCE, TAG, HEAD] = [4, 12, 16, 1 + 4 + 12 + 16];
/** The encodings that are sealed, by index: the SDK's own converter writes no other. */
const ENCODINGS = ['json/plain', 'binary/null', 'binary/plain'] as const;

const sealedMetadata = { [METADATA_ENCODING_KEY]: Buffer.from(SEALED) };

/** Ids that are told of: anyone can send what is sealed with keys that do not exist. */
const MOST_TOLD = 20;

/** Each key that is missing is logged once. */
export function sealingCodec(keys: KeyRing, log: Log): PayloadCodec {
  const told = new Set<string>();
  const missing = (id: string): string => {
    const why = `is sealed with key ${id}, which is not in ${keys.path}`;
    if (!told.has(id) && told.size < MOST_TOLD)
      log('warn', `a payload ${why}: what needs it waits for a worker that has the key`);
    told.add(id);
    return why;
  };
  const codec: PayloadCodec = {
    encode: (payloads, context) => Promise.resolve(payloads.map((payload) => seal(keys, payload, context))),
    decode: (payloads, context) =>
      Promise.resolve(payloads.map((payload) => open({ keys, missing }, payload, context))),
  };
  ours.add(codec);
  return codec;
}

function seal(keys: KeyRing, payload: Payload, context: SerializationContext | undefined): Payload {
  const encoding = ENCODINGS.findIndex((known) => known === encodingOf(payload));
  if (encoding < 0) throw new Error(`a payload of encoding ${encodingOf(payload)} cannot be sealed`);
  const { id, key } = keys.active();
  const nonce = randomBytes(NONCE);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  cipher.setAAD(boundTo(context));
  const text = [cipher.update(Buffer.of(encoding)), cipher.update(Buffer.from(payload.data ?? [])), cipher.final()];
  const data = Buffer.concat([Buffer.of(FORMAT), Buffer.from(id, 'hex'), nonce, cipher.getAuthTag(), ...text]);
  return { metadata: sealedMetadata, data };
}

type Opening = { readonly keys: KeyRing; readonly missing: (id: string) => string };

function open({ keys, missing }: Opening, payload: Payload, context: SerializationContext | undefined): Payload {
  const forged = (why: string): Payload => markUnreadable({ why, elsewhere: false });
  if (encodingOf(payload) !== SEALED) return forged('is not sealed with a key of this data folder');
  const data = Buffer.from(payload.data ?? []);
  if (data.length <= HEAD || data[0] !== FORMAT) return forged('is sealed in a format that this version does not know');
  const id = data.subarray(1, 1 + ID).toString('hex');
  const key = keys.find(id)?.key;
  if (!key) return markUnreadable({ why: missing(id), elsewhere: true });
  const decipher = createDecipheriv('aes-256-gcm', key, data.subarray(1 + ID, 1 + ID + NONCE), { authTagLength: TAG });
  decipher.setAAD(boundTo(context));
  decipher.setAuthTag(data.subarray(1 + ID + NONCE, HEAD));
  try {
    const text = Buffer.concat([decipher.update(data.subarray(HEAD)), decipher.final()]);
    const encoding = ENCODINGS[text[0] ?? -1];
    if (!encoding) return forged('is sealed in a format that this version does not know');
    return makeReadable({ metadata: { [METADATA_ENCODING_KEY]: Buffer.from(encoding) }, data: text.subarray(1) });
  } catch {
    // The tag does not fit: changed, or sealed for another session or activity.
    return forged(`was not sealed with key ${id} for this place`);
  }
}

/**
 * A payload that was captured opens nowhere else. Those of a schedule's firings are bound to the
 * schedule: what they start with is sealed once.
 */
function boundTo(context: SerializationContext | undefined): Buffer {
  if (!context) return Buffer.of();
  const { type, namespace, workflowId } = context;
  const activity = context.type === 'activity' ? (context.activityId ?? '') : '';
  const place = firingOf(workflowId ?? '')?.schedule ?? workflowId ?? '';
  return Buffer.from(JSON.stringify([type, namespace, place, activity]));
}
