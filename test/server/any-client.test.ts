// A session as any Temporal client meets it: what it may be opened with, what its signals and
// updates say, and how it refuses.
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { findBinary } from '../../worker/embedded/find-binary.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import {
  MEMO_KEY,
  QUERIES,
  SIGNALS,
  UPDATES,
  WORKFLOW_TYPE,
  type SessionView,
} from '../../workflows/contract/session.ts';
import { shellBlocks } from '../support/documents.ts';
import { endSession, harness, userMessage, type Harness } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';
import { execute, running, userPlace } from '../support/user-worker.ts';

const always = { replies: [{ ...reply('Done.'), times: 'any' as const }] };

async function started(h: Harness, argument: unknown) {
  const workflowId = `t-${randomUUID()}`;
  const { taskQueue } = h;
  const handle = await h.client.workflow.start(WORKFLOW_TYPE, { workflowId, taskQueue, args: [argument] });
  onTestFinished(() => endSession(handle));
  return handle;
}

const causeOf = (ending: Promise<unknown>): Promise<unknown> =>
  ending.then(
    () => 'it did not fail',
    ({ cause }: Error) => cause,
  );

test('a session needs no more than its folder and a prompt: its title is the prompt (Q4)', async () => {
  const h = await harness({ script: always });
  const handle = await started(h, { options: { cwd: h.cwd }, first: userMessage('  Go.  '), until: 'run' });
  expect(await handle.result()).toMatchObject({ reason: 'completed', text: 'Done.' });
  expect((await handle.describe()).memo?.[MEMO_KEY]).toMatchObject({ title: 'Go.', phase: 'closed' });
});

test.each([
  [
    'no object',
    'Go.',
    'the session\'s argument is no object: give {"options": {"cwd": "/…"}, "first": …, "until": "run"}',
  ],
  [
    'no options',
    { first: userMessage('Go.') },
    "the session's argument has no `options`: give an object with at least `cwd`",
  ],
  ['a title that is none', { options: {}, title: 7 }, "the session's argument has a `title` that is no text"],
  [
    'a prompt as a text',
    { options: {}, first: 'Go.' },
    "the session's argument has a `first` that is no message: a message is an object with `id` and `body`",
  ],
  [
    'a prompt without an id',
    { options: {}, first: { body: { kind: 'text', text: 'Go.' } } },
    "the session's argument has a `first` that is no message: `id` is no text of 1 to 200 characters",
  ],
  [
    'no prompt for its one run',
    { options: { cwd: '/' }, until: 'run' },
    'the session is to end with its run ("until": "run") and has no prompt: give it as `first`, or send `message` with the start',
  ],
])('a session that is opened with %s fails with a sentence that names it (Q4)', async (_what, argument, sentence) => {
  const h = await harness({ script: [] });
  const cause = await causeOf((await started(h, argument)).result());
  expect(cause).toMatchObject({ message: sentence, type: 'UnreadableSession', nonRetryable: true });
});

test('the prompt of a session for one run may come as a signal that is sent with its start (Q4)', async () => {
  const h = await harness({ script: always });
  const handle = await h.client.workflow.signalWithStart(WORKFLOW_TYPE, {
    workflowId: `t-${randomUUID()}`,
    taskQueue: h.taskQueue,
    args: [{ options: { cwd: h.cwd }, until: 'run' }],
    signal: SIGNALS.message,
    signalArgs: [userMessage('Go.')],
  });
  expect(await handle.result()).toMatchObject({ reason: 'completed', text: 'Done.' });
});

describe('options that no run can open with', () => {
  test.each([
    ['a mode that there is not', { permissionMode: 'yolo' }, 'yolo'],
    ['an option that there is not', { maxTurn: 3 }, 'maxTurn'],
    ['a folder that is relative', { cwd: 'here' }, 'absolute path'],
  ])('fail a session for one run with BadOptions, never to be retried: %s (Q4)', async (name, options, said) => {
    const h = await harness({ script: [] });
    const handle = await started(h, { options: { cwd: h.cwd, ...options }, first: userMessage('Go.'), until: 'run' });
    const cause = (await causeOf(handle.result())) as ApplicationFailure;
    expect(cause).toMatchObject({ type: 'BadOptions', nonRetryable: true });
    expect(cause.message).toContain(said);
    if (name.startsWith('a mode')) await keepHistory('options that no run can open with', handle);
  });

  test('fail the call of a workflow as a failure of its own (Q3 Q4)', async () => {
    const at = await userPlace([]);
    await running(at);
    const handle = await execute(at, 'askedWith', [{ cwd: '/nowhere/at/all' }]);
    const cause = (await causeOf(handle.result())) as ApplicationFailure;
    expect(cause).toMatchObject({ type: 'BadOptions', nonRetryable: true });
    expect(cause.message).toContain('/nowhere/at/all');
  });
});

