// The codec that seals payloads: AES-256-GCM under a key of the data folder, bound to the session,
// and for an activity to its name. A payload that was not sealed by a holder of the key, or for
// another session or activity, becomes a value that says so.
import type { Log } from '../../system/log.ts';
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { METADATA_ENCODING_KEY, type Payload, type PayloadCodec, type SerializationContext } from '@temporalio/common';
import type { KeyRing } from './key-ring.ts';
import { firingOf } from '../../workflows/contract/schedules/firing.ts';
import { safeCodecs, makeReadable, markUnreadable, encodingOf } from './readable-codec.ts';

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

const sealedMetadata = { [METADATA_ENCODING_KEY]: Buffer.from(SEALED) };

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
      Promise.resolve(payloads.map((payload) => openPayload({ keys, missing }, payload, context))),
  };
  safeCodecs.add(codec);
  return codec;
}

function sealPayload(keys: KeyRing, payload: Payload, context: SerializationContext | undefined): Payload {
  const encoding = ENCODINGS.findIndex((known) => known === encodingOf(payload));
  if (encoding < 0) throw new Error(`a payload of encoding ${encodingOf(payload)} cannot be sealed`);
  const { id, key } = keys.active();
  const nonce = randomBytes(NONCE);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  cipher.setAAD(placeBytes(context));
  const text = [cipher.update(Buffer.of(encoding)), cipher.update(Buffer.from(payload.data ?? [])), cipher.final()];
  const data = Buffer.concat([Buffer.of(FORMAT), Buffer.from(id, 'hex'), nonce, cipher.getAuthTag(), ...text]);
  return { metadata: sealedMetadata, data };
}

type Opening = { readonly keys: KeyRing; readonly missing: (id: string) => string };

function openPayload({ keys, missing }: Opening, payload: Payload, context: SerializationContext | undefined): Payload {
  const forged = (why: string): Payload => markUnreadable({ why, elsewhere: false });
  if (encodingOf(payload) !== SEALED) return forged('is not sealed with a key of this data folder');
  const data = Buffer.from(payload.data ?? []);
  if (data.length <= HEAD || data[0] !== FORMAT) return forged('is sealed in a format that this version does not know');
  const id = data.subarray(1, 1 + ID).toString('hex');
  const key = keys.find(id)?.key;
  if (!key) return markUnreadable({ why: missing(id), elsewhere: true });
  const decipher = createDecipheriv('aes-256-gcm', key, data.subarray(1 + ID, 1 + ID + NONCE), { authTagLength: TAG });
  decipher.setAAD(placeBytes(context));
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
