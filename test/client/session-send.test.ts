// What reaches the server when a session is started or written to, and how often it is tried. The
// server is a fake.
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Client } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/common';
import { hashOf } from '../../store/values/store.ts';
import { memoryStore } from '../support/memory-store.ts';
import { createClient } from '../../client/client.ts';
import type { CreateClient } from '../../client/sessions/start.ts';
import { createClientConverter } from '../../connection/payloads/data-converter.ts';
import type { PerdureClient } from '../../client/perdure-client.ts';
import { LARGEST_INLINE } from '../../store/log/bodies.ts';
import type { UserMessage } from '../../workflows/contract/session.ts';

type Call = (...args: unknown[]) => Promise<unknown>;

type Calls = { signalWithStart?: Call; signal?: Call; describe?: Call; cancel?: Call };

function sessions({ signalWithStart, signal, describe, cancel }: Calls, more: Partial<CreateClient> = {}) {
  const handle = { signal, describe, cancel };
  const workflow = { signalWithStart, getHandle: () => handle };
  const withDeadline = <T>(_deadline: unknown, call: () => Promise<T>): Promise<T> => call();
  const temporal = {
    workflow,
    withDeadline,
    options: { namespace: 'default', loadedDataConverter: createClientConverter(undefined) },
  } as unknown as Client;
  const store = memoryStore();
  const client: PerdureClient = createClient({
    temporal,
    store,
    live: () => {
      throw new Error('nothing is followed here');
    },
    visibility: () => Promise.resolve(true),
    ...more,
  });
  return { client, store };
}

/** As the SDK throws what the server answered. */
const grpc = (code: number, details: string): Error =>
  new Error('the call failed', { cause: Object.assign(new Error(details), { code, details, metadata: {} }) });

type StartCall = { readonly args: readonly unknown[]; readonly signalArgs: readonly UserMessage[] };
const startOf = (call: ReturnType<typeof vi.fn>, n = 0) =>
  call.mock.calls[n]?.[1] as StartCall & Record<string, unknown>;

test('starts a session with its first message in one call, never with an execution timeout', async () => {
  const signalWithStart = vi.fn(() => Promise.resolve());
  const { client } = sessions({ signalWithStart });
  const { session, messageId } = await client.start('  do\nit ', { cwd: '/work', maxTurns: 3, tags: { team: 'web' } });
  expect(session).toMatch(/^s-[0-9a-z]{10}$/);
  const call = startOf(signalWithStart);
  expect(call).toMatchObject({
    workflowId: session,
    taskQueue: 'perdure',
    args: [{ options: { cwd: '/work', maxTurns: 3 }, title: 'do it', visibility: true, attributes: true }],
    signal: 'message',
    signalArgs: [{ id: messageId, body: { kind: 'text', text: '  do\nit ' } }],
    workflowTaskTimeout: '10s',
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    memo: { perdure: { phase: 'running', title: 'do it', runs: 0, last: null } },
    typedSearchAttributes: [
      { key: { name: 'PerdurePhase' }, value: 'running' },
      { key: { name: 'PerdureTurns' }, value: 0 },
      { key: { name: 'PerdureTokens' }, value: 0 },
      { key: { name: 'PerdureCents' }, value: 0 },
      { key: { name: 'PerdureTags' }, value: ['team=web'] },
    ],
    staticSummary: 'do it',
  });
  expect(Object.keys(call)).not.toContain('workflowExecutionTimeout');
});

test('gives a session that may be there already the options with the message, but no folder that nobody chose', async () => {
  const signalWithStart = vi.fn(() => Promise.resolve());
  const { client } = sessions({ signalWithStart });
  await client.start('go on', { session: 'mine', maxTurns: 3 });
  expect(startOf(signalWithStart).signalArgs[0]?.options).toEqual({ maxTurns: 3 });
});

test('options for a new session alone do not travel with its message; what is given goes before them, but for null (L57)', async () => {
  const signalWithStart = vi.fn(() => Promise.resolve());
  const { client } = sessions({ signalWithStart });
  const ifNew = { permissionMode: 'dontAsk', model: 'm', maxTurns: 9 } as const;
  await client.start('go on', { session: 'mine', cwd: '/work', maxTurns: 3, model: null, ifNew });
  const { args, signalArgs } = startOf(signalWithStart);
  expect(args).toMatchObject([{ options: { cwd: '/work', permissionMode: 'dontAsk', model: 'm', maxTurns: 3 } }]);
  expect(signalArgs[0]?.options).toEqual({ cwd: '/work', maxTurns: 3, model: null });
});

