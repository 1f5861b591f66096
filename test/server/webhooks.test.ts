// Webhooks on a real server (G70): receivers that verify them with the SDK, that are away, refuse or
// never answer, while the session goes on.
import { describe, expect, test } from 'vitest';
import { endpointId } from '../../activities/run/webhooks.ts';
import { fault, reply, toolUse } from '../../scripted-model/index.ts';
import { UPDATES } from '../../workflows/contract/session.ts';
import { senderId } from '../../workflows/contract/webhooks.ts';
import { newKeys } from '../support/new-keys.ts';
import { harness, type HarnessOptions, type OpenSession } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';
import { typesOf, WEBHOOK_SECRET, webhookReceiver } from '../support/webhook-receiver.ts';

type Endpoint = ReturnType<Awaited<ReturnType<typeof webhookReceiver>>['endpoint']>;

const managed = { recordWaits: true };
const RUN = ['status_run_started', 'status_idled'];

const withEndpoints = (endpoints: readonly Endpoint[], options: HarnessOptions) =>
  harness({ ...options, worker: { config: { managed: { webhooks: endpoints } } } });

const scheduled = async ({ handle }: OpenSession): Promise<number> => {
  const { events } = await handle.fetchHistory();
  const types = (events ?? []).map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name);
  return types.filter((type) => type === 'perdure.tellWebhooks').length;
};

/** Names the workflow that sends to an endpoint what a session tells. */
const senderOf = ({ id }: OpenSession, { url }: Endpoint): string =>
  senderId({ session: id, endpoint: endpointId({ url }) });

/** The texts of all payloads of a history. */
function payloadsIn(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (typeof value !== 'object' || value === null) return '';
  return Object.values(value).map(payloadsIn).join(' ');
}

const idleAfter = (session: OpenSession, runs: number) =>
  until(async () => {
    const memo = await session.memo();
    return memo?.phase === 'idle' && memo.runs === runs;
  });

describe('a session that an endpoint hears', () => {
  test('tells when it begins to run, rests and has ended, signed, in order and each once (G70)', async () => {
    const receiver = await webhookReceiver();
    const h = await withEndpoints([receiver.endpoint()], { script: [reply('One.'), reply('Two.')] });
    const session = await h.open('Go.', managed);
    await until(() => receiver.taken.length === 2);
    await idleAfter(session, 1);
    await session.send('On.');
    await until(() => receiver.taken.length === 4);
    await session.handle.cancel();
    await until(() => receiver.taken.length === 5);
    expect(typesOf(receiver.taken)).toEqual([...RUN, ...RUN, 'status_terminated']);
    expect(receiver.taken[0]).toEqual({
      type: 'event',
      id: expect.stringMatching(/^wevt_[0-9a-f]{32}$/),
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      data: {
        type: 'session.status_run_started',
        id: session.id,
        organization_id: 'default',
        workspace_id: 'default',
      },
    });
    expect(new Set(receiver.requests.map(({ id }) => id)).size).toBe(5);
    await keepHistory('a session whose states are told to an endpoint (G70)', session.handle);
    const sender = h.client.workflow.getHandle(senderOf(session, receiver.endpoint()));
    await until(async () => (await sender.describe()).status.name === 'COMPLETED');
    await keepHistory('a sender of webhooks (G70)', sender);
    for (const handle of [session.handle, sender]) {
      const payloads = payloadsIn(await handle.fetchHistory());
      expect(payloads).toContain('session.status_');
      expect(payloads).not.toContain(WEBHOOK_SECRET);
    }
  });

  test('tells that it waits for a person, and that it goes on (G70)', async () => {
    const receiver = await webhookReceiver();
    const h = await withEndpoints([receiver.endpoint()], {
      script: [reply([toolUse('bash', { command: 'touch made' })]), reply('Done.')],
    });
    const session = await h.open('Make it.', { ...managed, permissionMode: 'default' });
    await until(() => receiver.taken.length === 3);
    const waits = ['status_run_started', 'status_idled', 'requires_action'];
    expect(typesOf(receiver.taken)).toEqual(waits);
    const [pending] = (await session.memo())?.approvals ?? [];
    await session.handle.executeUpdate(UPDATES.approve, {
      args: [{ call: pending!.call, inputHash: pending!.inputHash }],
    });
    await until(() => receiver.taken.length === 5);
    expect(typesOf(receiver.taken)).toEqual([...waits, ...RUN]);
    await keepHistory('a session that tells an endpoint of a wait (G70)', session.handle);
  });

  test('tells that the provider makes it wait (G70)', async () => {
    const receiver = await webhookReceiver();
    const wait = fault({ status: 429, retryAfter: 3_600 });
    const h = await withEndpoints([receiver.endpoint()], { script: [wait, reply('Done.')] });
    const session = await h.open('Go.', managed);
    await until(() => receiver.taken.length === 2);
    await session.resume();
    await until(() => receiver.taken.length === 4);
    expect(typesOf(receiver.taken)).toEqual(['status_run_started', 'status_rescheduled', ...RUN]);
  });

  test('tells that it waits at its budget (G69 G70)', async () => {
    const receiver = await webhookReceiver();
    const usage = {
      input_tokens: 500_000,
      output_tokens: 0,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
    };
    const h = await withEndpoints([receiver.endpoint()], {
      script: [reply([toolUse('glob', { pattern: '*' })], { usage }), reply('Done.')],
    });
    const session = await h.open('Go.', { ...managed, sessionBudgetUsd: 1, model: 'claude-sonnet-5-5' });
    await until(() => receiver.taken.length === 3);
    await session.handle.executeUpdate(UPDATES.setOptions, { args: [{ sessionBudgetUsd: null }, { by: 'ann' }] });
    await until(() => receiver.taken.length === 5);
    expect(typesOf(receiver.taken)).toEqual(['status_run_started', 'status_idled', 'budget_reached', ...RUN]);
  });

  test('tells each once over a handover in each iteration (G70 L4)', async () => {
    const receiver = await webhookReceiver();
    const step = (name: string) => reply([toolUse('bash', { command: `touch ${name}` })]);
    const h = await withEndpoints([receiver.endpoint()], {
      script: [step('a'), step('b'), reply('One.'), reply('Two.')],
      handover: { events: 10_000, signals: 10_000, iterations: 1 },
    });
    const session = await h.open('Go.', managed);
    await until(() => receiver.taken.length === 2);
    await idleAfter(session, 1);
    await session.send('On.');
    await until(() => receiver.taken.length === 4);
    expect(typesOf(receiver.taken)).toEqual([...RUN, ...RUN]);
    expect(new Set(receiver.taken.map(({ id }) => id)).size).toBe(4);
  });

  test('tells each endpoint what it asks for, under an id of its own (G70)', async () => {
    const [all, idle] = [await webhookReceiver(), await webhookReceiver()];
    const h = await withEndpoints([all.endpoint(), idle.endpoint(['session.status_idled'])], {
      script: [reply('One.')],
    });
    const session = await h.open('Go.', managed);
    await until(() => all.taken.length === 2 && idle.taken.length === 1);
    expect(typesOf(idle.taken)).toEqual(['status_idled']);
    expect(idle.taken[0]?.id).not.toBe(all.taken[1]?.id);
    expect(await scheduled(session)).toBeLessThanOrEqual(2);
  });

  test('tells nothing that no endpoint asks for, and pays nothing for it (G70)', async () => {
    const receiver = await webhookReceiver();
    const h = await withEndpoints([receiver.endpoint(['session.budget_reached'])], { script: [reply('One.')] });
    const session = await h.open('Go.', managed);
    await idleAfter(session, 1);
    expect(await scheduled(session)).toBe(0);
  });

  test('is heard where payloads are sealed (G70)', async () => {
    const receiver = await webhookReceiver();
    const h = await withEndpoints([receiver.endpoint()], { script: [reply('One.')], keys: newKeys() });
    await h.open('Go.', managed);
    await until(() => receiver.taken.length === 2);
    expect(typesOf(receiver.taken)).toEqual(RUN);
  });
});

