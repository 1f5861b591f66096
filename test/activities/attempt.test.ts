import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { afterEach, expect, test, vi } from 'vitest';
import { createActivity } from '../../activities/activity.ts';
import { memoryStore } from '../support/memory-store.ts';
import { StoreError, type Store, type StoreProblem } from '../../store/values/store.ts';
import { reply } from '../../scripted-model/index.ts';
import { benchDeps, fakeAttempt } from '../support/bench-deps.ts';
import { newerWrote } from '../support/newer-wrote.ts';

afterEach(() => vi.restoreAllMocks());

/** What Temporal gets from an activity whose store fails so. */
async function failureOf(problem: StoreProblem): Promise<unknown> {
  const info = { workflowExecution: { workflowId: 's-1' }, attempt: 1 };
  const signal = new AbortController().signal;
  vi.spyOn(Context, 'current').mockReturnValue({ info, cancellationSignal: signal, heartbeat: () => {} } as never);
  const failing = createActivity(() => Promise.reject(new StoreError(problem, `it is ${problem}`)));
  return failing({}).catch((error: unknown) => error);
}

test('what a newer Perdure wrote is tried again in a while, until a worker takes it; damage is not (L50)', async () => {
  const newer = await failureOf('newer');
  expect(newer).toBeInstanceOf(ApplicationFailure);
  expect(newer).toMatchObject({
    type: 'NewerVersion',
    message: 'it is newer',
    nonRetryable: false,
    nextRetryDelay: '5s',
  });
  for (const problem of ['missing', 'corrupt'] as const)
    expect(await failureOf(problem)).toMatchObject({ type: 'StoreCorrupt', nonRetryable: true });
  expect(await failureOf('unavailable')).toMatchObject({ problem: 'unavailable' });
});

test('a worker that is too old asks no model and leaves the counts of failures as they were (L14 L50)', async () => {
  const inner = memoryStore();
  let old = false;
  const store: Store = { ...inner, get: (hash) => (old ? newerWrote(inner) : inner).get(hash) };
  const { call, model } = await benchDeps({ script: [reply('Done.')], store });
  const tries = { failures: 9, overloads: 2, empties: 1 };
  const attempt = fakeAttempt(10, tries);
  old = true;
  await expect(call(attempt)).rejects.toMatchObject({ problem: 'newer' });
  expect(attempt.left).toBe(tries);
  expect(model.requests).toHaveLength(0);
  old = false;
  expect(await call(fakeAttempt(11, attempt.left))).toMatchObject({ kind: 'message' });
});
