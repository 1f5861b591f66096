// What a server is asked about search attributes, by whom and for how long.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Connection } from '@temporalio/client';
import { expect, test } from 'vitest';
import { canUseAttributes } from '../../../client/sessions/find/attributes.ts';

test('one question about attributes serves all who ask: it has a time limit, and no caller ends it (O1)', async () => {
  const caller = new AsyncLocalStorage<string>();
  const limit = new AsyncLocalStorage<number | Date>();
  const asked: unknown[] = [];
  const listSearchAttributes = (): Promise<never> => {
    asked.push([caller.getStore(), typeof limit.getStore()]);
    return Promise.reject(new Error('no answer in time'));
  };
  const connection = {
    operatorService: { listSearchAttributes },
    withDeadline: <Answer>(deadline: number | Date, ask: () => Promise<Answer>) => limit.run(deadline, ask),
  } as unknown as Connection;
  const ask = (): Promise<boolean> => caller.run('a caller', () => canUseAttributes(connection, 'default'));
  const answers = await Promise.allSettled([ask(), ask()]);
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(asked).toEqual([[undefined, 'number']]);
  await expect(ask()).rejects.toThrow('no answer in time');
  expect(asked).toHaveLength(2);
});
