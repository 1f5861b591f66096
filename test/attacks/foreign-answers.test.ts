// Whoever reaches the server can answer for a worker: what cannot be read ends the run with a
// sentence, never the session.
import { defaultPayloadConverter } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { fault, gate, reply } from '../../scripted-model/index.ts';
import { harness, type Harness, type OpenSession } from '../support/harness.ts';
import { newKeys } from '../support/new-keys.ts';
import { until } from '../support/until.ts';

const bytes = (text: string): Buffer => Buffer.from(text);

async function pendingCall(h: Harness, { handle, id }: OpenSession) {
  const { pendingActivities } = (await handle.describe()).raw;
  const found = pendingActivities?.find(({ activityType }) => activityType?.name === 'perdure.callModel');
  if (!found?.activityId) throw new Error('no model call is under way');
  return { namespace: 'default', workflowId: id, activityId: found.activityId };
}

/** A model call is under way; `answer` ends it in place of its worker. */
async function answered(answer: (h: Harness, session: OpenSession) => Promise<unknown>, sealed = false) {
  const held = gate();
  const h = await harness({
    script: [reply('Too late.', { hold: held.hold }), reply('Another.')],
    ...(sealed && { keys: newKeys() }),
  });
  const session = await h.open('Talk.');
  await until(() => h.bodies().length === 1);
  await answer(h, session);
  const first = await session.ended(1);
  held.release();
  await session.send('And now?');
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
  return first;
}

const results = {
  'an encrypted result': [{ metadata: { encoding: bytes('binary/encrypted') }, data: bytes('x') }],
  'broken JSON': [{ metadata: { encoding: bytes('json/plain') }, data: bytes('{') }],
  'a result that no worker gives': [defaultPayloadConverter.toPayload({ kind: 'reply' })],
};

const failures = {
  'a failure of an unknown category': {
    message: 'a lie',
    applicationFailureInfo: { nonRetryable: true, category: 99 },
  },
  'a failure that says what is stored is damaged': {
    message: 'a lie',
    applicationFailureInfo: { nonRetryable: true, type: 'StoreCorrupt' },
  },
  'a failure with unreadable attributes': {
    message: 'a lie',
    applicationFailureInfo: { nonRetryable: true },
    encodedAttributes: { metadata: { encoding: bytes('binary/encrypted') }, data: bytes('x') },
  },
};

describe('a model call that someone else answers', () => {
  test.each(Object.entries(results))('ends its run, and the session goes on: %s (L20)', async (_what, payloads) => {
    const first = await answered(async (h, session) =>
      h.client.workflowService.respondActivityTaskCompletedById({
        ...(await pendingCall(h, session)),
        result: { payloads },
      }),
    );
    expect(first).toMatchObject({
      terminal: { reason: 'model_error', detail: expect.stringMatching(/callModel failed .*its result /) },
    });
  });

  test.each(Object.entries(failures))('ends its run, and the session goes on: %s (L20)', async (_what, failure) => {
    const first = await answered(async (h, session) =>
      h.client.workflowService.respondActivityTaskFailedById({ ...(await pendingCall(h, session)), failure }),
    );
    expect(first).toMatchObject({
      terminal: {
        reason: 'model_error',
        detail: expect.stringMatching(/callModel failed .*(not said by a worker|cannot be read|Encoded|a lie)/),
      },
    });
  });

  test.each([
    [
      'with attributes that no worker sealed',
      defaultPayloadConverter.toPayload({ message: 'a lie', type: 'StoreCorrupt' }),
      true,
    ],
    [
      'with the attributes of another failure',
      defaultPayloadConverter.toPayload({ message: 'a lie', type: 'ModelAttemptDied' }),
      false,
    ],
  ])(
    'does not make the session take its transcript for damaged: a failure %s (L20 L39)',
    async (_what, encodedAttributes, sealed) => {
      const failure = {
        message: 'Encoded failure',
        applicationFailureInfo: { nonRetryable: true, type: 'StoreCorrupt' },
        encodedAttributes,
      };
      const first = await answered(
        async (h, session) =>
          h.client.workflowService.respondActivityTaskFailedById({ ...(await pendingCall(h, session)), failure }),
        sealed,
      );
      expect(first).toMatchObject({
        terminal: { reason: 'model_error', detail: expect.stringMatching(/callModel failed .*not said by a worker/) },
      });
    },
  );
});

test('what a worker sealed of an earlier failure does not make another one believed (L20)', async () => {
  const held = gate();
  const script = [fault({ status: 500 }), reply('Too late.', { hold: held.hold }), reply('Another.')];
  const h = await harness({ script, keys: newKeys() });
  const session = await h.open('Talk.');
  await until(() => h.bodies().length === 2);
  const call = await pendingCall(h, session);
  const { pendingActivities } = (await session.handle.describe()).raw;
  const encodedAttributes = pendingActivities?.[0]?.lastFailure?.encodedAttributes ?? null;
  const failure = {
    message: 'a lie',
    applicationFailureInfo: { nonRetryable: true, type: 'StoreCorrupt' },
    encodedAttributes,
  };
  await h.client.workflowService.respondActivityTaskFailedById({ ...call, failure });
  expect(encodedAttributes).toBeTruthy();
  expect(await session.ended(1)).toMatchObject({
    terminal: { reason: 'model_error', detail: expect.stringMatching(/not said by a worker/) },
  });
  held.release();
  await session.send('And now?');
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
});
