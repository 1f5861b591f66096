// The codec that was here before: on the server nobody reads a payload without the key.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';

export const ENCODING = 'binary/triage';

const [NONCE, TAG] = [12, 16];

/** `key`: 64 hexadecimal digits. */
export function triageCodec(key: string): PayloadCodec {
  const secret = Buffer.from(key, 'hex');
  return {
    encode: async (payloads) => payloads.map((payload) => seal(secret, payload)),
    decode: async (payloads) => payloads.map((payload) => open(secret, payload)),
  };
}

function seal(secret: Buffer, { metadata = {}, data }: Payload): Payload {
  const nonce = randomBytes(NONCE);
  const cipher = createCipheriv('aes-256-gcm', secret, nonce);
  const names = Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('base64')]);
  const plain = JSON.stringify([names, Buffer.from(data ?? []).toString('base64')]);
  const text = Buffer.concat([cipher.update(plain), cipher.final()]);
  return { metadata: { encoding: Buffer.from(ENCODING) }, data: Buffer.concat([nonce, cipher.getAuthTag(), text]) };
}

function open(secret: Buffer, payload: Payload): Payload {
  const encoding = Buffer.from(payload.metadata?.['encoding'] ?? []).toString();
  // What was written before the codec was.
  if (encoding !== ENCODING) return payload;
  const sealed = Buffer.from(payload.data ?? []);
  const decipher = createDecipheriv('aes-256-gcm', secret, sealed.subarray(0, NONCE), { authTagLength: TAG });
  decipher.setAuthTag(sealed.subarray(NONCE, NONCE + TAG));
  const plain = Buffer.concat([decipher.update(sealed.subarray(NONCE + TAG)), decipher.final()]).toString();
  const [names, data] = JSON.parse(plain) as [[string, string][], string];
  const metadata = Object.fromEntries(names.map(([name, value]) => [name, Buffer.from(value, 'base64')]));
  return { metadata, data: Buffer.from(data, 'base64') };
}
