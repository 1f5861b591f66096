// A question aside as the client asks it: waited for as long as a worker may take, and refused in
// one line.
import { type Client, WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { expect, test, vi } from 'vitest';
import { askAside } from '../../client/operations/steering.ts';
import { methodOf } from '../../client/operations/operation.ts';
import type { ClientMeans } from '../../client/sessions/client-means.ts';
import { requestAside } from '../../client/sessions/updates/update.ts';
import { description, session } from './support.ts';

const usage = { input: 1, output: 1, cacheRead: 9, cacheWrite: 0 };
const answered = { text: 'Three.', cut: false, model: 'claude-a', usage, usd: 0.1 };

function asking(result: () => Promise<unknown>) {
  const startUpdate = vi.fn((_name: string, _options: { readonly args: readonly unknown[] }) =>
    Promise.resolve({ result }),
  );
  const withDeadline = <T>(_deadline: unknown, call: () => Promise<T>): Promise<T> => call();
  const temporal = { workflow: { getHandle: () => ({ startUpdate }) }, withDeadline } as unknown as Client;
  const ask = (question: string) => requestAside(temporal, description({ phase: 'idle' }), question, 'ada');
  return { ask, startUpdate };
}

test('is waited for beyond one answer of the server, and asked once (L61)', async () => {
  let polls = 0;
  const { ask, startUpdate } = asking(() => {
    polls += 1;
    return polls < 3 ? Promise.reject(new WorkflowUpdateRPCTimeoutOrCancelledError('late')) : Promise.resolve(answered);
  });
  const { text: answer, usd: costUsd, ...rest } = answered;
  expect(await ask('What?')).toEqual({ answer, costUsd, ...rest });
  expect([polls, startUpdate.mock.calls.length]).toEqual([3, 1]);
  const [name, { args }] = startUpdate.mock.calls[0]!;
  expect([name, args[0]]).toEqual(['aside', expect.objectContaining({ asked: { question: 'What?' }, by: 'ada' })]);
});

test('a worker of an older release does not know of it, which is said in one line', async () => {
  const cause = ApplicationFailure.nonRetryable('No registered handler for update: aside');
  const { ask } = asking(() => Promise.reject(new WorkflowUpdateFailedError('failed', cause)));
  await expect(ask('What?')).rejects.toThrow(
    `session ${session}: its worker is of an older release, which does not know how to do this: update the worker`,
  );
});

test('what cannot be asked is refused before anything is sent', async () => {
  const ask = methodOf(askAside, {} as ClientMeans, (_method, _options, _known, work) => work());
  await expect(ask(session, '\n')).rejects.toThrow('the question is empty');
  await expect(ask(session, 'x'.repeat(10_001))).rejects.toThrow('give at most 10000');
});
