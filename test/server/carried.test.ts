// What arrives during a handover comes with the new run's first task (L4). Here such a run is
// started by hand from what another was handed, so that the order of things is certain.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { WithStartWorkflowOperation } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import { reply, toolUse } from '../../scripted-model/index.ts';
import {
  defaultHandover,
  type PendingApproval,
  SIGNALS,
  UPDATES,
  WORKFLOW_TYPE,
} from '../../workflows/contract/session.ts';
import type { ResumedInput, RunCarry } from '../../workflows/session/session-state.ts';
import { chainOf } from '../support/chain.ts';
import { harness, once, type Harness, type OpenSession } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';

type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

const playing = () =>
  harness({
    script: [reply([toolUse('bash', { command: 'touch made' })]), reply('Done.')],
    handover: { ...defaultHandover, signals: 2 },
  });

/**
 * The session waits for a decision, is handed over, and ends; what the new run was given is
 * returned.
 */
async function handed(h: Harness, session: OpenSession): Promise<ResumedInput> {
  const waits = async () => (await session.memo())?.phase === 'waiting_approval';
  await until(waits);
  const before = (await session.handle.describe()).runId;
  await session.resume();
  await until(async () => (await session.handle.describe()).runId !== before);
  await until(waits);
  const { events } = await session.handle.fetchHistory();
  await session.handle.terminate('started again by hand');
  return inputOf(h, events?.[0]);
}

function inputOf({ client }: Harness, first: HistoryEvent | undefined): ResumedInput {
  const { input } = first!.workflowExecutionStartedEventAttributes!;
  return client.options.loadedDataConverter.payloadConverter.fromPayload(input!.payloads![0]!);
}

describe('a session handed over while a call waits for a decision', () => {
  test('takes a decision that arrives with its first task (L4 L55)', async () => {
    const h = await playing();
    const session = await h.open('Go.', { permissionMode: 'default' });
    const input = await handed(h, session);
    const [approval] = input.carry!.run!.tools!.approvals;
    const startWorkflowOperation = new WithStartWorkflowOperation(WORKFLOW_TYPE, {
      workflowId: session.id,
      taskQueue: h.taskQueue,
      args: [input],
      workflowIdConflictPolicy: 'FAIL',
      workflowTaskTimeout: '5s',
    });
    const { call, inputHash } = approval!;
    await h.client.workflow.executeUpdateWithStart(UPDATES.approve, {
      args: [{ call, inputHash }],
      startWorkflowOperation,
    });
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
    expect(existsSync(join(h.cwd, 'made'))).toBe(true);
    await keepHistory('a decision that arrives during a handover (L4)', session.handle);
  });

  test('keeps the question as it was, with its deadline (L4 L55)', async () => {
    const h = await playing();
    const session = await h.open('Go.', { permissionMode: 'default' });
    const asked = await until(async () => (await session.memo())?.approvals ?? null);
    await handed(h, session);
    expect((await session.memo())?.approvals).toEqual(asked);
  });

  test('withdraws it at an interrupt that arrives with its first task, and refuses a late decision (L48)', async () => {
    const h = await playing();
    const session = await h.open('Go.', { permissionMode: 'default' });
    const input = await handed(h, session);
    const [approval] = input.carry!.run!.tools!.approvals;
    await h.client.workflow.signalWithStart(WORKFLOW_TYPE, {
      workflowId: session.id,
      taskQueue: h.taskQueue,
      args: [input],
      signal: SIGNALS.interrupt,
      signalArgs: [once('interrupt')],
      workflowTaskTimeout: '5s',
    });
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_tools', by: 'interrupt' } });
    const { call, inputHash } = approval!;
    await expect(session.handle.executeUpdate(UPDATES.approve, { args: [{ call, inputHash }] })).rejects.toThrow();
    expect((await session.memo())?.approvals).toBeUndefined();
    const outcomes = (await session.entries()).flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
    expect(outcomes).toMatchObject([{ isError: true, content: expect.stringContaining('waited for approval') }]);
    expect(existsSync(join(h.cwd, 'made'))).toBe(false);
  });
});

test('a run that is handed over at every iteration keeps what is left of its time (L4 L51)', async () => {
  const look = reply([toolUse('glob', { pattern: '*' })]);
  const h = await harness({ script: [look, look, reply('Done.')], handover: { ...defaultHandover, iterations: 1 } });
  const session = await h.open('Go.', { timeoutMs: 60_000 });
  await session.ended(1);
  const runs: (RunCarry | null)[] = [];
  for await (const { events } of chainOf(h.client, session)) runs.push(inputOf(h, events?.[0]).carry?.run ?? null);
  const carried = runs.filter((run) => run !== null);
  expect(carried.length).toBeGreaterThanOrEqual(2);
  const left = carried.map(({ leftMs }) => leftMs ?? NaN);
  expect(left).toEqual(left.toSorted((a, b) => b - a));
  expect(left.every((ms) => ms > 0 && ms < 60_000)).toBe(true);
  // Later by what passed between two workflow runs, which is nobody's.
  for (const { startedAt, deadline } of carried) expect(deadline).toBeGreaterThanOrEqual(startedAt + 60_000);
});

test('the time of a run stands still until the run it was handed to has its first task (L4 L51)', async () => {
  const h = await playing();
  const session = await h.open('Go.', { permissionMode: 'default', timeoutMs: 600_000 });
  const input = await handed(h, session);
  const { carry } = input;
  const run = { ...carry!.run!, deadline: Date.now() - 3_600_000 };
  expect(run.leftMs).toBeGreaterThan(0);
  await h.client.workflow.start(WORKFLOW_TYPE, {
    workflowId: session.id,
    taskQueue: h.taskQueue,
    args: [{ ...input, carry: { ...carry!, run } }],
    workflowTaskTimeout: '5s',
  });
  const [{ call, inputHash }] = run.tools!.approvals as [PendingApproval];
  await session.handle.executeUpdate(UPDATES.approve, { args: [{ call, inputHash }] });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
});

describe('a parked session', () => {
  test('is handed over when many messages arrive, stays parked, and takes each of them once (L4 L14 L61)', async () => {
    const replies = [{ fault: { status: 429, retryAfter: 3_600 } }, reply('Rested.'), reply('Read.')];
    const h = await harness({ script: { replies }, handover: { ...defaultHandover, signals: 3 } });
    const session = await h.open('Go.', { timeoutMs: 60_000 });
    const parked = () => until(async () => ((await session.memo())?.phase === 'parked' ? session.memo() : null));
    const { parkedUntil } = await parked();
    const before = (await session.handle.describe()).runId;
    for (const text of ['a', 'b', 'c']) await session.send(text);
    await until(async () => (await session.handle.describe()).runId !== before);
    expect(await parked()).toMatchObject({ parkedUntil });
    await session.resume();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    expect(await session.ended(2)).toMatchObject({ messages: { length: 3 } });
    expect(h.bodies()).toHaveLength(3);
    expect(h.bodies().at(-1)?.messages.at(-1)).toMatchObject({
      content: [{ text: 'a' }, { text: 'b' }, { text: 'c' }],
    });
    await keepHistory('a parked run that is taken up after a handover (L4 L14)', session.handle);
  });
});
