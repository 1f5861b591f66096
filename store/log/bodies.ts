// Reads the parts of messages and results that do not travel through the workflow: long texts,
// images and documents. Each is read from the store once, and kept while there is room.
import type { Hash } from '../../workflows/contract/ids.ts';
import type { Entry } from './entries.ts';
import type { Store } from '../values/store.ts';
import type { MessageBody } from '../../workflows/contract/people.ts';

/** Texts by their hash, images and documents in base64 by their `mediaKey`. */
export type Bodies = ReadonlyMap<Hash, string>;

export type BodyReader = (entries: readonly Entry[]) => Promise<Bodies>;

/**
 * Returns a key apart from the text's: the same bytes may be a text of one message and an image of
 * another.
 */
export function mediaKey(hash: Hash): Hash {
  return `media ${hash}` as Hash;
}

/**
 * Keeps `maxCharacters` from call to call; what one call needs is read whatever its size. The
 * reader throws StoreError.
 */
export function createBodyReader(store: Store, { maxCharacters = 16 * 1024 * 1024 } = {}): BodyReader {
  const cache = new Map<Hash, string>();
  let size = 0;

  const read = async ([key, { hash, decode }]: [Hash, StoredPart]): Promise<[Hash, string]> => {
    const known = cache.get(key);
    if (known !== undefined) return [key, known];
    const text = decode(await store.get(hash));
    if (!cache.has(key)) size += text.length;
    cache.set(key, text);
    return [key, text];
  };
  const trim = (): void => {
    for (const [hash, text] of cache) {
      if (size <= maxCharacters) return;
      cache.delete(hash);
      size -= text.length;
    }
  };

  return async (entries) => {
    const bodies = new Map(await Promise.all([...listStoredParts(entries)].map(read)));
    trim();
    return bodies;
  };
}

type StoredPart = { readonly hash: Hash; readonly decode: (bytes: Uint8Array) => string };

const decodeText = (bytes: Uint8Array): string => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
const encodeBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

function listStoredParts(entries: readonly Entry[]): Map<Hash, StoredPart> {
  const parts = new Map<Hash, StoredPart>();
  for (const entry of entries) {
    const bodies = bodiesIn(entry);
    for (const body of bodies)
      if (body.kind === 'stored') parts.set(body.hash, { hash: body.hash, decode: decodeText });
    for (const { hash } of [...mediaOf(entry), ...bodies.flatMap(({ media = [] }) => media)])
      parts.set(mediaKey(hash), { hash, decode: encodeBase64 });
  }
  return parts;
}

/** Returns the texts of an entry that may be stored apart: a message with its goal, a result. */
export function bodiesIn(entry: Entry): readonly MessageBody[] {
  if (entry.kind === 'user') return entry.goal ? [entry.body, entry.goal.rubric] : [entry.body];
  return entry.kind === 'settled' && entry.result ? [entry.result.body] : [];
}

/** Returns a text that was read; empty for one that was not. */
export const bodyText = (body: MessageBody, bodies: Bodies): string =>
  body.kind === 'text' ? body.text : (bodies.get(body.hash) ?? '');

/** Returns the images and documents that the model is shown with an entry. */
export function mediaOf(entry: Entry): readonly { readonly hash: Hash }[] {
  if (entry.kind === 'user') return entry.body.media ?? [];
  return entry.kind === 'outcomes' ? entry.outcomes.flatMap(({ media }) => media ?? []) : [];
}

/**
 * Bytes of JSON, in which one character may take six. A session takes up to 10,000 signals before
 * it continues as new, and a message lies in its history twice: as it came and as it was taken. A
 * session full of them stays well below the 50 MB at which the server ends it.
 */
export const LARGEST_INLINE = 1024;

/**
 * Stores a text that is too long to travel inline, durably, before the message is sent. Throws
 * StoreError.
 */
export async function storeTextBody(store: Store, text: string): Promise<MessageBody> {
  if (text.length <= LARGEST_INLINE && Buffer.byteLength(JSON.stringify(text)) <= LARGEST_INLINE)
    return { kind: 'text', text };
  const bytes = new TextEncoder().encode(text);
  return { kind: 'stored', hash: await store.put(bytes), bytes: bytes.length };
}

/** Returns the hashes of all that is stored of a message. */
export function bodyHashes(body: MessageBody): readonly Hash[] {
  return [...(body.kind === 'stored' ? [body.hash] : []), ...(body.media ?? []).map(({ hash }) => hash)];
}

/** Describes images and documents for a reader of texts; empty for a message without any. */
export function mediaNote({ media = [] }: MessageBody): string {
  const each = media.map(({ mediaType, bytes }) => `[${mediaType}, ${bytes.toLocaleString('en')} bytes]`);
  return each.length === 0 ? '' : `\n${each.join(' ')}`;
}
