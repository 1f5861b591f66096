// An activity fails in a way that nobody expects and says that it must not be retried: nothing is lost, and the session goes on.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ApplicationFailure } from '@temporalio/common';
import { createActivities } from '../../activities/index.ts';
import { gate, reply, toolUse } from '../../worker/scripted-model/index.ts';
import { activityType, type Activities } from '../../workflows/contract/activities.ts';
import { harness, type Harness, type OpenSession } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { workerWith } from '../support/own-activities.ts';
import { until } from '../support/until.ts';

describe('a defect that is not to be retried', () => {
  it.each(['openRun', 'callModel'] as const)(
    'L20 in %s ends the run with it, and the next worker goes on',
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
      await keepHistory(`L20 a defect in ${broken}`, session.handle);
    },
  );

  it('L20 L57 in openRun says nothing about the options that a message brought: they hold for the next run', async () => {
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

  it('L20 L39 a model call that an operator fails by hand ends its run, and what its worker still makes of it is not stored', async () => {
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

  it('L39 L40 in a tool leaves a call whose outcome is unknown, which the model can read', async () => {
    const h = await harness({ script: [reply([toolUse('bash', { command: 'touch made' })]), reply('I will check.')] });
    await workerWithout(h, 'runTool');
    const session = await h.open('Do it.', { permissionMode: 'default' });
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    expect(h.bodies()[1]?.messages.at(-1)).toMatchObject({
      content: [{ type: 'tool_result', is_error: true, content: expect.stringMatching(/Outcome unknown.*a defect/s) }],
    });
    await keepHistory('L40 a defect in runTool', session.handle);
  });

  it('L39 L61 in what stores the end of a run holds it up until a worker can store it', async () => {
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
    await keepHistory('L39 a defect in commit', session.handle);
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
