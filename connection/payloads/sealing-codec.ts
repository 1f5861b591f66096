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
