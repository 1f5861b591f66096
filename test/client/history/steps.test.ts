// The steps of a session, read from a history of which the payloads are sealed.
import type { Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { encodeToPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { expect, test } from 'vitest';
import { stepReader } from '../../../client/sessions/history/steps.ts';
import { createClientConverter } from '../../../connection/payloads/data-converter.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { newKeys } from '../../support/new-keys.ts';

const at = (seconds: number) => ({ seconds, nanos: 0 });
const session = 's-1' as SessionId;

/**
 * One `callModel`, tried twice: `failure` ended the first attempt, and the third is not here yet.
 */
async function clientOf(seal: 'yes' | 'no' | 'for another session') {
  const loadedDataConverter = createClientConverter(newKeys());
  const cause = defaultPayloadConverter.toPayload({ message: 'the model answered 529: overloaded', stack_trace: '' });
  const sealedFor = async (activityId: string, id: string) => {
    const place = { type: 'activity', namespace: 'default', workflowId: id, activityId, isLocal: false } as const;
    const [encodedAttributes] = (await loadedDataConverter.payloadCodecs.at(-1)?.encode([cause], place)) ?? [];
    return { message: 'Encoded failure', encodedAttributes };
  };
  const failureOf = async (activityId: string) =>
    seal === 'no' ? { message: 'activity Heartbeat timeout' } : sealedFor(activityId, seal === 'yes' ? session : 's-2');
  const [input] = (await encodeToPayloads(loadedDataConverter, { run: 1, iteration: 2 })) ?? [];
  const scheduled = { activityId: '5', activityType: { name: 'callModel' }, input: { payloads: [input] } };
  const events = [
    { eventId: 5, eventTime: at(1), activityTaskScheduledEventAttributes: scheduled },
    {
      eventId: 6,
      eventTime: at(2),
      activityTaskStartedEventAttributes: {
        scheduledEventId: 5,
        attempt: 2,
        identity: 'w',
        lastFailure: await failureOf('5'),
      },
    },
    { eventId: 7, eventTime: at(3), activityTaskCompletedEventAttributes: { scheduledEventId: 5 } },
    { eventId: 8, eventTime: at(4), activityTaskScheduledEventAttributes: { ...scheduled, activityId: '8' } },
  ];
  const pendingActivities = [
    { activityId: '8', attempt: 3, lastStartedTime: at(5), lastFailure: await failureOf('8') },
  ];
  const described = { runId: 'r', startTime: new Date(0), closeTime: undefined, raw: { pendingActivities } };
  const handle = {
    describe: () => Promise.resolve(described),
    fetchHistory: () => Promise.resolve({ events }),
  };
  const workflow = { getHandle: () => handle, list: async function* () {} };
  return { options: { loadedDataConverter, namespace: 'default' }, workflow } as unknown as Client;
}

test.each([
  ['yes', 'the model answered 529: overloaded'],
  ['no', 'activity Heartbeat timeout'],
  ['for another session', 'the cause is sealed with a key that is not here'],
] as const)(
  'why an attempt died is told, in the words of its worker where they can be read (sealed: %s) (O19)',
  async (seal, cause) => {
    const steps = await stepReader(await clientOf(seal))(session, 0, null);
    expect(steps.map(({ attempt, failure }) => [attempt, failure])).toEqual([
      [2, cause],
      [3, cause],
    ]);
  },
);

test('an attempt that was lost with its worker lasted until its last heartbeat, also when the step has ended (O6 O19)', async () => {
  const lastFailure = { message: 'activity Heartbeat timeout', timeoutFailureInfo: {} };
  const scheduled = { activityId: '5', activityType: { name: 'callModel' }, heartbeatTimeout: at(30) };
  const events: object[] = [{ eventId: 5, eventTime: at(100), activityTaskScheduledEventAttributes: scheduled }];
  const pendingActivities: object[] = [];
  const described = { runId: 'r', startTime: new Date(0), closeTime: undefined, raw: { pendingActivities } };
  const handle = { describe: () => Promise.resolve(described), fetchHistory: () => Promise.resolve({ events }) };
  const workflow = { getHandle: () => handle, list: async function* () {} };
  const client = {
    options: { loadedDataConverter: createClientConverter(newKeys()), namespace: 'default' },
    workflow,
  } as unknown as Client;
  const read = stepReader(client);
  const lost = async (reader = read) => (await reader(session, 0, null)).map(({ aliveUntil }) => aliveUntil);
  const waits = { activityId: '5', attempt: 2, scheduledTime: at(500), lastHeartbeatTime: at(470), lastFailure };
  pendingActivities.push(waits);
  expect(await lost()).toEqual([470_000]);
  // The next attempt has sent heartbeats of its own, and then ends.
  pendingActivities[0] = { ...waits, lastStartedTime: at(900), lastHeartbeatTime: at(930) };
  expect(await lost()).toEqual([470_000]);
  events.push(
    {
      eventId: 6,
      eventTime: at(900),
      activityTaskStartedEventAttributes: { scheduledEventId: 5, attempt: 2, lastFailure },
    },
    { eventId: 7, eventTime: at(940), activityTaskCompletedEventAttributes: { scheduledEventId: 5 } },
  );
  pendingActivities.length = 0;
  expect(await lost()).toEqual([470_000]);
  // Who did not look before knows only how long an attempt may give no sign.
  expect(await lost(stepReader(client))).toEqual([870_000]);
});
