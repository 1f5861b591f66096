// Whatever reaches a session from outside: what cannot be read is passed over, and what can is
// taken, in order. Payloads are sent by gRPC as they are, for no client of ours would send them.
import { randomUUID } from 'node:crypto';
import { defaultPayloadConverter } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { gate, reply } from '../../scripted-model/index.ts';
import { SIGNALS, UPDATES, WORKFLOW_TYPE } from '../../workflows/contract/session.ts';
import { harness, userMessage, type Harness, type OpenSession } from '../support/harness.ts';
import { waitFor } from '../support/plain-client.ts';
import { until } from '../support/until.ts';

const payload = (encoding: string, data: string) => ({
  metadata: { encoding: Buffer.from(encoding) },
  data: Buffer.from(data),
});

/** Nested deeper than JSON can be written again. */
const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;

const unreadable = {
  'an encrypted payload': payload('binary/encrypted', 'anything'),
  'a protobuf in JSON': payload('json/protobuf', '{}'),
  'broken JSON': payload('json/plain', '{"id":'),
  'JSON that is nested too deep': payload(
    'json/plain',
    `{"id":"x","body":{"kind":"text","text":"a"},"options":${deep}}`,
  ),
  'a payload without an encoding': { data: Buffer.from('x') },
} as const;

type Payload = (typeof unreadable)[keyof typeof unreadable];

async function signalRaw({ client }: Harness, { id }: OpenSession, name: string, sent: Payload): Promise<void> {
  await client.workflowService.signalWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId: id },
    signalName: name,
    input: { payloads: [sent] },
    requestId: randomUUID(),
  });
}

const textsOf = async (session: OpenSession): Promise<readonly string[]> =>
  (await session.entries()).flatMap((entry) =>
    entry.kind === 'user' && entry.body.kind === 'text' ? [entry.body.text] : [],
  );

const script = { replies: [{ ...reply('Yes.'), times: 'any' as const }] };

describe('a signal that cannot be read', () => {
  test.each(Object.entries(unreadable))('is passed over: %s (L61 L49)', async (_what, sent) => {
    const h = await harness({ script });
    const session = await h.open('First.');
    await session.ended(1);
    for (const name of Object.values(SIGNALS)) await signalRaw(h, session, name, sent);
    await session.send('Second.');
    expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
    await session.handle.cancel();
    await expect(session.handle.result()).rejects.toThrow();
    expect((await session.handle.describe()).status.name).toBe('CANCELLED');
    expect(await textsOf(session)).toEqual(['First.', 'Second.']);
  });

  test.each(['__temporal_x', '__temporal_workflow_stream_publish', 'anything'])(
    'is passed over under the name %s (L61 L49)',
    async (name) => {
      const h = await harness({ script });
      const session = await h.open('First.');
      await session.ended(1);
      await signalRaw(h, session, name, payload('json/plain', '{}'));
      await session.send('Second.');
      expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
      await session.handle.cancel();
      await expect(session.handle.result()).rejects.toThrow();
      expect((await session.handle.describe()).status.name).toBe('CANCELLED');
    },
  );

  test('counts all the same when it is an interrupt without an argument, where payloads are plain (L47)', async () => {
    const held = gate();
    const h = await harness({ script: { replies: [reply('One.', { hold: held.hold })] } });
    const session = await h.open('First.');
    await until(() => h.bodies().length === 1);
    await session.handle.signal(SIGNALS.interrupt);
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_streaming', by: 'interrupt' } });
    held.release();
  });

  test('leaves those around it in order, also when all wait for the first worker (L61)', async () => {
    const held = gate();
    const h = await harness({
      script: { replies: [reply('One.', { hold: held.hold }), { ...reply('On.'), times: 'any' }] },
    });
    const session = await h.open('0');
    await until(() => h.bodies().length === 1);
    await h.worker.stop();
    const texts = ['1', '2', '3', '4'];
    for (const text of texts) {
      await signalRaw(h, session, '__temporal_x', payload('json/plain', '{}'));
      await session.send(text);
      await signalRaw(h, session, SIGNALS.message, unreadable['broken JSON']);
    }
    held.release();
    const worker = await h.startWorker();
    try {
      await until(async () => (await textsOf(session)).length === 5);
      expect(await textsOf(session)).toEqual(['0', ...texts]);
    } finally {
      await worker.stop();
    }
  });
});

describe('an update or a query that cannot be read', () => {
  test('is refused with a sentence, and the session goes on (L55)', async () => {
    const h = await harness({ script });
    const session = await h.open('First.');
    await session.ended(1);
    for (const sent of Object.values(unreadable)) {
      const { outcome } = await h.client.workflowService.updateWorkflowExecution({
        namespace: 'default',
        workflowExecution: { workflowId: session.id },
        // Completed.
        waitPolicy: waitFor(3),
        request: { meta: { updateId: randomUUID() }, input: { name: UPDATES.approve, args: { payloads: [sent] } } },
      });
      expect(outcome?.failure).toBeTruthy();
    }
    await session.send('Second.');
    expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
  });
});

describe('a session whose argument cannot be read', () => {
  test.each([
    ...Object.entries(unreadable),
    ['an argument that is none of ours', payload('json/plain', '"go"')] as const,
  ])('fails with a sentence: %s', async (_what, sent) => {
    const h = await harness({ script });
    const workflowId = `t-${randomUUID()}`;
    await h.client.workflowService.signalWithStartWorkflowExecution({
      namespace: 'default',
      workflowId,
      workflowType: { name: WORKFLOW_TYPE },
      taskQueue: { name: h.taskQueue },
      input: { payloads: [sent] },
      signalName: SIGNALS.message,
      signalInput: { payloads: [defaultPayloadConverter.toPayload(userMessage('Do it.'))] },
      requestId: randomUUID(),
    });
    const ended = h.client.workflow.getHandle(workflowId).result();
    await expect(ended).rejects.toMatchObject({
      cause: { type: 'UnreadableSession', message: expect.stringMatching(/^the session's argument /) },
    });
    expect(h.bodies()).toHaveLength(0);
  });
});