test('a session whose transcript tells of no waits tells no endpoint either (G70)', async () => {
  const receiver = await webhookReceiver();
  const h = await withEndpoints([receiver.endpoint()], { script: [reply('One.')] });
  const session = await h.open('Go.');
  await idleAfter(session, 1);
  expect(await scheduled(session)).toBe(0);
});

describe('an endpoint', () => {
  test('that is away, fails and redirects gets each in order, once by its id (G70)', async () => {
    const away = await webhookReceiver();
    away.close();
    const h = await withEndpoints([away.endpoint()], { script: [reply('One.'), reply('Two.')] });
    const session = await h.open('Go.', managed);
    await idleAfter(session, 1);
    await session.send('On.');
    await idleAfter(session, 2);
    const statuses = [500, 307];
    const back = await webhookReceiver((_, nth) => statuses[nth] ?? 200, away.port);
    await until(() => back.taken.length === 4);
    expect(typesOf(back.taken)).toEqual([...RUN, ...RUN]);
    expect(new Set(back.taken.map(({ id }) => id)).size).toBe(4);
    expect(new Set(back.requests.slice(0, 3).map(({ id }) => id)).size).toBe(1);
  });

  test('that never answers holds nobody up (G70)', async () => {
    const silent = await webhookReceiver(() => new Promise<number>(() => undefined));
    const lively = await webhookReceiver();
    const h = await withEndpoints([silent.endpoint(), lively.endpoint()], { script: [reply('One.'), reply('Two.')] });
    const session = await h.open('Go.', managed);
    await until(() => silent.requests.length === 1);
    await idleAfter(session, 1);
    await session.send('On.');
    await idleAfter(session, 2);
    await session.handle.cancel();
    await until(async () => (await session.handle.describe()).status.name === 'CANCELLED');
    await until(() => lively.taken.length === 5);
    expect(silent.taken).toEqual([]);
  });

  test('that is gone for good (410) is not asked again about that event, and hears the next (G70)', async () => {
    const receiver = await webhookReceiver((_, nth) => (nth === 0 ? 410 : 200));
    const h = await withEndpoints([receiver.endpoint()], { script: [reply('One.')] });
    await h.open('Go.', managed);
    await until(() => receiver.taken.length === 1);
    expect(typesOf(receiver.requests)).toEqual(RUN);
  });
});
