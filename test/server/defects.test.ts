// An activity fails in a way that nobody expects and says that it must not be retried: nothing is
// lost, and the session goes on.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ApplicationFailure } from '@temporalio/common';
import { createActivities } from '../../activities/index.ts';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { activityType, type Activities } from '../../workflows/contract/activities.ts';
import { harness, type Harness, type OpenSession } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { workerWith } from '../support/own-activities.ts';
import { until } from '../support/until.ts';

describe('a defect that is not to be retried', () => {
  test.each(['openRun', 'callModel'] as const)(
    'in %s ends the run with it, and the next worker goes on (L20)',
    async (broken) => {
      const h = await harness({ script: [reply('Both seen.')] });
      const defective = await workerWithout(h, broken);
      const session = await h.open('First.');
      expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'model_error', detail: defectOf(broken) } });
      await defective.stop();
      const worker = await h.startWorker();
      onTestFinished(() => worker.stop());
      await session.send('Second.');
      expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
      expect(JSON.stringify(h.bodies()[0]?.messages)).toMatch(/First\..*Second\./);
      await keepHistory(`a defect in ${broken} (L20)`, session.handle);
    },
  );

  test('in openRun says nothing about the options that a message brought: they hold for the next run (L20 L57)', async () => {
    const touch = reply([toolUse('bash', { command: 'touch made' })]);
    const h = await harness({ script: [reply('Hello.'), touch, reply('Done.')] });
    const session = await h.open('First.');
    await session.ended(1);
    const defective = await workerWithout(h, 'openRun');
    await session.send('Second.', { options: { permissions: { deny: ['bash'] } } });
    expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'model_error' } });
    await defective.stop();
    const worker = await h.startWorker();
    onTestFinished(() => worker.stop());
    await session.send('Third.');
    expect(await session.ended(3)).toMatchObject({ terminal: { reason: 'completed' } });
    expect(existsSync(join(h.cwd, 'made'))).toBe(false);
  });

  test('a model call that an operator fails by hand ends its run, and what its worker still makes of it is not stored (L20 L39)', async () => {
    const held = gate();
    const h = await harness({ script: [reply('Too late.', { hold: held.hold }), reply('Another.')] });
    const session = await h.open('Talk.');
    await until(() => h.bodies().length === 1);
    await failByHand(h, session, 'callModel');
    expect(await session.ended(1)).toMatchObject({
      terminal: { reason: 'model_error', detail: defectOf('callModel') },
    });
    held.release();
    await session.send('And now?');
    expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
    expect((await session.entries()).filter(({ kind }) => kind === 'reply')).toHaveLength(1);
  });

  test('in a tool leaves a call whose outcome is unknown, which the model can read (L39 L40)', async () => {
    const h = await harness({ script: [reply([toolUse('bash', { command: 'touch made' })]), reply('I will check.')] });
    await workerWithout(h, 'runTool');
    const session = await h.open('Do it.', { permissionMode: 'default' });
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    expect(h.bodies()[1]?.messages.at(-1)).toMatchObject({
      content: [{ type: 'tool_result', is_error: true, content: expect.stringMatching(/Outcome unknown.*a defect/s) }],
    });
    await keepHistory('a defect in runTool (L40)', session.handle);
  });

  test('in what stores the end of a run holds it up until a worker can store it (L39 L61)', async () => {
    const h = await harness({ script: [reply('One.'), reply('Two.')] });
    const defective = await workerWithout(h, 'commit');
    const session = await h.open('First.');
    await until(async () => {
      const { events } = await session.handle.fetchHistory();
      return events?.some((event) => event.activityTaskFailedEventAttributes);
    });
    await defective.stop();
    const worker = await h.startWorker();
    onTestFinished(() => worker.stop());
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, messages: [{}] });
    await session.send('Second.');
    expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
    await keepHistory('a defect in commit (L39)', session.handle);
  });
});

const defectOf = (activity: keyof Activities): unknown =>
  expect.stringMatching(new RegExp(`internal error: ${activityType(activity)} failed .*a defect`));

async function failByHand({ client }: Harness, { handle }: OpenSession, activity: keyof Activities): Promise<void> {
  const { pendingActivities } = (await handle.describe()).raw;
  const { activityId } =
    pendingActivities?.find(({ activityType: type }) => type?.name === activityType(activity)) ?? {};
  await client.workflowService.respondActivityTaskFailedById({
    namespace: 'default',
    workflowId: handle.workflowId,
    activityId: activityId ?? null,
    failure: { message: 'a defect', applicationFailureInfo: { nonRetryable: true } },
  });
}

function workerWithout(h: Harness, broken: keyof Activities): Promise<{ stop(): Promise<void> }> {
  const fails = () => Promise.reject(ApplicationFailure.nonRetryable('a defect'));
  return workerWith(h, (deps) => ({ ...createActivities(deps), [broken]: fails }));
}
