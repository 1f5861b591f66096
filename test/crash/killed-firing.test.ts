// A worker that is killed while the firing of a schedule is under way: the next worker ends it,
// once.
import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { fileStore } from '../../store/values/file-store.ts';
import { createClient } from '../../client/client.ts';
import { gate, reply, toolUse, type ParsedRequest, type Reply } from '../../scripted-model/index.ts';
import { endSession } from '../support/harness.ts';
import { crashHarness } from '../support/crash-harness.ts';
import { until } from '../support/until.ts';

test('a firing whose worker is killed goes on in the next one, and its effect is there once (L87 L40)', async () => {
  const killed = gate();
  const script = async ({ messages }: ParsedRequest): Promise<Reply> => {
    if (messages.length === 1) return reply([toolUse('bash', { command: 'echo once >> effects.log' })]);
    await killed.hold;
    return reply('Done.');
  };
  const h = await crashHarness({ script });
  const sessions = createClient({
    temporal: h.client,
    store: fileStore({ dir: h.storePlace }),
    live: async function* () {},
    visibility: () => Promise.resolve(true),
    taskQueue: h.taskQueue,
  });
  const name = `t-${randomUUID().slice(0, 18)}`;
  await sessions.schedules.create('0 6 1 1 *', 'Go.', { name, cwd: h.cwd, permissionMode: 'bypass' });
  onTestFinished(() => sessions.schedules.delete(name));
  // Nobody works: the firing waits.
  const { session } = await sessions.schedules.trigger(name);
  const first = await h.worker();
  await until(() => h.bodies().length > 1);
  onTestFinished(() => endSession(h.client.workflow.getHandle(session ?? '')));
  await first.kill();
  const second = await h.worker();
  killed.release();
  await until(async () => ((await sessions.describe(session ?? '')).status === 'completed' ? true : null));
  expect(await sessions.result(session ?? '')).toMatchObject({ text: 'Done.' });
  expect(h.effects()).toEqual(['once']);
  await second.drain();
});
