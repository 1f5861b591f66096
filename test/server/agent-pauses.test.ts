// The runtime limit of a session stands still while all of its work waits, also where it is agents
// that wait, at any depth.
import type { WorkflowHandle } from '@temporalio/client';
import { expect, test } from 'vitest';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { agentsOf } from '../support/agents.ts';
import { agentCall, byPrompt } from '../support/by-prompt.ts';
import { clientOf, harness, type Harness } from '../support/harness.ts';
import { CHANGES_ATTRIBUTE } from '../../workflows/contract/changes.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';

const HOUR = 3_600_000;

type Timer = { readonly ms: number; readonly from: number; to: number | null };

const msOf = (time: { readonly seconds?: unknown; readonly nanos?: number | null } | null | undefined): number =>
  Number(time?.seconds ?? 0) * 1_000 + (time?.nanos ?? 0) / 1e6;

/** Of a session's runtime limit, oldest first. */
async function limitTimers(handle: WorkflowHandle): Promise<readonly Timer[]> {
  const timers = new Map<string, Timer>();
  for (const event of (await handle.fetchHistory()).events ?? []) {
    const { timerStartedEventAttributes: started, timerCanceledEventAttributes: canceled } = event;
    const at = msOf(event.eventTime);
    const ms = msOf(started?.startToFireTimeout);
    // An agent is looked for at the full hour.
    if (started && ms < HOUR && ms > HOUR / 2) timers.set(started.timerId!, { ms, from: at, to: null });
    const timer = timers.get(canceled?.timerId ?? '');
    if (timer) timer.to = at;
  }
  return [...timers.values()];
}

async function signalsOf(handle: WorkflowHandle): Promise<readonly string[]> {
  const { events } = await handle.fetchHistory();
  return (events ?? []).flatMap(({ workflowExecutionSignaledEventAttributes: signal }) =>
    (signal?.input?.payloads ?? []).map(({ data }) => Buffer.from(data ?? []).toString()),
  );
}

const stands = (timers: readonly Timer[]): boolean => timers.length > 0 && timers.every(({ to }) => to !== null);

const waitingCall = (h: Harness, session: string) =>
  until(async () => (await clientOf(h, h.taskQueue).approvals(session as never))[0] ?? null);

test('the limits of all above an agent stand still while it waits for a person, over handovers (L4 L51 L55)', async () => {
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([agentCall('A.')]), reply('Done.')],
      'A.': [reply([agentCall('B.')]), reply('A is done.')],
      'B.': [reply([toolUse('bash', { command: 'touch b' })]), reply('B is done.')],
    }),
    handover: { events: 60, signals: 5_000 },
  });
  const session = await h.open('Go.', { permissionMode: 'default', timeoutMs: HOUR - 1 });
  const { call } = await waitingCall(h, session.id);
  const agents = await agentsOf(h, session.id);
  const handles = [session.handle, ...agents.map(({ id }) => h.client.workflow.getHandle(id))];
  expect(handles).toHaveLength(3);
  for (const handle of handles) await until(async () => stands(await limitTimers(handle)));
  const [before] = await limitTimers(session.handle);
  const { runId } = await session.handle.describe();
  await until(async () => {
    await session.send('Still there?');
    return (await session.handle.describe()).runId !== runId;
  });
  await clientOf(h, h.taskQueue).approve(session.id, call);
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const timers = await limitTimers(session.handle);
  const after = timers.at(-1)!;
  // Whatever the wait took, what is left is what was left.
  expect(after.ms).toBeGreaterThan(before!.ms - (before!.to! - before!.from) - (after.from - before!.to!) / 2);
});

test('the limit of a session goes on while one of its agents works beside another that waits (L51)', async () => {
  const held = gate();
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([agentCall('A.'), agentCall('C.')]), reply('Done.')],
      'A.': [reply([toolUse('bash', { command: 'touch a' })]), reply('A is done.')],
      'C.': [reply('C is done.', { hold: held.hold })],
    }),
  });
  const session = await h.open('Go.', { permissionMode: 'default', timeoutMs: HOUR - 1 });
  const { call } = await waitingCall(h, session.id);
  await until(async () => (await signalsOf(session.handle)).some((said) => said.includes('"paused":true')));
  expect(stands(await limitTimers(session.handle))).toBe(false);
  held.release();
  await until(async () => stands(await limitTimers(session.handle)));
  await clientOf(h, h.taskQueue).approve(session.id, call);
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect((await limitTimers(session.handle)).length).toBeGreaterThan(1);
  // By this a release tells which sessions it can replay.
  const { searchAttributes } = await session.handle.describe();
  expect(searchAttributes[CHANGES_ATTRIBUTE]).toContain('perdure-agent-pauses');
  await keepHistory('an agent that waits for a person while another works (L51)', session.handle);
});
