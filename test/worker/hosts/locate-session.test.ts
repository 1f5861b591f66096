// Where a session is, from what its workflow shows without a worker.
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { expect, test } from 'vitest';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { MEMO_KEY } from '../../../workflows/contract/session.ts';
import { locateSession, type SessionPlace } from '../../../worker/hosts/locate-session.ts';

type Described = {
  readonly status?: string;
  readonly memo?: unknown;
  readonly pending?: readonly string[];
  readonly task?: boolean;
};

const HERE = { host: { id: 'one', name: 'host-one' }, head: 'h' };
const AWAY = { host: { id: 'two', name: 'host-two' }, head: 'h' };

async function locate(described: Described | Error): Promise<SessionPlace> {
  const describe = (): Promise<unknown> => {
    if (described instanceof Error) return Promise.reject(described);
    const { status = 'RUNNING', memo, pending = [], task } = described;
    const pendingActivities = pending.map((name) => ({ activityType: { name } }));
    const raw = { pendingActivities, pendingWorkflowTask: task ? {} : null };
    return Promise.resolve({ status: { name: status }, memo: { [MEMO_KEY]: memo }, raw });
  };
  const client = {
    withDeadline: (_: number, call: () => Promise<unknown>) => call(),
    workflow: { getHandle: () => ({ describe }) },
  } as unknown as Client;
  return locateSession(client, { id: 'one', name: 'host-one' }, 's-1' as SessionId);
}

test('a session is on the host that its memo tells of, also when it is over (T19)', async () => {
  expect(await locate({ memo: HERE })).toEqual({ kind: 'here' });
  expect(await locate({ memo: AWAY })).toEqual({ kind: 'elsewhere', host: AWAY.host });
  expect(await locate({ memo: AWAY, status: 'COMPLETED' })).toEqual({ kind: 'elsewhere', host: AWAY.host });
  expect(await locate({ memo: HERE, status: 'TERMINATED' })).toEqual({ kind: 'over', head: 'h' });
});

test('nothing is concluded while a host may be about to take it, or its memo lags behind (T19)', async () => {
  for (const pending of ['perdure.takeOver', 'perdure.openRun'])
    expect(await locate({ memo: AWAY, pending: [pending] })).toEqual({ kind: 'unsettled' });
  expect(await locate({ memo: AWAY, task: true })).toEqual({ kind: 'unsettled' });
  expect(await locate({ memo: AWAY, pending: ['perdure.callModel'] })).toMatchObject({ kind: 'elsewhere' });
});

test('a memo that is not readable, or of a foreign shape, tells of no host, and so does none (T19)', async () => {
  for (const memo of [undefined, null, 7, 'x', [], {}, { host: 'two' }, { host: { id: 2, name: 'two' } }])
    expect(await locate({ memo })).toEqual({ kind: 'unsettled' });
});

test('a session that the server does not know is unknown; a server that does not answer is no answer (T19)', async () => {
  expect(await locate(new WorkflowNotFoundError('none', 's-1', undefined))).toEqual({ kind: 'unknown' });
  await expect(locate(new Error('unavailable'))).rejects.toThrow('unavailable');
});
