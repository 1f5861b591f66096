// Finds every hash in a message of the Temporal server: in its fields, and in its decoded payloads.
// It ignores what a field means: a text that only looks like a hash keeps an unneeded value, which
// is the safe mistake.
import type { Client } from '@temporalio/client';
import type { Payload, SerializationContext } from '@temporalio/common';
import { type Hash, isHash, type SessionId } from '../../workflows/contract/ids.ts';
import { findUndecodable } from '../../workflows/contract/undecodable.ts';
import { dataOf, encodingOf } from '../../connection/payloads/sealing-codec.ts';
import { parseStored } from '../../store/values/store.ts';
import { ClientProblem } from '../problem.ts';

const HASH = /(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/g;

export function hashesIn(bytes: Uint8Array | string): readonly Hash[] {
  const text =
    typeof bytes === 'string' ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  return [...text.matchAll(HASH)].map(([hash]) => hash).filter(isHash);
}

/** Encodings that are readable without a codec. */
const PLAIN: ReadonlySet<string> = new Set([
  'json/plain',
  'binary/plain',
  'binary/null',
  'json/protobuf',
  'binary/protobuf',
]);

type PayloadSource = {
  readonly client: Client;
  readonly session: SessionId;
  /** Contexts that its payloads may be sealed for, the likeliest first. */
  readonly contexts: readonly SerializationContext[];
};

/** Adds to `found`. Throws ClientProblem for a payload that cannot be read. */
export async function scanMessage(message: unknown, found: Set<Hash>, sealed: PayloadSource): Promise<void> {
  if (typeof message === 'string') return addAll(found, hashesIn(message));
  if (typeof message !== 'object' || message === null || message instanceof Uint8Array) return;
  if (isPayload(message)) return addAll(found, hashesIn(await decodePayload(message, sealed)));
  for (const field of Object.values(message)) await scanMessage(field, found, sealed);
}

function addAll(found: Set<Hash>, hashes: readonly Hash[]): void {
  for (const hash of hashes) found.add(hash);
}

function isPayload(message: object): message is Payload {
  const { metadata } = message as Payload;
  if (typeof metadata !== 'object' || metadata === null) return false;
  const values: readonly unknown[] = Object.values(metadata);
  return values.length > 0 && values.every((value) => value instanceof Uint8Array);
}

async function decodePayload(payload: Payload, { client, session, contexts }: PayloadSource): Promise<Uint8Array> {
  if (PLAIN.has(encodingOf(payload))) return dataOf(payload);
  let why = 'cannot be decoded';
  for (const context of contexts) {
    const opened = await decode(client, payload, context);
    if (typeof opened === 'string') why = opened;
    else return opened;
  }
  const what = `a payload of session ${session} ${why}`;
  const remedy = `run it where its key or codec is, or, if nobody needs the session, delete it (\`temporal workflow delete -w ${session}\`)`;
  throw new ClientProblem('refused', `${what}: what it names is not known, and nothing was deleted; ${remedy}`);
}

/** Returns the bytes, or why they cannot be read. */
async function decode(client: Client, payload: Payload, context: SerializationContext): Promise<Uint8Array | string> {
  let payloads = [payload];
  try {
    for (const codec of client.options.loadedDataConverter.payloadCodecs.toReversed())
      payloads = await codec.decode(payloads, context);
  } catch (error) {
    return `cannot be decoded (${error instanceof Error ? error.message : String(error)})`;
  }
  const data = dataOf(payloads[0] ?? payload);
  const unread = findUndecodable(parseStored(data));
  return unread === null ? data : unread.why;
}
