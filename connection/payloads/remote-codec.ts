// The bodies of Temporal's codec servers: payloads as JSON, their bytes in base64. One that cannot
// be opened becomes a value that says so, and the others are opened all the same.
import type { Payload } from '@temporalio/common';
import { z } from 'zod';
import type { KeyRing } from './key-ring.ts';
import { createSealingCodec, openNamedPlace } from './sealing-codec.ts';

const payloadSchema = z.looseObject({
  metadata: z.record(z.string(), z.string()).optional(),
  data: z.string().optional(),
});
const bodySchema = z.object({ payloads: z.array(payloadSchema) });
type PayloadJson = z.infer<typeof payloadSchema>;

export type CodecBody = { readonly payloads: readonly PayloadJson[] };

/** Returns null for what is no body of a codec server. */
export function parseCodecBody(text: string): CodecBody | null {
  try {
    return bodySchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

/** Opens payloads that were sealed in the namespace; others are returned as they came. */
export function decodeBody(keys: KeyRing, namespace: string, { payloads }: CodecBody): CodecBody {
  return {
    payloads: payloads.map((json) => {
      const payload = payloadOf(json);
      const opened = openNamedPlace(keys, namespace, payload);
      return opened === payload ? json : jsonOf(opened);
    }),
  };
}

/** Seals payloads for one workflow. Throws for an encoding that isn't the SDK's. */
export async function encodeBody(
  keys: KeyRing,
  { namespace, workflowId }: { readonly namespace: string; readonly workflowId: string },
  { payloads }: CodecBody,
): Promise<CodecBody> {
  const codec = createSealingCodec(keys, () => undefined);
  const sealed = await codec.encode(payloads.map(payloadOf), { type: 'workflow', namespace, workflowId });
  return { payloads: sealed.map(jsonOf) };
}

const bytesOf = (text: string): Uint8Array => Buffer.from(text, 'base64');
const base64Of = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

function payloadOf({ metadata = {}, data = '' }: PayloadJson): Payload {
  const entries = Object.entries(metadata).map(([name, value]) => [name, bytesOf(value)] as const);
  return { metadata: Object.fromEntries(entries), data: bytesOf(data) };
}

function jsonOf({ metadata, data }: Payload): PayloadJson {
  const entries = Object.entries(metadata ?? {}).map(([name, value]) => [name, base64Of(value)] as const);
  return { metadata: Object.fromEntries(entries), ...(data && { data: base64Of(data) }) };
}
