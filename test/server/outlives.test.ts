// What is left of a session that has ended, or of a call that it has given up: it ends, and nothing
// of it comes back in the way (L64).
import { Context } from '@temporalio/activity';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool, type Tool } from '../../tools/tool.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { defaultHandover } from '../../workflows/contract/session.ts';
import { agentsOf } from '../support/agents.ts';
import { agentCall, byPrompt } from '../support/by-prompt.ts';
import { harness, type Harness } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';
import { usersWorker } from '../support/users-worker.ts';

const delivering = (taskQueue: string): Tool =>
  defineTool({
    name: 'deliver',
    description: 'Delivers.',
    inputSchema: z.strictObject({ article: z.string() }),
    risk: 'external',
    activity: {
      name: 'deliver',
      taskQueue,
      options: { startToCloseTimeout: '5 minutes', heartbeatTimeout: '10 seconds' },
    },
  });

/** The workflows that do the work of calls. */
async function workOf({ client, taskQueue }: Harness) {
  const query = `WorkflowType = 'perdure.delegatedWork' AND TaskQueue = '${taskQueue}'`;
  const found = [];
  for await (const { workflowId } of client.workflow.list({ query })) found.push(client.workflow.getHandle(workflowId));
  return found;
}

test('the work of a call ends when its session is ended from outside (L64)', async () => {
  const { taskQueue, started } = await usersWorker();
  const h = await harness({
    script: [reply([toolUse('deliver', { article: 'x' })])],
    worker: { tools: [delivering(taskQueue)] },
  });
  const session = await h.open('Deliver.');
  await until(() => started.length > 0);
  const [work] = await until(async () => {
    const found = await workOf(h);
    return found.length === 1 && found;
  });
  await session.handle.terminate();
  await until(async () => (await work!.describe()).status.name === 'COMPLETED');
  const { events } = await work!.fetchHistory();
  expect(events?.filter(({ activityTaskCanceledEventAttributes: canceled }) => canceled)).toHaveLength(1);
  await keepHistory('the work of a call whose session was ended from outside (L64)', work!);
});

test('the agents of agents of a session that is ended from outside end, and their work (L64)', async () => {
  const { taskQueue, started } = await usersWorker();
  const busy = (n: number) => reply([toolUse('bash', { command: `sleep 0.2; echo ${n}` })]);
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([agentCall('A.')])],
      'A.': [reply([agentCall('B.'), agentCall('C.')])],
      'B.': Array.from({ length: 1_000 }, (_, n) => busy(n)),
      'C.': [reply([toolUse('deliver', { article: 'x' })])],
    }),
    worker: { tools: [delivering(taskQueue)] },
  });
  const session = await h.open('Go.', { maxTurns: 1_000 });
  await until(() => h.bodies().length >= 5 && started.length > 0);
  await session.handle.terminate();
  const agents = await until(async () => {
    const found = await agentsOf(h, session.id);
    return found.length === 3 && found.every(({ status }) => status !== 'RUNNING') && found;
  });
  const ends = agents.map(({ memo }) => JSON.stringify(memo.last?.terminal)).toSorted();
  expect(ends).toEqual([
    expect.stringContaining(`session ${session.id}, which started this agent, is over`),
    expect.stringContaining(`session ${session.id}, which this agent works for, is over`),
    expect.stringContaining(`session ${session.id}, which this agent works for, is over`),
  ]);
});

test('results that come when their calls were given up do not weigh on the session (L4 L64)', async () => {
  const CALLS = 20;
  const shop = { begun: 0, open: false };
  const { taskQueue } = await usersWorker({
    more: {
      /** It does not hear that it is to stop. */
      async big() {
        shop.begun += 1;
        while (!shop.open)
          await Context.current()
            .sleep(50)
            .catch(() => until.tick());
        return 'x'.repeat(130_000);
      },
    },
  });
  const big = defineTool({
    name: 'big',
    description: 'Big.',
    inputSchema: z.strictObject({ n: z.number() }),
    risk: 'read',
    activity: { name: 'big', taskQueue, options: { startToCloseTimeout: '5 minutes' } },
  });
  const look = reply([toolUse('glob', { pattern: '*' })]);
  const h = await harness({
    script: [reply(Array.from({ length: CALLS }, (_, n) => toolUse('big', { n }))), look, look, reply('Done.')],
    worker: { tools: [big] },
    handover: { ...defaultHandover, iterations: 2 },
  });
  const session = await h.open('Go.');
  await until(() => shop.begun === CALLS);
  await session.interrupt();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_tools' } });
  shop.open = true;
  for (const work of await until(async () => {
    const found = await workOf(h);
    return found.length === CALLS && found;
  }))
    await work.result();
  const { runId } = await session.handle.describe();
  await session.send('Next.');
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
  expect((await session.handle.describe()).runId).not.toBe(runId);
});
