// The end of a session: what comes while it closes, and who may close it.
import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createActivities } from '../../activities/index.ts';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { WORKFLOW_TYPE, type SessionInput } from '../../workflows/contract/session.ts';
import { agentCall, byPrompt } from '../support/by-prompt.ts';
import { initRepository } from '../support/repository.ts';
import { endSession, harness, userMessage } from '../support/harness.ts';
import { workerWith } from '../support/own-activities.ts';
import { until } from '../support/until.ts';

test('a cancel that comes while a session opened for one run closes undoes nothing of its result (L49 Q4)', async () => {
  const h = await harness({ script: [reply('Done.')] });
  const [closing, held] = [gate(), gate()];
  await workerWith(h, (deps) => {
    const activities = createActivities(deps);
    return {
      ...activities,
      commit: async (input) => {
        if (input.append.some(({ kind }) => kind === 'session_closed')) {
          closing.release();
          await held.hold;
        }
        return activities.commit(input);
      },
    };
  });
  const input: SessionInput = {
    options: { cwd: h.cwd },
    title: 'Go.',
    visibility: true,
    first: userMessage('Go.'),
    until: 'run',
  };
  const workflowId = `t-${randomUUID()}`;
  const handle = await h.client.workflow.start(WORKFLOW_TYPE, { workflowId, taskQueue: h.taskQueue, args: [input] });
  onTestFinished(() => endSession(handle));
  await closing.hold;
  await handle.cancel();
  held.release();
  expect(await handle.result()).toMatchObject({ run: 1, reason: 'completed', text: 'Done.' });
});

test('a worker that only stops a session closes it also while a hook was being told of it (L49 O17)', async () => {
  const told = gate();
  const hang = (): Promise<void> => (told.release(), new Promise(() => undefined));
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([agentCall('A.'), toolUse('bash', { command: 'touch a' })])],
      'A.': [reply([toolUse('bash', { command: 'touch b' })])],
    }),
    worker: { config: { hooks: { waiting: [{ name: 'pager', timeoutMs: 600_000, run: hang }] }, drainMs: 1 } },
  });
  const session = await h.open('Go.', { permissionMode: 'default' });
  await told.hold;
  await h.worker.stop();
  await session.handle.cancel();
  const stopper = await h.startWorker({ stops: { session: session.id, run: 2 } });
  await expect(session.handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
  await stopper.stop();
});

test('a worker that only stops a session ends its agents too, with the work trees that they have (L49 L64 L72)', async () => {
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([agentCall('A.', { isolation: 'worktree' })])],
      'A.': [reply('Half of', { hold: new Promise(() => {}) })],
    }),
    worker: { config: { drainMs: 1 } },
  });
  initRepository(h.cwd, { 'a.txt': 'first\n' });
  const session = await h.open('Go.');
  await until(() => h.bodies().length === 2);
  const worktrees = join(h.cwd, '..', 'data-worktrees');
  expect(readdirSync(worktrees)).toHaveLength(1);
  await h.worker.stop();
  await session.handle.cancel();
  const stopper = await h.startWorker({ stops: { session: session.id, run: 2 } });
  await expect(session.handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
  expect(readdirSync(worktrees)).toEqual([]);
  await stopper.stop();
});
