// Calls that wait for a decision: how they are listed, and how a decision reaches its session. The
// server is a fake.
import { expect, test, vi } from 'vitest';
import {
  type Client,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure, defaultPayloadConverter } from '@temporalio/common';
import { inputHashOf } from '../../client/sessions/waiting-approval.ts';
import { createClient } from '../../client/client.ts';
import { createClientConverter } from '../../connection/payloads/data-converter.ts';
import { ClientProblem } from '../../client/problem.ts';
import { memoryStore } from '../support/memory-store.ts';
import type { Store } from '../../store/values/store.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import type { PendingApproval } from '../../workflows/contract/session.ts';
import { callBlock, reply, runStarted, stored, textBlock } from '../support/transcript.ts';

type Update = (
  name: string,
  options: { readonly args: readonly unknown[]; readonly updateId: string },
) => Promise<void>;

const input = { command: 'rm -rf build' };

/** A session whose last reply is `text, bash(input)`; what waits is in its memo. */
async function waiting(changes: Partial<PendingApproval> = {}, store: Store = memoryStore()) {
  const view = await stored(store, [
    runStarted(1),
    reply([textBlock('I clean.'), callBlock('toolu_1', input, 'bash')]),
  ]);
  const pending: PendingApproval = {
    call: '1.1.1',
    tool: 'bash',
    reason: 'it may change files',
    inputHash: inputHashOf(input),
    head: view.head as Hash,
    index: 1,
    deadline: 5_000,
    ...changes,
  };
  return { store, pending };
}

type Server = {
  readonly approvals?: readonly PendingApproval[];
  readonly status?: string;
  readonly update?: Update;
  readonly pollers?: readonly object[];
};

function sessions(store: Store, { approvals = [], status = 'RUNNING', update, pollers = [] }: Server) {
  const memo = {
    perdure: { phase: 'waiting_approval', head: null, cwd: '/w', title: 't', runs: 1, last: null, approvals },
  };
  const execution = { workflowId: 's-1', status: { name: status }, memo, startTime: new Date(0), raw: {} };
  const handle = { describe: () => Promise.resolve(execution), executeUpdate: update };
  const other = { ...execution, workflowId: 's-2', memo: { perdure: { ...memo.perdure, approvals: undefined } } };
  const zero = { toNumber: () => 0, toString: () => '0' };
  const executions = [other, execution].map((one) => ({
    execution: { workflowId: one.workflowId, runId: 'r' },
    type: { name: 'perdure.agentSession' },
    status: 1,
    startTime: { nanos: 0 },
    historyLength: zero,
    historySizeBytes: zero,
    memo: { fields: { perdure: defaultPayloadConverter.toPayload(one.memo.perdure) } },
  }));
  const temporal = {
    workflow: { getHandle: () => handle },
    workflowService: {
      describeTaskQueue: () => Promise.resolve({ pollers }),
      listWorkers: () => Promise.resolve({}),
      listWorkflowExecutions: () => Promise.resolve({ executions, nextPageToken: new Uint8Array() }),
    },
    withDeadline: <T>(_deadline: unknown, call: () => Promise<T>): Promise<T> => call(),
    options: { namespace: 'default', identity: '7@here', loadedDataConverter: createClientConverter(undefined) },
  } as unknown as Client;
  return createClient({
    temporal,
    store,
    live: () => {
      throw new Error('nothing is followed here');
    },
    visibility: () => Promise.resolve(true),
  });
}

const grpc = (code: number, details: string): Error =>
  new Error('the call failed', { cause: Object.assign(new Error(details), { code, details, metadata: {} }) });
const accepted = () => vi.fn<Update>().mockResolvedValue(undefined);
const refused = (why: string) => new WorkflowUpdateFailedError('failed', ApplicationFailure.create({ message: why }));

test('lists the calls of all open sessions that wait, each with its input, and those of one (L55)', async () => {
  const { store, pending } = await waiting();
  const client = sessions(store, { approvals: [pending] });
  const expected = [{ ...pending, session: 's-1', input, toolUseId: 'toolu_1' }];
  expect(await client.approvals()).toEqual(expected);
  expect(await client.approvals('s-1')).toEqual(expected);
});

test('shows the input that a hook put in place, and says so when only the model’s own is there (L55)', async () => {
  const edited = { command: 'ls' };
  const { store, pending } = await waiting({ inputHash: inputHashOf(edited) });
  const client = sessions(store, { approvals: [pending] });
  expect(await client.approvals('s-1')).toMatchObject([{ input, problem: expect.stringContaining('was changed') }]);
  await store.put(Buffer.from(JSON.stringify(edited)));
  const [shown] = await client.approvals('s-1');
  expect(shown).toMatchObject({ input: edited });
  expect(shown).not.toHaveProperty('problem');
});

