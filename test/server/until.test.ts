// A session that is opened for one run, as a child workflow is: its first message comes with its
// input, and it returns what came of it.
import { randomUUID } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/common';
import { expect, onTestFinished, test } from 'vitest';
import { STORE_CORRUPT } from '../../workflows/contract/failures.ts';
import { gate, reply, toolUse, type Reply } from '../../scripted-model/index.ts';
import {
  MEMO_KEY,
  SIGNALS,
  WORKFLOW_TYPE,
  type RunReport,
  type SessionInput,
} from '../../workflows/contract/session.ts';
import { endSession, harness, userMessage, type Harness } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { createActivities } from '../../activities/index.ts';
import { workerWith } from '../support/own-activities.ts';
import { until } from '../support/until.ts';

async function opened(h: Harness, more: Partial<SessionInput> = {}) {
  const first = userMessage('Go.');
  const input: SessionInput = { options: { cwd: h.cwd }, title: 'Go.', visibility: true, first, until: 'run', ...more };
  const workflowId = `t-${randomUUID()}`;
  const handle = await h.client.workflow.start(WORKFLOW_TYPE, { workflowId, taskQueue: h.taskQueue, args: [input] });
  onTestFinished(() => endSession(handle));
  return { first, handle };
}

test('a session opened for one run takes the message of its input and returns what the run came to (Q4)', async () => {
  const h = await harness({ script: [reply('Done.')] });
  const { first, handle } = await opened(h);
  const result = (await handle.result()) as RunReport;
  expect(result).toMatchObject({ run: 1, terminal: { reason: 'completed' }, messages: [first.id] });
  expect(result).toMatchObject({ session: handle.workflowId, reason: 'completed', text: 'Done.' });
  const { status, memo } = await handle.describe();
  expect(status.name).toBe('COMPLETED');
  expect(memo?.[MEMO_KEY]).toMatchObject({ phase: 'closed', runs: 1 });
  await keepHistory('a session opened for one run', handle);
});

test('what is sent to it meanwhile is worked on before it returns', async () => {
  const held = gate();
  const script: Reply[] = [reply('First.', { hold: held.hold }), reply('Second.')];
  const h = await harness({ script });
  const { handle } = await opened(h);
  await until(() => h.bodies().length === 1);
  const second = userMessage('And this.');
  await handle.signal(SIGNALS.message, second);
  held.release();
  const result = (await handle.result()) as RunReport;
  expect(result.terminal.reason).toBe('completed');
  expect(result.messages).toContain(second.id);
  expect(JSON.stringify(h.bodies().at(-1))).toContain('And this.');
});

test('a handover in the middle loses neither its message nor what it is to return', async () => {
  const h = await harness({ script: [reply([toolUse('glob', { pattern: '*' })]), reply('Done.')] });
  const { first, handle } = await opened(h, { handover: { events: 100_000, signals: 5_000, iterations: 1 } });
  expect(await handle.result()).toMatchObject({ run: 1, terminal: { reason: 'completed' }, messages: [first.id] });
  const { runId } = await h.client.workflow.getHandle(handle.workflowId).describe();
  expect(runId).not.toBe(handle.firstExecutionRunId);
});

test('a cancel ends it as cancelled, and a first message that is none as failed', async () => {
  const held = gate();
  const h = await harness({ script: [reply('Held.', { hold: held.hold })] });
  const { handle } = await opened(h);
  await until(() => h.bodies().length === 1);
  await handle.cancel();
  await expect(handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
  held.release();
  const { handle: odd } = await opened(h, { first: { id: 1 } as never });
  await expect(odd.result()).rejects.toMatchObject({
    cause: { message: expect.stringContaining('`first` that is no message') },
  });
});

test('what is sent while its result is read is worked on as well', async () => {
  const h = await harness({ script: [reply('First.'), reply('Second.')] });
  const [reading, held] = [gate(), gate()];
  await workerWith(h, (deps) => {
    const activities = createActivities(deps);
    return {
      ...activities,
      readResult: async (input) => {
        reading.release();
        await held.hold;
        return activities.readResult(input);
      },
    };
  });
  const { handle } = await opened(h);
  await reading.hold;
  const second = userMessage('And this.');
  await handle.signal(SIGNALS.message, second);
  held.release();
  expect(await handle.result()).toMatchObject({ run: 2, text: 'Second.', messages: [second.id] });
});

test('a result that cannot be read fails the session with a sentence, once it is closed', async () => {
  const h = await harness({ script: [reply('Done.')] });
  await workerWith(h, (deps) => ({
    ...createActivities(deps),
    readResult: () => Promise.reject(ApplicationFailure.nonRetryable('segment 1 is damaged', STORE_CORRUPT)),
  }));
  const { handle } = await opened(h);
  const message = 'run 1 ended with completed, and its result cannot be read: segment 1 is damaged';
  await expect(handle.result()).rejects.toMatchObject({ cause: { message } });
  expect((await handle.describe()).memo?.[MEMO_KEY]).toMatchObject({ phase: 'closed', last: { run: 1 } });
});
