// Calls that the workflow carries out: activities and workflows of a user's own as tools, on a
// worker and a queue of the user's own.
import { expect, test } from 'vitest';
import { stepReader } from '../../client/sessions/history/steps.ts';
import { z } from 'zod';
import { defineTool, type Tool } from '../../tools/tool.ts';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { eventsOfCall } from '../support/events-of-call.ts';
import { harness, type OpenSession } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { newKeys } from '../support/new-keys.ts';
import { until } from '../support/until.ts';
import { usersWorker } from '../support/users-worker.ts';

function tool(name: string, taskQueue: string, more: object = {}): Tool {
  return defineTool({
    name,
    description: `Does ${name}.`,
    inputSchema: z.strictObject({ article: z.string() }),
    risk: 'external',
    activity: {
      name,
      taskQueue,
      options: { startToCloseTimeout: '1 minute', heartbeatTimeout: '30 seconds', ...more },
    },
  });
}

/** What the model was told of its calls in the last request. */
function told(bodies: readonly { readonly messages: readonly { readonly content: unknown }[] }[]): readonly string[] {
  const last = bodies.at(-1)?.messages.at(-1)?.content as readonly {
    readonly type: string;
    readonly content?: unknown;
  }[];
  return last.filter(({ type }) => type === 'tool_result').map(({ content }) => JSON.stringify(content));
}

/**
 * It looks whether it is to be handed over when something comes: a message that comes during a
 * handover may be too early.
 */
async function handsOver(session: OpenSession): Promise<void> {
  const { runId } = await session.handle.describe();
  await until(async () => {
    await session.send('Still there?');
    return (await session.handle.describe()).runId !== runId;
  });
}

test('an activity of the user is a tool, with its own queue, retries and failures (L62 L65)', async () => {
  const { taskQueue, started } = await usersWorker();
  const h = await harness({
    script: [
      reply([toolUse('order', { article: 'lamps' }), toolUse('order', { article: 'gold' })]),
      reply([toolUse('order', { article: 3 })]),
      reply('Done.'),
    ],
    worker: { tools: [tool('order', taskQueue)] },
  });
  const session = await h.open('Order.');
  await session.ended(1);
  expect(started).toEqual(['lamps', 'lamps', 'gold']);
  const outcomes = (await session.entries()).flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
  expect(outcomes.map(({ content, isError }) => [isError, content])).toEqual([
    [false, JSON.stringify({ article: 'lamps', number: 2 }, null, 2)],
    [true, 'there is no gold'],
    [true, expect.stringContaining('article')],
  ]);
  expect(outcomes[0]!.log).toMatchObject({ name: 'order', outcome: 'ok', decision: 'allowed' });
});

test('a workflow of the user is a tool (L65)', async () => {
  const { taskQueue } = await usersWorker();
  const loud = defineTool({
    name: 'loud',
    description: 'Says it loudly.',
    inputSchema: z.strictObject({ text: z.string() }),
    risk: 'read',
    workflow: { type: 'loudly', taskQueue, args: ({ text }) => [text, 2] },
  });
  const h = await harness({
    script: [reply([toolUse('loud', { text: 'a' }), toolUse('loud', { text: 'b' })]), reply('Done.')],
    worker: { tools: [loud] },
  });
  const session = await h.open('Be loud.');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(told(h.bodies())).toEqual(['"AA"', '"BB"']);
});

test('a delegated call is carried over handovers, and started once (L4 L63)', async () => {
  const { taskQueue, started, gate: shop } = await usersWorker();
  const h = await harness({
    script: [reply([toolUse('deliver', { article: 'x' })]), reply('Done.')],
    worker: { tools: [tool('deliver', taskQueue)] },
    handover: { events: 5, signals: 5_000 },
  });
  const session = await h.open('Deliver.');
  await until(() => started.length > 0);
  await handsOver(session);
  shop.open = true;
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(started).toEqual(['x']);
  expect(told(h.bodies())).toEqual(['"delivered: x"']);
});

test('an interrupt stops what was delegated, and the outcome says that it may have partly run (L48 L64)', async () => {
  const { taskQueue, started } = await usersWorker();
  const h = await harness({
    script: [reply([toolUse('deliver', { article: 'x' })])],
    worker: { tools: [tool('deliver', taskQueue)] },
  });
  const session = await h.open('Deliver.');
  await until(() => started.length > 0);
  await session.interrupt();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_tools' } });
  const outcomes = (await session.entries()).flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
  expect(outcomes.map(({ log }) => log.outcome)).toEqual(['cancelled']);
  const open = h.client.workflow.list({
    query: `ExecutionStatus = 'Running' AND WorkflowType = 'perdure.delegatedWork' AND TaskQueue = '${h.taskQueue}'`,
  });
  await until(async () => {
    for await (const _left of open) return false;
    return true;
  });
});