test('lists a call also when its transcript is not in the store, with what is wrong', async () => {
  const { pending } = await waiting();
  const [shown] = await sessions(memoryStore(), { approvals: [pending] }).approvals('s-1');
  expect(shown).toMatchObject({ call: '1.1.1', input: null, problem: expect.stringContaining('cannot be read') });
});

test('approves a call for the input that waits, and an edited one by the hash of what is stored (L55)', async () => {
  const { store, pending } = await waiting();
  const update = accepted();
  const client = sessions(store, { approvals: [pending], update });
  expect(await client.approve('s-1', '1.1.1')).toEqual(pending);
  await client.approve('s-1', '1.1.1', { input: { command: 'ls' } });
  const [plain, edited] = update.mock.calls.map(([name, { args }]) => ({ name, arg: args[0] }));
  expect(plain).toEqual({ name: 'approve', arg: { call: '1.1.1', inputHash: pending.inputHash, by: '7@here' } });
  expect(edited?.arg).toEqual({ ...(plain?.arg as object), edited: inputHashOf({ command: 'ls' }) });
  expect(await store.has(inputHashOf({ command: 'ls' }) as Hash)).toBe(true);
});

test('denies a call with a reason and in a name, and ends the run with it when asked to (L34 O12)', async () => {
  const { store, pending } = await waiting();
  const update = accepted();
  const client = sessions(store, { approvals: [pending], update });
  await client.deny('s-1', '1.1.1', 'not now');
  await client.deny('s-1', '1.1.1', 'never', { interrupt: true, by: 'ana' });
  expect(update.mock.calls.map(([name, { args }]) => [name, args[0]])).toEqual([
    ['deny', { call: '1.1.1', reason: 'not now', by: '7@here' }],
    ['deny', { call: '1.1.1', reason: 'never', interrupt: true, by: 'ana' }],
  ]);
});

test('sends a decision again with the same id while the server cannot take it', async () => {
  const { store, pending } = await waiting();
  const update = vi
    .fn<Update>()
    .mockRejectedValueOnce(grpc(8, 'workflow operation can not be applied because workflow is closing'))
    .mockRejectedValueOnce(grpc(14, 'workflow update was aborted'))
    // Between two runs of the workflow.
    .mockRejectedValueOnce(new WorkflowNotFoundError('not found', 's-1', undefined))
    .mockResolvedValueOnce(undefined);
  await sessions(store, { approvals: [pending], update }).approve('s-1', '1.1.1');
  expect(new Set(update.mock.calls.map(([, { updateId }]) => updateId)).size).toBe(1);
  expect(update).toHaveBeenCalledTimes(4);
});

test('never has more than eight decisions under way', async () => {
  const { store, pending } = await waiting();
  let [now, most] = [0, 0];
  const update: Update = async () => {
    most = Math.max(most, (now += 1));
    await new Promise((resolve) => setImmediate(resolve));
    now -= 1;
  };
  const client = sessions(store, { approvals: [pending], update });
  await Promise.all(Array.from({ length: 30 }, () => client.approve('s-1', '1.1.1')));
  expect(most).toBe(8);
});

test('names the calls that wait when the one that is decided about does not', async () => {
  const { store, pending } = await waiting();
  const update = accepted();
  const client = sessions(store, { approvals: [pending], update });
  await expect(client.approve('s-1', '1.1.9')).rejects.toThrow(
    'no call 1.1.9 of session s-1 waits for a decision (it was decided already, or never asked about); those that do: 1.1.1 (bash)',
  );
  await expect(client.approve('s-1', '1'.repeat(3_000))).rejects.toThrow(/^no call 1{99}… of session s-1 waits/);
  await expect(sessions(store, {}).deny('s-1', '1.1.1', 'no')).rejects.toThrow('none of its calls does');
  expect(update).not.toHaveBeenCalled();
});

test('passes on what the session says of a decision that it refuses (L55)', async () => {
  const { store, pending } = await waiting();
  const update = vi.fn<Update>().mockRejectedValue(refused('call 1.1.1 is decided already'));
  const deciding = sessions(store, { approvals: [pending], update }).approve('s-1', '1.1.1');
  await expect(deciding).rejects.toThrow('session s-1: call 1.1.1 is decided already');
  await expect(deciding).rejects.toMatchObject({ kind: 'refused' });
});