test.each([
  [SIGNALS.message, ['Go on.'], 'a message is an object with `id` and `body`'],
  [
    SIGNALS.message,
    [{ id: 'm-2', body: 'Go on.' }],
    '`body` is not { "kind": "text", "text": … }, nor a text of the store',
  ],
  [SIGNALS.resume, [{ id: 'r-1' }], 'it is not {"signal": "resume", "id": "…"}'],
  [SIGNALS.cancel, [], 'it is not {"signal": "cancel", "id": "…"}'],
  [SIGNALS.snip, [{ entries: 'all' }], '`entries` is no list of positions'],
  ['stop', [], 'there is no such signal: there are message, interrupt, resume, snip, cancel, relabel'],
])('a signal %s with %j does nothing, and the view says why (L49 L61)', async (signal, sent, why) => {
  const h = await harness({ script: always });
  const session = await h.open('Go.');
  await session.ended(1);
  await session.handle.signal(signal, ...sent);
  const seen = await until(async () => (await session.handle.query<SessionView>(QUERIES.view)).passedOver);
  expect(seen).toEqual([{ signal, why }]);
});

test('Temporal’s clients are told what each signal, update and query is for', async () => {
  const h = await harness({ script: always });
  const session = await h.open('Go.');
  const { definition } = await session.handle.query<{ definition: Readonly<Record<string, unknown>> }>(
    '__temporal_workflow_metadata',
  );
  const described = (name: string) => ({ name, description: expect.stringMatching(/\w{3}/) as string });
  expect(definition).toMatchObject({
    signalDefinitions: expect.arrayContaining(Object.values(SIGNALS).map(described)) as unknown,
    updateDefinitions: expect.arrayContaining(Object.values(UPDATES).map(described)) as unknown,
    queryDefinitions: expect.arrayContaining(Object.values(QUERIES).map(described)) as unknown,
  });
});

/**
 * The commands of docs/embedding.md that begin with `temporal`, each on the lines that it takes.
 */
function documented(): readonly string[] {
  const blocks = shellBlocks('docs/embedding.md');
  return blocks.flatMap(({ code }) => code.split(/\n(?=temporal )/)).map((command) => command.trim());
}

test('the commands of docs/embedding.md do what it says, typed into Temporal’s own command line (Q4)', async () => {
  const script = [reply([toolUse('bash', { command: 'touch made' })]), reply('It is an empty cart.')];
  const h = await harness({ script, worker: { defaults: { permissionMode: 'default' } } });
  const binary = await findBinary({ env: process.env, wanted: null, say: () => {} });
  const id = `t-${randomUUID()}`;
  onTestFinished(() => endSession(h.client.workflow.getHandle(id)));
  let [call, hash] = ['', ''];
  const run = async (command: string): Promise<string> => {
    const here = command
      .replace(/^temporal /, `'${binary.path}' `)
      .replaceAll('s-triage-1', id)
      .replaceAll('--task-queue perdure', `--task-queue ${h.taskQueue}`)
      .replaceAll('/srv/checkout', h.cwd)
      .replaceAll('CALL', call)
      .replaceAll('HASH', hash);
    const env = { PATH: process.env.PATH, HOME: h.cwd, TEMPORAL_ADDRESS: inject('temporalAddress') };
    return (await promisify(execFile)('bash', ['-c', here], { env })).stdout;
  };
  const [start = '', view = '', message = '', approve = '', result = '', ...more] = documented();
  expect(more).toEqual([]);
  await run(start);
  const handle = h.client.workflow.getHandle(id);
  const waits = await until(async () => (await handle.query<SessionView>(QUERIES.view)).approvals[0]);
  [call, hash] = [waits.call, waits.inputHash];
  expect(await run(view)).toContain(call);
  await run(message);
  await run(approve);
  expect(await run(result)).toContain('COMPLETED');
  expect(JSON.stringify(h.bodies().at(-1))).toContain('Look at the tests, too.');
});