test('a delegated call whose workflow is ended from outside fails, before and after a handover (L63 L64)', async () => {
  const { taskQueue, started } = await usersWorker();
  const h = await harness({
    script: [reply([toolUse('deliver', { article: 'x' })]), reply('Done.')],
    worker: { tools: [tool('deliver', taskQueue)] },
  });
  const session = await h.open('Deliver.');
  await until(() => started.length > 0);
  const query = `WorkflowType = 'perdure.delegatedWork' AND TaskQueue = '${h.taskQueue}'`;
  const child = await until(async () => {
    for await (const { workflowId } of h.client.workflow.list({ query })) return workflowId;
    return null;
  });
  await h.client.workflow.getHandle(child).terminate();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(told(h.bodies())[0]).toContain('ended from outside');
});

test('sealed payloads reach a worker of the user that has the keys, and come back (L65)', async () => {
  const keys = newKeys();
  const { taskQueue } = await usersWorker({ keys });
  const h = await harness({
    script: [reply([toolUse('order', { article: 'a' })]), reply('Done.')],
    worker: { tools: [tool('order', taskQueue)] },
    keys,
  });
  const session = await h.open('Order.');
  await session.ended(1);
  expect(told(h.bodies())[0]).toContain('number');
});

test('a wait is handed over with its reply, and costs a timer and a task (L62 L82)', async () => {
  const h = await harness({ script: [reply([toolUse('wait', { seconds: 0.2 })]), reply('Done.')] });
  const session = await h.open('Wait.');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
  expect(await eventsOfCall(session.handle)).toBeLessThanOrEqual(7);
  // Watchers are told under a step of its own, and nothing of it is taken back.
  const live = h.liveText(session.id);
  expect(live.match(/"type":"tool_end"/g)).toHaveLength(1);
  expect(live).not.toContain('"fate":"died"');
  expect(live.match(/"activity":"\w+"/g)).toEqual(
    ['openRun', 'callModel', 'runTool', 'callModel', 'commit'].map((name) => `"activity":"${name}"`),
  );
  // A history says with which step the call ended, for the bars of a timeline (O6).
  const steps = await stepReader(h.client)(session.id, 0, null);
  expect(steps.map(({ name, endsCalls }) => [name, endsCalls])).toEqual([
    ['openRun', []],
    ['callModel', []],
    ['callModel', [3]],
    ['commit', []],
  ]);
  await keepHistory('a wait whose end goes into the next step (L82)', session.handle);
});

test('an interrupt before it is handed over leaves it alone (L48 L62)', async () => {
  const { taskQueue, started } = await usersWorker();
  const [judged, held] = [gate(), gate()];
  const slow = {
    ...tool('deliver', taskQueue),
    validate: async () => {
      judged.release();
      await held.hold;
      return undefined;
    },
  };
  const h = await harness({ script: [reply([toolUse('deliver', { article: 'x' })])], worker: { tools: [slow] } });
  const session = await h.open('Deliver.');
  await judged.hold;
  await session.interrupt();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_tools' }, turns: 1 });
  held.release();
  const outcomes = (await session.entries()).flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
  expect(outcomes).toMatchObject([
    { isError: true, content: expect.stringContaining('cancelled before it started') as string },
  ]);
  expect(started).toEqual([]);
});

test('wait parks the run, its time does not count, and a message, a resume or its time ends it (L51 L82)', async () => {
  const h = await harness({
    script: [
      reply([toolUse('wait', { seconds: 86_400 })]),
      reply([toolUse('wait', { until: '2200-01-01T00:00:00Z' })]),
      reply([toolUse('wait', { seconds: 3_000_000, message: true })]),
      reply([toolUse('wait', { seconds: 0.1 })]),
      reply('Done.'),
    ],
  });
  const session = await h.open('Wait.');
  const parked = await until(async () => (await session.memo())?.parkedUntil ?? null);
  expect(parked - h.requestedAt(0)).toBeGreaterThan(86_000_000);
  expect((await session.memo())?.phase).toBe('parked');
  await session.resume();
  const longer = await until(async () => {
    const next = (await session.memo())?.parkedUntil ?? parked;
    return next > parked + 1e9 ? next : null;
  });
  expect(longer).toBeGreaterThan(parked);
  await session.send('Go on.');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 5 });
  const outcomes = (await session.entries()).flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
  expect(outcomes.map(({ content }) => content.replace(/ It is .*/, ''))).toEqual([
    'The user ended the wait.',
    'A wait lasts at most 366 days.',
    'A message ended the wait.',
    'The time is over.',
  ]);
});

test('a wait is carried over a handover, and an interrupt ends it (L4 L47 L63 L82)', async () => {
  const h = await harness({
    script: [reply([toolUse('wait', { seconds: 86_400 })]), reply('Then.')],
    handover: { events: 5, signals: 5_000 },
  });
  const session = await h.open('Wait.');
  const parked = await until(async () => (await session.memo())?.parkedUntil ?? null);
  await handsOver(session);
  await until(async () => (await session.memo())?.parkedUntil === parked);
  // What was handed over is carried once: as what is open.
  const [begun] = (await h.client.workflow.getHandle(session.id).fetchHistory()).events ?? [];
  const [carried] = begun?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  const text = Buffer.from(carried?.data ?? []).toString();
  expect(text).toContain('"delegated":[');
  expect(text).not.toContain('"delegate":');
  await session.interrupt();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_tools' } });
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
});
