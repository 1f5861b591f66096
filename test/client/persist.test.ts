import { expect, test, vi } from 'vitest';
import type { Client } from '@temporalio/client';
import { callUntilAnswered } from '../../client/sessions/persist.ts';

const client = { withDeadline: <T>(_at: unknown, call: () => Promise<T>) => call() } as unknown as Client;
const grpc = (code: number, details: string): Error =>
  Object.assign(new Error(details), { code, details, metadata: {} });
const quick = { total: 60_000, oneCall: 100, pause: 1 };

test.each([
  [4, 'Deadline exceeded'],
  [8, 'limit on number of concurrent in-flight updates'],
  [10, 'aborted'],
  [14, 'workflow update was aborted'],
  [3, 'exceeded workflow execution limit for signal events'],
  [9, 'Unable to perform workflow execution update due to Workflow Task in failed state.'],
])('tries again after code %d, %s', async (code, details) => {
  const call = vi.fn<() => Promise<string>>().mockRejectedValueOnce(grpc(code, details)).mockResolvedValueOnce('done');
  expect(await callUntilAnswered(client, 'do it', call, quick)).toBe('done');
});

test.each([
  [3, 'workflow id is too long'],
  [5, 'workflow not found'],
  [9, 'the namespace is being deleted'],
  [16, 'unauthenticated'],
])('does not try again after code %d, %s', async (code, details) => {
  const call = vi.fn<() => Promise<string>>().mockRejectedValue(grpc(code, details));
  await expect(callUntilAnswered(client, 'do it', call, quick)).rejects.toThrow(details);
  expect(call).toHaveBeenCalledOnce();
});

test('gives up with a sentence that says why and what to do', async () => {
  const call = vi.fn<() => Promise<string>>().mockRejectedValue(grpc(14, 'no connection'));
  const trying = callUntilAnswered(client, 'reach session s-1', call, { ...quick, total: 0 });
  await expect(trying).rejects.toThrow(
    'cannot reach session s-1: the Temporal server did not take it for 0 s (no connection); see that it runs and try again',
  );
  await expect(trying).rejects.toMatchObject({ kind: 'unanswered' });
});
