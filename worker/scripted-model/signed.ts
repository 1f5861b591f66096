// Signatures of this server's own: they hold what they record, so that a conversation goes on after a restart, and a digest that tells
// whether they were changed.
import { createHash } from 'node:crypto';

/** A digest is as long as 15 bytes, which is enough to be told apart and short enough to keep many. */
export function digestOf(...parts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${part.length}:`).update(part);
  return hash.digest('base64url').slice(0, 20);
}

/** `id`: the name by which others refer to it. */
export function encodeSigned(value: object): { readonly signature: string; readonly id: string } {
  const payload = JSON.stringify(value);
  const id = digestOf(payload);
  return { signature: `scripted${Buffer.from(payload).toString('base64url')}.${id}`, id };
}

/** Undefined for what was not signed here, or was changed. */
export function readSigned(signature: string): { readonly value: unknown; readonly id: string } | undefined {
  const [, encoded = '', id = ''] = /^scripted([\w-]+)\.([\w-]+)$/.exec(signature) ?? [];
  const payload = Buffer.from(encoded, 'base64url').toString();
  return encoded === '' || digestOf(payload) !== id ? undefined : { value: JSON.parse(payload) as unknown, id };
}
