// Hashes in messages of the Temporal server, as they come over the wire.
import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { expect, test } from 'vitest';
import { scanMessage } from '../../../client/store-care/find-roots.ts';
import type { Hash } from '../../../workflows/contract/ids.ts';
import { session } from '../support.ts';

const { Payloads } = proto.temporal.api.common.v1;
const hash = 'ab'.repeat(32) as Hash;
const client = { options: { loadedDataConverter: { payloadCodecs: [] } } } as unknown as Client;

test.each(['binary/null', 'json/plain', 'unknown'])(
  'a payload of encoding %s that came without data names nothing, and those beside it are read (W4)',
  async (encoding) => {
    const metadata = (name: string) => ({ encoding: Buffer.from(name) });
    const payloads = [
      { metadata: metadata(encoding) },
      { metadata: metadata('json/plain'), data: Buffer.from(JSON.stringify({ hash })) },
    ];
    const received = Payloads.decode(Payloads.encode({ payloads }).finish());
    const found = new Set<Hash>();
    await scanMessage(received, found, {
      client,
      session,
      contexts: [{ type: 'workflow', namespace: 'n', workflowId: session }] as never,
    });
    expect([...found]).toEqual([hash]);
  },
);
