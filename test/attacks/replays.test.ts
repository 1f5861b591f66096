// What is sealed can be read by whoever reaches the server, and sent again as it is: it counts
// once, as what it was meant for.
import { randomUUID } from 'node:crypto';
import type { WorkflowFailedError } from '@temporalio/client';
import { decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { expect, onTestFinished, test } from 'vitest';
import { reply } from '../../scripted-model/index.ts';
import { SCHEDULED_TYPE, scheduleId } from '../../workflows/contract/schedules/firing.ts';
import { defaultHandover, UPDATES } from '../../workflows/contract/session.ts';
import { clientOf, harness, type Harness } from '../support/harness.ts';
import { newKeys } from '../support/new-keys.ts';
import { plainClient, waitFor } from '../support/plain-client.ts';
import { until } from '../support/until.ts';

const script = { replies: [{ ...reply('Yes.'), times: 'any' as const }] };

/** What the session says to an update that is sent to it again. */
async function replayUpdate(
  { client }: Harness,
  workflowId: string,
  name: string,
  payloads: object[],
): Promise<string> {
  const { outcome } = await client.workflowService.updateWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId },
    // Completed.
    waitPolicy: waitFor(3),
    request: { meta: { updateId: randomUUID() }, input: { name, args: { payloads } } },
  });
  const failure = outcome?.failure;
  if (!failure) return 'it was taken';
  const context = { type: 'workflow', namespace: 'default', workflowId } as const;
  return String(await decodeOptionalFailureToOptionalError(client.options.loadedDataConverter, failure, context));
}

test('takes options, more for a run and a repair once, however often they are sent again (L57 L61)', async () => {
  const h = await harness({ script, keys: newKeys(), handover: { ...defaultHandover, iterations: 1 } });
  const session = await h.open('First.', { permissionMode: 'default' });
  await session.ended(1);
  const sessions = clientOf(h);
  await sessions.setOptions(session.id, { permissionMode: 'bypass' });
  const { events } = await session.handle.fetchHistory();
  const asked = events?.findLast((event) => event.workflowExecutionUpdateAcceptedEventAttributes);
  const { input } = asked?.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest ?? {};
  await sessions.setOptions(session.id, { permissionMode: 'default' });
  const again = (name: string, payloads = input?.args?.payloads ?? []) => replayUpdate(h, session.id, name, payloads);
  expect(await again(UPDATES.setOptions)).toContain('was asked before, and counts once');
  for (const other of [UPDATES.topUp, UPDATES.repair, UPDATES.aside])
    expect(await again(other)).toContain('not what it was sealed for');
  // Over a handover, after which the server knows the update's own id no more.
  await session.send('Second.');
  await session.ended(2);
  expect(await again(UPDATES.setOptions)).toContain('was asked before, and counts once');
  const plain = plainClient(h).workflow.getHandle(session.id);
  const bare = plain.executeUpdate(UPDATES.setOptions, { args: [{ permissionMode: 'bypass' }] });
  await expect(bare).rejects.toThrow();
  const steered = (await session.entries()).filter((entry) => entry.kind === 'steered');
  expect(steered.map(({ steered: { changes } }) => changes)).toEqual([
    { permissionMode: 'bypass' },
    { permissionMode: 'default' },
  ]);
});

/**
 * What a schedule's firings start with, as the server holds it, used for a time at which it never
 * fired.
 */
async function fireAsSchedule({ client, taskQueue }: Harness, name: string, payloads: object[]): Promise<string> {
  const workflowId = `${scheduleId(name)}-2031-01-01T00:00:00Z`;
  await client.workflowService.startWorkflowExecution({
    namespace: 'default',
    workflowId,
    workflowType: { name: SCHEDULED_TYPE },
    taskQueue: { name: taskQueue },
    input: { payloads },
    requestId: randomUUID(),
  });
  const ended = client.workflow.getHandle(workflowId).result();
  return ended.then(
    () => 'it ran',
    (error: WorkflowFailedError) => String(error.cause),
  );
}

test('what a schedule starts with runs no session that the schedule has not started (L87)', async () => {
  const h = await harness({ script, keys: newKeys() });
  const { schedules } = clientOf(h, h.taskQueue);
  const name = `t-${randomUUID().slice(0, 18)}`;
  await schedules.create('0 6 1 1 *', 'Look for news.', { name, cwd: h.cwd, permissionMode: 'bypass' });
  onTestFinished(() => schedules.delete(name).catch(() => undefined));
  const { raw } = await h.client.schedule.getHandle(scheduleId(name)).describe();
  const payloads = raw.schedule?.action?.startWorkflow?.input?.payloads ?? [];
  expect(payloads).toHaveLength(1);
  expect(await schedules.trigger(name)).toMatchObject({ outcome: 'started' });
  await until(() => h.bodies().length === 1);
  await schedules.delete(name);
  expect(await fireAsSchedule(h, name, payloads)).toContain('the schedule is not there');
  expect(h.bodies()).toHaveLength(1);
});
