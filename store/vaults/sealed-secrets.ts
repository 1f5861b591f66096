// Seals the secrets of vaults (G65): AES-256-GCM under a key of their own, which is derived from
// the keys of payloads. A seal is bound to a credential and to the addresses that get its secrets.
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { type SealKeys, unknownKey } from '../values/s3/record-seal.ts';
import { parseStored, StoreError } from '../values/store.ts';

const secretsShape = z.object({
  /** The bearer token for the MCP server. */
  token: z.string(),
  refreshToken: z.string().optional(),
  clientSecret: z.string().optional(),
});
export type Secrets = z.output<typeof secretsShape>;

/** A sealed record has format, key id, nonce and tag, then the ciphertext. */
const FORMAT = 1;
const ID = 4;
const NONCE = 12;
const TAG = 16;
const HEAD = 1 + ID + NONCE + TAG;

const deriveKey = (key: Uint8Array, use: string): Buffer => Buffer.from(hkdfSync('sha256', key, '', use, 32));
const sealingKey = (key: Uint8Array): Buffer => deriveKey(key, 'perdure vault secrets');

/** `place`: the credential, and all that fixes where its secrets are sent. */
export function sealSecrets(keys: SealKeys, place: readonly unknown[], secrets: Secrets): Uint8Array {
  const { id, key } = keys.active();
  const nonce = randomBytes(NONCE);
  const cipher = createCipheriv('aes-256-gcm', sealingKey(key), nonce);
  cipher.setAAD(Buffer.from(JSON.stringify(place)));
  const text = Buffer.concat([cipher.update(JSON.stringify(secrets)), cipher.final()]);
  return Buffer.concat([Buffer.of(FORMAT), Buffer.from(id, 'hex'), nonce, cipher.getAuthTag(), text]);
}

/** Throws StoreError: `unavailable` without the key, `corrupt` for another place or other bytes. */
export function openSecrets(keys: SealKeys, place: readonly unknown[], bytes: Uint8Array): Secrets {
  const what = `the secret of credential ${String(place[1])}`;
  const sealed = Buffer.from(bytes);
  const id = sealed.subarray(1, 1 + ID).toString('hex');
  if (sealed.length <= HEAD || sealed[0] !== FORMAT) throw new StoreError('corrupt', `${what} is damaged`);
  const key = keys.find(id)?.key;
  if (!key) throw unknownKey(what, id, keys);
  const nonce = sealed.subarray(1 + ID, 1 + ID + NONCE);
  const decipher = createDecipheriv('aes-256-gcm', sealingKey(key), nonce, { authTagLength: TAG });
  decipher.setAAD(Buffer.from(JSON.stringify(place)));
  decipher.setAuthTag(sealed.subarray(1 + ID + NONCE, HEAD));
  try {
    return secretsShape.parse(parseStored(Buffer.concat([decipher.update(sealed.subarray(HEAD)), decipher.final()])));
  } catch (error) {
    throw new StoreError('corrupt', `${what} was not sealed for it with a key of ${keys.path}`, { cause: error });
  }
}

/** Stands for a text with secrets in comparisons: it cannot be guessed without the keys. */
export const hashSecretText = (keys: SealKeys, text: string): string =>
  createHmac('sha256', deriveKey(keys.active().key, 'perdure vault requests')).update(text).digest('hex');
