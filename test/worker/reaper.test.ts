import { ActivityNotFoundError, type Client } from '@temporalio/client';
import { expect, it } from 'vitest';
import { formatIdentity, processIdentity } from '../../activities/process-identity.ts';
import { startReaper } from '../../worker/reaper.ts';

/** Of this machine, with a start time that no process has. */
const dead = formatIdentity({ ...processIdentity(), startTime: '1' });

type Failed = { readonly workflowId: string; readonly activityId: string };

/** A server with sessions whose activities, all begun by a worker that is dead, can be failed once by whoever is first. */
function server(sessions: Readonly<Record<string, readonly string[]>>, taken: readonly string[]) {
  const failed: Failed[] = [];
  const pending = (session: string) =>
    (sessions[session] ?? []).map((activityId) => ({ activityId, lastWorkerIdentity: dead, state: 2 }));
  const client = {
    options: { namespace: 'default' },
    workflow: {
      list: () => Object.keys(sessions).map((workflowId) => ({ workflowId, memo: {} })),
      getHandle: (session: string) => ({
        describe: () => Promise.resolve({ raw: { pendingActivities: pending(session) } }),
      }),
    },
    workflowService: { resetStickyTaskQueue: () => Promise.resolve({}) },
    activity: {
      fail: (call: Failed) => {
        if (taken.includes(call.activityId)) return Promise.reject(new ActivityNotFoundError('Not found'));
        failed.push(call);
        return Promise.resolve();
      },
    },
  };
  return { client: client as unknown as Client, failed };
}

it('L50 what another worker has taken over already keeps none of the rest from being taken over, and is no warning', async () => {
  const { client, failed } = server({ 's-1': ['1', '2'], 's-2': ['3'] }, ['1']);
  const warnings: string[] = [];
  const reaper = startReaper(client, (line) => warnings.push(line));
  await reaper.first;
  await reaper.stop();
  expect(warnings).toEqual([]);
  expect(failed.map(({ activityId }) => activityId).toSorted()).toEqual(['2', '3']);
});
