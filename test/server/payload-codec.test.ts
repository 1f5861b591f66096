// A Temporal client of anybody's, with the codec of `perdure/codec`: it lists, describes and steers
// sessions whose payloads are sealed, and shows what nobody sealed as unreadable.
import { Client } from '@temporalio/client';
import { randomUUID } from 'node:crypto';
import { createPayloadCodec } from '../../connection/codec.ts';
import { dirname } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { endSession, harness } from '../support/harness.ts';
import { newKeys } from '../support/new-keys.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

test('a client with the codec lists, describes, starts, decides and reads the end; one without throws (Q4)', async () => {
  const keys = newKeys();
  const script = [reply([toolUse('bash', { command: 'touch made' })]), reply('Made.')];
  const h = await harness({ script, keys, worker: { defaults: { permissionMode: 'default' } } });
  const codec = createPayloadCodec({ env: { PERDURE_DATA: dirname(keys.path) } });
  const { connection } = h.client;
  const client = new Client({ connection, dataConverter: { payloadCodecs: [codec] } });
  const id = `t-${randomUUID()}`;
  onTestFinished(() => endSession(client.workflow.getHandle(id)));
  const first = { id: 'm-1', body: { kind: 'text', text: 'Make it.' } };
  const argument = { until: 'run', options: { cwd: h.cwd }, first, title: 'Make it.' };
  const handle = await client.workflow.start('perdure.agentSession', {
    taskQueue: h.taskQueue,
    workflowId: id,
    args: [argument],
  });
  type View = { readonly approvals: readonly { readonly call: string; readonly inputHash: string }[] };
  const { call, inputHash } = await until(async () => (await handle.query<View>('view')).approvals[0]);
  const listed = await until(async () => {
    for await (const { memo } of client.workflow.list({ query: `WorkflowId = "${id}"` })) return memo;
    return undefined;
  });
  expect(JSON.stringify(listed)).toContain(call);
  expect(JSON.stringify((await handle.describe()).memo)).toContain(call);
  await handle.executeUpdate('approve', { args: [{ call, inputHash }] });
  expect(await handle.result()).toMatchObject({ reason: 'completed', text: 'Made.' });
  const plain = new Client({ connection }).workflow;
  await expect(plain.getHandle(id).describe()).rejects.toThrow('Unknown encoding: binary/encrypted');
  const stranger = await plain.start('somebody.elses', { taskQueue: id, workflowId: `${id}-other`, memo: { a: 'b' } });
  onTestFinished(() => void stranger.terminate().catch(() => undefined));
  expect(JSON.stringify((await client.workflow.getHandle(`${id}-other`).describe()).memo)).toContain('not sealed');
});

test('without keys there is no codec, and a sentence says where they would be (Q4)', () => {
  const root = tempDir();
  expect(() => createPayloadCodec({ env: { PERDURE_DATA: root } })).toThrow(
    `there are no keys of payloads at ${root}/payload-keys.json: set PERDURE_DATA`,
  );
});
