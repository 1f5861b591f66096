// Records the ids assigned to a request before it takes effect, so that a retry finds them (G21).
// SDKs send no key: a retry is recognised by its count, and intentional duplicates stay apart.
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { parseStored } from '../client/faces/sessions.ts';
import { findNewest } from '../client/faces/stored.ts';
import type { Store } from '../client/faces/types.ts';
import { invalid } from './errors.ts';
import { newId, type Prefix } from './ids.ts';

/** Milliseconds for which a retry finds the request before it. */
const RETRY_MS = 15 * 60_000;
const LONGEST_KEY = 200;

const recordShape = z.object({ at: z.number(), ids: z.array(z.string()), body: z.string() });
type RequestRecord = z.output<typeof recordShape>;

export type Repeatable = {
  readonly person: string;
  readonly path: string;
  readonly body: unknown;
  /** The header Idempotency-Key. */
  readonly key: string | undefined;
  /** The header x-stainless-retry-count; 0 where it is absent. */
  readonly retries: number;
};

type Ports = { readonly store: Store; readonly now: () => number };

/** Returns the ids of the request: those of its first try, or new ones. Throws ManagedError. */
export async function reserveIds(
  ports: Ports,
  request: Repeatable,
  makeIds: () => readonly string[],
): Promise<readonly string[]> {
  const { person, path, body, key, retries } = request;
  const content = hash([body]);
  const fresh = { at: ports.now(), ids: [...makeIds()], body: content };
  if (key !== undefined) return reserveByKey(ports, `managed/keys/${hash([person, path, checkKey(key)])}`, fresh);
  const folder = `managed/requests/${hash([person, path, content])}`;
  const newest = await findNewest(async (n) => (await ports.store.read(`${folder}/${n}`)) !== null);
  if (retries > 0 && newest > 0) {
    const known = parseRecord(await ports.store.read(`${folder}/${newest}`));
    if (known && fresh.at - known.at < RETRY_MS) return known.ids;
  }
  for (let n = newest + 1; ; n += 1) {
    const { kind } = await ports.store.create(`${folder}/${n}`, encode(fresh));
    if (kind === 'created') return fresh.ids;
  }
}

export const reserveId = async (ports: Ports, request: Repeatable, prefix: Prefix): Promise<string> =>
  (await reserveIds(ports, request, () => [newId(prefix)]))[0]!;

async function reserveByKey({ store }: Ports, name: string, fresh: RequestRecord): Promise<readonly string[]> {
  const outcome = await store.create(name, encode(fresh));
  if (outcome.kind === 'created') return fresh.ids;
  const known = parseRecord(outcome.bytes);
  if (known?.body === fresh.body) return known.ids;
  throw invalid('Idempotency-Key: it was sent with another body before', undefined, 'idempotency_key_reused');
}

function checkKey(key: string): string {
  if (/^[\x21-\x7e]+$/.test(key) && key.length <= LONGEST_KEY) return key;
  throw invalid(`Idempotency-Key: give 1 to ${LONGEST_KEY} printable characters without blanks`);
}

const encode = (record: RequestRecord): Uint8Array => Buffer.from(JSON.stringify(record));
const parseRecord = (bytes: Uint8Array | null): RequestRecord | undefined =>
  recordShape.safeParse(bytes && parseStored(bytes)).data;
const hash = (parts: readonly unknown[]): string => createHash('sha256').update(JSON.stringify(parts)).digest('hex');
