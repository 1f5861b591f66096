// Many sessions on one worker: what one of them holds must not be in the way of another's end.
import { describe, expect, test } from 'vitest';
import { gate, reply, toolUse, type ParsedRequest, type Reply } from '../../scripted-model/index.ts';
import { createClient } from '../../client/client.ts';
import { fileStore } from '../../store/values/file-store.ts';
import { harness, type Harness, type OpenSession } from '../support/harness.ts';
import { until } from '../support/until.ts';

/** PENDING_ACTIVITY_STATE_SCHEDULED */
const QUEUED: unknown = 1;

const has = (request: ParsedRequest, text: string): boolean => JSON.stringify(request.messages).includes(text);

/** Two slots. Model calls of sessions that are told to stay end only with the test. */
async function fullWorker() {
  const held = gate();
  const script = (request: ParsedRequest): Reply => {
    if (has(request, 'Stay.')) return reply('Stayed.', { hold: held.hold });
    return has(request, 'Ask.') ? reply([toolUse('bash', { command: 'touch asked' })]) : reply('Done.');
  };
  const h = await harness({ script, worker: { config: { maxConcurrentActivities: 2 } } });
  const fill = async (): Promise<void> => {
    await Promise.all([h.open('Stay.'), h.open('Stay.')]);
    await until(() => h.bodies().filter((body) => has(body, 'Stay.')).length === 2);
  };
  return { h, fill, release: () => held.release() };
}

async function queues(h: Harness, session: OpenSession, activity: string): Promise<void> {
  await until(async () => {
    const { pendingActivities } = (await h.client.workflow.getHandle(session.id).describe()).raw;
    return pendingActivities?.some(
      ({ activityType, state }) => activityType?.name === `perdure.${activity}` && state === QUEUED,
    );
  });
}

describe('while long calls of other sessions hold every slot', () => {
  test('an interrupt ends a run whose model call has not begun, and one that was not opened yet (L47)', async () => {
    const { h, fill, release } = await fullWorker();
    const known = await h.open('Hello.');
    await known.ended(1);
    await fill();
    await known.send('Again.');
    await queues(h, known, 'callModel');
    const fresh = await h.open('First.');
    await queues(h, fresh, 'openRun');
    await Promise.all([known.interrupt(), fresh.interrupt()]);
    expect(await known.ended(2)).toMatchObject({ terminal: { reason: 'aborted_streaming', by: 'interrupt' } });
    expect(await fresh.ended(1)).toMatchObject({ terminal: { reason: 'aborted_streaming', by: 'interrupt' } });
    release();
  });

  test('a cancel ends a session whose call waits for a decision (L48 L49)', async () => {
    const { h, fill, release } = await fullWorker();
    const asking = await h.open('Ask.', { permissionMode: 'default' });
    await until(async () => (await asking.memo())?.phase === 'waiting_approval');
    await fill();
    await asking.handle.cancel();
    await until(async () => (await asking.memo())?.phase === 'closed');
    expect((await asking.entries()).map(({ kind }) => kind).slice(-3)).toEqual([
      'run_ended',
      'steered',
      'session_closed',
    ]);
    release();
  });
});

test("a fleet's session heartbeats seldom and may take longer over a workflow task, whatever worker runs it", async () => {
  const h = await harness({ script: [reply('Done.')] });
  const store = fileStore({ dir: h.storePlace });
  const sessions = createClient({
    temporal: h.client,
    store,
    taskQueue: h.taskQueue,
    profile: 'fleet',
    live: async function* () {},
    visibility: () => Promise.resolve(true),
  });
  const { session } = await sessions.start('Go.', { cwd: h.cwd });
  await until(() => sessions.result(session));
  const { events } = await h.client.workflow.getHandle(session).fetchHistory();
  const started = events?.[0]?.workflowExecutionStartedEventAttributes;
  const beats = (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled }) => {
    return scheduled ? [Number(scheduled.heartbeatTimeout?.seconds)] : [];
  });
  expect(Number(started?.workflowTaskTimeout?.seconds)).toBe(10);
  // A model call or a tool, and a few writes.
  expect(new Set(beats)).toEqual(new Set([15, 10]));
  await sessions.cancel(session);
  await until(async () => (await sessions.describe(session)).status === 'cancelled');
});