test('says that a refusal may be due to its own lost try', async () => {
  const { store, pending } = await waiting();
  const update = vi
    .fn<Update>()
    .mockRejectedValueOnce(grpc(14, 'unavailable'))
    .mockRejectedValue(refused('call 1.1.1 is decided already'));
  const deciding = sessions(store, { approvals: [pending], update }).approve('s-1', '1.1.1');
  await expect(deciding).rejects.toThrow('it may be this decision');
});

test.each([
  [1, 'nobody polls', 1, /^no worker polls task queue perdure/],
  [1, 'one polled', 2, null],
  [3, 'one polled', 2, /^no worker answers for session s-1: one began to poll task queue perdure 2\d s ago, and none/],
  [3, 'one polls again', 4, null],
])(
  'sends a decision again, with the same id, while a worker may take it: %i late, %s, tried %i times',
  async (late, who, tries, problem) => {
    const { store, pending } = await waiting();
    const update = accepted();
    const cause = grpc(1, 'Call cancelled').cause as Error;
    for (let n = 0; n < late; n++)
      update.mockRejectedValueOnce(new WorkflowUpdateRPCTimeoutOrCancelledError('late', { cause }));
    const began = Date.now() / 1_000 - 20;
    const seconds = () => began + (who === 'one polls again' ? update.mock.calls.length : 0);
    const one = {
      identity: 'elsewhere',
      get lastAccessTime() {
        return { seconds: seconds() };
      },
    };
    const pollers = who === 'nobody polls' ? [] : [one];
    const deciding = sessions(store, { approvals: [pending], update, pollers }).approve('s-1', '1.1.1');
    await (problem ? expect(deciding).rejects.toThrow(problem) : deciding);
    expect(new Set(update.mock.calls.map(([, { updateId }]) => updateId)).size).toBe(1);
    expect(update).toHaveBeenCalledTimes(tries);
  },
);

test('says of what decides no call that nothing was done, or that it may have been', async () => {
  const { store, pending } = await waiting();
  const cause = grpc(1, 'Call cancelled').cause as Error;
  const late = new WorkflowUpdateRPCTimeoutOrCancelledError('late', { cause });
  const asked = (update: Update, pollers: readonly object[] = []) =>
    sessions(store, { approvals: [pending], update, pollers });
  const nobody = () => asked(vi.fn<Update>().mockRejectedValue(late));
  await expect(nobody().topUp('s-1', { maxTurns: 9 })).rejects.toThrow('where the workspace is; nothing was done');
  await expect(nobody().approve('s-1', '1.1.1')).rejects.toThrow('; nothing was decided');
  const lost = vi.fn<Update>().mockRejectedValueOnce(grpc(14, 'unavailable')).mockRejectedValue(refused('no'));
  await expect(asked(lost).topUp('s-1', { maxTurns: 9 })).rejects.toThrow('it may have been done then');
});

test('says that the session is closed', async () => {
  const { store, pending } = await waiting();
  const client = sessions(store, { approvals: [pending], status: 'CANCELLED' });
  await expect(client.approve('s-1', '1.1.1')).rejects.toThrow('session s-1 was cancelled and takes nothing more');
});

test.each([
  ['an empty reason', (client: ReturnType<typeof sessions>) => client.deny('s-1', '1', ' '), 'the reason is empty'],
  [
    'an endless reason',
    (client: ReturnType<typeof sessions>) => client.deny('s-1', '1', 'x'.repeat(2_001)),
    'has 2001',
  ],
  [
    'an input that is not JSON',
    (client: ReturnType<typeof sessions>) => client.approve('s-1', '1', { input: () => 1 }),
    'cannot be written as JSON',
  ],
] as const)('refuses %s before anything is sent', async (_what, act, sentence) => {
  const refusing = act(sessions(memoryStore(), {}));
  await expect(refusing).rejects.toThrow(sentence);
  await expect(refusing).rejects.toBeInstanceOf(ClientProblem);
});

test('a decision or a message in nobody’s name is refused (O12)', async () => {
  const { store, pending } = await waiting();
  const client = sessions(store, { approvals: [pending] });
  await expect(client.approve('s-1', '1.1.1', { by: ' ' })).rejects.toThrow(/^the name of who acts has 1 characters/);
  await expect(client.send('s-1', 'Go on.', { by: '' })).rejects.toThrow(/^the name of who acts has 0 characters/);
});