test('a workspace cannot be taken back (L57)', async () => {
  const signalWithStart = vi.fn(() => Promise.resolve());
  const { client } = sessions({ signalWithStart });
  const cwd = null as unknown as string;
  await expect(client.start('go on', { session: 'mine', cwd })).rejects.toThrow('the working directory is not a text');
  expect(signalWithStart).not.toHaveBeenCalled();
});

test('sends the same message again, with the same id, when the server did not answer (L61)', async () => {
  const signalWithStart = vi
    .fn<Call>()
    .mockRejectedValueOnce(grpc(8, 'workflow operation can not be applied because workflow is closing'))
    .mockRejectedValueOnce(grpc(14, 'unavailable'))
    .mockResolvedValueOnce(undefined);
  const { client } = sessions({ signalWithStart });
  const { messageId } = await client.start('do it', { cwd: '/work' });
  const ids = [0, 1, 2].map((n) => startOf(signalWithStart, n).signalArgs[0]?.id);
  expect(ids).toEqual([messageId, messageId, messageId]);
});

test('does not repeat what the server refuses', async () => {
  const signalWithStart = vi.fn<Call>().mockRejectedValue(grpc(7, 'permission denied'));
  await expect(sessions({ signalWithStart }).client.start('do it')).rejects.toThrow('the call failed');
  expect(signalWithStart).toHaveBeenCalledOnce();
});

test('sends a long prompt by its hash, after it is stored, and a short one as it is', async () => {
  const signal = vi.fn<Call>().mockResolvedValue(undefined);
  const { client, store } = sessions({ signal });
  const long = 'ü'.repeat(LARGEST_INLINE);
  await client.send('s-1', long);
  await client.send('s-1', 'x'.repeat(LARGEST_INLINE - '""'.length), { now: true });
  const [first, second] = signal.mock.calls.map((call) => call[1] as UserMessage);
  expect(first?.body).toMatchObject({ kind: 'stored', bytes: 2 * LARGEST_INLINE });
  expect(new TextDecoder().decode(await store.get(hashOf(Buffer.from(long))))).toBe(long);
  expect(second).toMatchObject({ body: { kind: 'text' }, now: true });
});

test.each(['x', '"', '\u001b'])(
  'what travels inline fits ten thousand times, twice each, into half of the history that the server keeps: %j (L4 L61)',
  async (char) => {
    const signal = vi.fn<Call>().mockResolvedValue(undefined);
    const { client } = sessions({ signal });
    const most = Math.floor((LARGEST_INLINE - 2) / (JSON.stringify(char).length - 2));
    await client.send('s-1', char.repeat(most));
    await client.send('s-1', char.repeat(most + 1));
    const [inline, longer] = signal.mock.calls.map((call) => call[1] as UserMessage);
    expect([inline?.body.kind, longer?.body.kind]).toEqual(['text', 'stored']);
    expect(2 * 10_000 * JSON.stringify(inline).length).toBeLessThan(25 * 1024 * 1024);
  },
);

test('sends an interrupt again under the same id when the server did not answer, the next one under another (L47 L61)', async () => {
  const signal = vi.fn<Call>().mockRejectedValueOnce(grpc(14, 'unavailable')).mockResolvedValue(undefined);
  const { client } = sessions({ signal });
  await client.interrupt('s-1');
  await client.interrupt('s-1');
  const [lost, again, next] = signal.mock.calls;
  expect(lost).toEqual(['interrupt', { signal: 'interrupt', id: expect.stringMatching(/./) }]);
  expect(again).toEqual(lost);
  expect(next).not.toEqual(lost);
});

test('says that there is no such session, or that it is closed', async () => {
  const gone = new WorkflowNotFoundError('not found', 's-1', undefined);
  const signal = vi.fn<Call>().mockRejectedValue(gone);
  const nowhere = sessions({ signal, describe: vi.fn<Call>().mockRejectedValue(gone) });
  await expect(nowhere.client.send('s-1', 'hi')).rejects.toThrow('no session s-1');
  const closed = { workflowId: 's-1', status: { name: 'CANCELLED' }, startTime: new Date(0), raw: {} };
  const cancelled = sessions({ signal, describe: vi.fn<Call>().mockResolvedValue(closed) });
  await expect(cancelled.client.send('s-1', 'hi')).rejects.toThrow('session s-1 was cancelled and takes nothing more');
});

