// Agents in a Temporal worker of the user's own: a workflow there starts one as a child, on the
// queue of a worker of Perdure.
import { randomUUID } from 'node:crypto';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { NativeConnection, Worker } from '@temporalio/worker';
import { inject, onTestFinished, test, expect } from 'vitest';
import type { AgentCall } from '../../workflows/parent/run-agent.ts';
import { QUERIES, type RunReport, type SessionView } from '../../workflows/contract/session.ts';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { findBinary } from '../../worker/embedded/find-binary.ts';
import { harness, type Harness } from '../support/harness.ts';
import { until } from '../support/until.ts';

const execute = promisify(execFile);
const workflowsPath = fileURLToPath(new URL('../support/user-workflows.mjs', import.meta.url));

/** A worker of the user's, with a workflow and an activity of theirs. */
async function userWorker(h: Harness) {
  const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  const taskQueue = `user-${randomUUID()}`;
  const activities = { shout: (text: string): Promise<string> => Promise.resolve(text.toUpperCase()) };
  const worker = await Worker.create({ connection, taskQueue, workflowsPath, activities });
  const running = worker.run();
  onTestFinished(async () => {
    worker.shutdown();
    await running;
    await connection.close();
  });
  const call: AgentCall = { prompt: 'Go.', options: { cwd: h.cwd }, taskQueue: h.taskQueue };
  const start = (workflow: string, args: readonly unknown[]) =>
    h.client.workflow.start(workflow, { workflowId: `u-${randomUUID()}`, taskQueue, args: [...args] });
  return { call, start };
}

test('a workflow of the user’s own runs an agent and gets its text, cost and session (Q4)', async () => {
  const h = await harness({ script: [reply([toolUse('glob', { pattern: '*' })]), reply('All done.')] });
  const { call, start } = await userWorker(h);
  const handle = await start('reportOf', [call]);
  const { report, loud } = (await handle.result()) as { report: RunReport; loud: string };
  expect(loud).toBe('ALL DONE.');
  expect(report).toMatchObject({ reason: 'completed', text: 'All done.', turns: 2, run: 1 });
  expect(report.usage.output).toBeGreaterThan(0);
  expect(report.costUsd).toBeGreaterThan(0);
  const child = await h.client.workflow.getHandle(report.session).describe();
  expect(child.status.name).toBe('COMPLETED');
  await Worker.runReplayHistory({ workflowsPath }, await handle.fetchHistory(), handle.workflowId);
});

test('a session opened for one run by Temporal’s own command line returns the same as plain JSON (Q4)', async () => {
  const h = await harness({ script: [reply('From a command line.')] });
  const { path } = await findBinary({ env: process.env, wanted: null, say: () => undefined });
  const input = {
    title: 'Go.',
    visibility: false,
    until: 'run',
    options: { cwd: h.cwd },
    first: { id: 'm-1', body: { kind: 'text', text: 'Go.' } },
  };
  const id = `t-${randomUUID()}`;
  const where = ['--address', inject('temporalAddress'), '--task-queue', h.taskQueue, '--workflow-id', id];
  const what = ['workflow', 'execute', '--type', 'perdure.agentSession', '--input', JSON.stringify(input)];
  const { stdout } = await execute(path, [...what, ...where, '--output', 'json']);
  expect(JSON.parse(stdout)).toMatchObject({
    result: { session: id, reason: 'completed', text: 'From a command line.' },
  });
});

test('the value of an output schema comes with the result (Q4 L53)', async () => {
  const h = await harness({ script: [reply('{"lamps": 12}')] });
  const { call, start } = await userWorker(h);
  const outputSchema = { type: 'object', properties: { lamps: { type: 'number' } }, required: ['lamps'] };
  const handle = await start('reportOf', [{ ...call, options: { ...call.options, outputSchema } }]);
  expect(await handle.result()).toMatchObject({ report: { output: { lamps: 12 } } });
});

test('a message of the workflow reaches its agent before the agent ends (Q4 L61)', async () => {
  const held = gate();
  const h = await harness({ script: [reply('First.', { hold: held.hold }), reply('Heard.')] });
  const { call, start } = await userWorker(h);
  const session = `s-${randomUUID()}`;
  const handle = await start('steered', [{ ...call, session }, 'And this.']);
  await until(() => h.bodies().length === 1);
  const child = h.client.workflow.getHandle(session);
  await until(async () => (await child.query<SessionView>(QUERIES.view)).queued.length === 1);
  held.release();
  expect(await handle.result()).toMatchObject({ reason: 'completed', text: 'Heard.' });
  expect(JSON.stringify(h.bodies())).toContain('And this.');
});

test('a workflow that is cancelled cancels its agent and waits for its end (Q4 L49)', async () => {
  const held = gate();
  const h = await harness({ script: [reply('Held.', { hold: held.hold })] });
  const { call, start } = await userWorker(h);
  const session = `s-${randomUUID()}`;
  const handle = await start('reportOf', [{ ...call, session }]);
  await until(() => h.bodies().length === 1);
  await handle.cancel();
  await expect(handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
  expect((await h.client.workflow.getHandle(session).describe()).status.name).toBe('CANCELLED');
  held.release();
});

test.each([
  ['an empty prompt', { prompt: ' ' }, 'the prompt is empty: say what the agent is to do'],
  ['an option out of range', { options: { cwd: '/tmp', maxTurns: 0 } }, 'max turns is 0: give a whole number from 1'],
])('%s fails the workflow with a sentence (Q4)', async (_, wrong, sentence) => {
  const h = await harness({ script: [] });
  const { call, start } = await userWorker(h);
  const handle = await start('reportOf', [{ ...call, ...wrong }]);
  await expect(handle.result()).rejects.toMatchObject({
    cause: { message: expect.stringContaining(sentence) as string },
  });
});

test('a long prompt of a workflow reaches its agent whole, by hash, and is replayed (Q4)', async () => {
  const h = await harness({ script: [reply('Read.')] });
  const { call, start } = await userWorker(h);
  // Each of two code units: a piece would end within one.
  const handle = await start('longPrompt', [{ ...call, prompt: '\u{1F600}' }, 140_000, 'x']);
  expect(await handle.result()).toMatchObject({ reason: 'completed', text: 'Read.' });
  expect(JSON.stringify(h.bodies()[0]?.messages)).toContain(`x${'\u{1F600}'.repeat(140_000)}`);
  await Worker.runReplayHistory({ workflowsPath }, await handle.fetchHistory(), handle.workflowId);
});

test('a prompt above all bounds fails the workflow with a sentence (Q4)', async () => {
  const h = await harness({ script: [] });
  const { call, start } = await userWorker(h);
  const handle = await start('longPrompt', [{ ...call, prompt: 'word ' }, 1_000_000, '']);
  await expect(handle.result()).rejects.toMatchObject({
    cause: { message: expect.stringContaining('the prompt has 5000000 characters: give at most 4194304') as string },
  });
});
