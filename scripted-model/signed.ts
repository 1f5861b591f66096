// Signatures of this server's own: they hold what they record, so that a conversation goes on after
// a restart, and a digest that tells whether they were changed.
import { RecentMap } from '../system/recent-map.ts';
import { createHash } from 'node:crypto';

/**
 * Digests texts to the length of 15 bytes, which is enough to be told apart and short enough to
 * keep many.
 */
export function digestTexts(...parts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${part.length}:`).update(part);
  return hash.digest('base64url').slice(0, 20);
}

/** Signs a value. `id` is the name by which others refer to it. */
export function encodeSigned(value: object): { readonly signature: string; readonly id: string } {
  const payload = JSON.stringify(value);
  const id = digestTexts(payload);
  return { signature: `scripted${Buffer.from(payload).toString('base64url')}.${id}`, id };
}

type ReadSigned = { readonly value: unknown; readonly id: string };

/** Signatures read before: a conversation brings the same ones with every request. */
const read = new RecentMap<string, ReadSigned>(20_000);

/** Reads a signature; undefined for one that was not made here, or was changed. */
export function readSigned(signature: string): ReadSigned | undefined {
  const before = read.get(signature);
  if (before !== undefined) return before;
  const [, encoded = '', id = ''] = /^scripted([\w-]+)\.([\w-]+)$/.exec(signature) ?? [];
  const payload = Buffer.from(encoded, 'base64url').toString();
  if (encoded === '' || digestTexts(payload) !== id) return undefined;
  const found: ReadSigned = { value: JSON.parse(payload) as unknown, id };
  read.set(signature, found);
  return found;
}