test('a session that takes no more signals is cancelled all the same, though nobody is named (O12)', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const signal = vi.fn<Call>(() => {
    vi.setSystemTime(Date.now() + 10_000);
    return Promise.reject(grpc(3, 'exceeded workflow execution limit for signal events'));
  });
  const cancel = vi.fn<Call>().mockResolvedValue(undefined);
  await sessions({ signal, cancel }).client.cancel('s-1', { by: 'ana' });
  expect([signal.mock.calls.length, cancel.mock.calls.length]).toEqual([1, 1]);
});

test('each prompt says how it came: by a program, unless its client or its sender says otherwise (O12)', async () => {
  const signalWithStart = vi.fn(() => Promise.resolve());
  const sent = () => startOf(signalWithStart, signalWithStart.mock.calls.length - 1);
  await sessions({ signalWithStart }).client.start('do it');
  expect([sent().signalArgs[0]?.querySource, sent().memo]).toEqual([
    'sdk',
    expect.objectContaining({
      perdure: expect.objectContaining({ facts: expect.objectContaining({ querySource: 'sdk' }) }),
    }),
  ]);
  await sessions({ signalWithStart }).client.start('do it', { querySource: 'api' });
  expect(sent().signalArgs[0]?.querySource).toBe('api');
  const { client } = sessions({ signalWithStart }, { querySource: 'cli' });
  await client.start('do it');
  expect(sent().signalArgs[0]?.querySource).toBe('cli');
  await expect(client.start('do it', { querySource: 'web' as never })).rejects.toThrow(
    'querySource is "web": give one of cli, page, api, sdk, schedule, agent',
  );
});

test('does not open a closed session again under its id', async () => {
  const taken = new WorkflowExecutionAlreadyStartedError('taken', 'mine', 'perdure.agentSession');
  const { client } = sessions({ signalWithStart: vi.fn<Call>().mockRejectedValue(taken) });
  await expect(client.start('do it', { session: 'mine' })).rejects.toThrow('session mine is closed');
});

test.each([
  ['an empty prompt', (client: PerdureClient) => client.start(' \n\t'), 'the prompt is empty'],
  ['an id with a slash', (client: PerdureClient) => client.send('../x', 'hi'), 'is no session id'],
  ['no turns at all', (client: PerdureClient) => client.start('do it', { maxTurns: 0 }), 'max turns is 0'],
  [
    'an output schema that cannot be used',
    (client: PerdureClient) => client.start('do it', { outputSchema: { type: 'object', requried: ['n'] } }),
    'the output schema cannot be used',
  ],
  ['a relative folder', (client: PerdureClient) => client.start('do it', { cwd: 'here' }), 'not an absolute path'],
] as const)('refuses %s before anything is sent', async (_what, act, sentence) => {
  await expect(act(sessions({}).client)).rejects.toThrow(sentence);
});

test('refuses an id that a session would pass over, before anything is sent (L61)', async () => {
  const signal = vi.fn(() => Promise.resolve());
  const { client } = sessions({ signal });
  for (const id of ['', 'm'.repeat(201)]) {
    await expect(client.send('s-1', 'Hi.', { messageId: id })).rejects.toThrow(/id has \d+ characters/);
  }
  const number = 7 as unknown as string;
  await expect(client.send('s-1', 'Hi.', { messageId: number })).rejects.toThrow(/id is no text/);
  await expect(client.interrupt('s-1', { messageId: '' })).rejects.toThrow('id has 0 characters');
  const first = client.follow('s-1', { messageId: '' })[Symbol.asyncIterator]();
  await expect(first.next()).rejects.toThrow('id has 0 characters');
  await client.send('s-1', 'Hi.', { messageId: 'm'.repeat(200) });
  expect(signal).toHaveBeenCalledTimes(1);
});

test('a message brings the trace of its caller, or else the client’s, and one that is none is refused (O15)', async () => {
  const [own = '', named = ''] = ['a', 'b'].map((digit) => `00-${digit.repeat(32)}-${'1'.repeat(16)}-01`);
  const signal = vi.fn<Call>(() => Promise.resolve());
  const describe = () =>
    Promise.resolve({ workflowId: 's-1', status: { name: 'RUNNING' }, memo: {}, startTime: new Date() });
  const { client } = sessions({ signal, describe }, { traceparent: own });
  await client.send('s-1', 'x');
  await client.send('s-1', 'x', { traceparent: named });
  expect(signal.mock.calls.map(([, message]) => (message as UserMessage).traceparent)).toEqual([own, named]);
  await expect(client.send('s-1', 'x', { traceparent: 'abc' })).rejects.toThrow(
    'traceparent is "abc", and no trace context as W3C writes it: give one such as',
  );
});
