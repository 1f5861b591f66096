// The exports of `perdure/codec`: what lets a Temporal client of one's own read and steer sessions
// where their payloads are sealed (Q4).
import '../system/process/supported.ts';
import type { PayloadCodec } from '@temporalio/common';
import { type Env, openPayloadKeys } from './data-folder.ts';
import { createSealingCodec } from './payloads/sealing-codec.ts';

/**
 * Makes a codec for the data converter of a Temporal client, by the keys that PERDURE_CODEC_KEYS
 * names, or else by those of the data folder. What it writes is sealed for the session it is sent
 * to. What it cannot open, because nobody with the key has sealed it for that session, becomes a
 * value that says so: it never throws for a payload. Throws SetupProblem when there are no keys.
 */
export function createPayloadCodec({ env = process.env }: { readonly env?: Env } = {}): PayloadCodec {
  return createSealingCodec(openPayloadKeys(env), () => undefined);
}
