import { ActivityNotFoundError, type Client } from '@temporalio/client';
import { expect, test } from 'vitest';
import { formatIdentity, processIdentity } from '../../system/process/identity.ts';
import { takeFileLock } from '../../system/process/file-lock.ts';
import { startReaper } from '../../worker/reaper.ts';
import { tempDir } from '../support/temp-dir.ts';
import { processNamed } from '../activities/hooks/support.ts';

/** An identity of this machine, with a start time that no process has. */
const dead = formatIdentity({ ...processIdentity(), startTime: '1' });
const living = formatIdentity(processIdentity());

type Failed = { readonly workflowId: string; readonly activityId: string };

/**
 * A server with sessions whose activities, all begun by a dead worker, can be failed once, by the
 * first who tries.
 */
function server(
  sessions: Readonly<Record<string, readonly string[]>>,
  taken: readonly string[],
  onFail = (): void => undefined,
  phases: Readonly<Record<string, string | object>> = {},
) {
  const failed: Failed[] = [];
  const pending = (session: string) =>
    (sessions[session] ?? []).map((activityId) => {
      const begunAgain = failed.some((each) => each.activityId === activityId);
      return { activityId, lastWorkerIdentity: begunAgain ? living : dead, state: 2 };
    });
  const client = {
    options: { namespace: 'default' },
    workflow: {
      list: () => Object.keys(sessions).map((workflowId) => ({ workflowId, memo: memoOf(phases[workflowId]) })),
      getHandle: (session: string) => ({
        describe: () => Promise.resolve({ raw: { pendingActivities: pending(session) } }),
      }),
    },
    workflowService: { resetStickyTaskQueue: () => Promise.resolve({}) },
    activity: {
      fail: (call: Failed) => {
        onFail();
        if (taken.includes(call.activityId)) return Promise.reject(new ActivityNotFoundError('Not found'));
        failed.push(call);
        return Promise.resolve();
      },
    },
  };
  return { client: client as unknown as Client, failed };
}

const memoOf = (phase: string | object | undefined) =>
  phase === undefined ? {} : { perdure: typeof phase === 'string' ? { phase } : phase };

test('a session that waits for the answer to what a running call asks is looked at (L50 L77)', async () => {
  const memo = { phase: 'waiting_approval', approvals: [{ call: '1.1.0+q1' }] };
  const phases = { 's-1': memo, 's-2': { ...memo, approvals: [{ call: '1.1.0+2' }] } };
  const { client, failed } = server({ 's-1': ['1'], 's-2': ['2'] }, [], undefined, phases);
  const dirs = { lockDir: tempDir(), workersDir: tempDir() };
  const reaper = startReaper({ client, taskQueues: ['own'], ...dirs, log: () => {} });
  await reaper.first;
  await reaper.stop();
  expect(failed.map(({ activityId }) => activityId)).toEqual(['1']);
});

test('sessions that run are looked at, and no others (L50)', async () => {
  const phases = { 's-1': 'running', 's-2': 'waiting_approval', 's-3': 'parked', 's-4': 'idle' };
  const { client, failed } = server({ 's-1': ['1'], 's-2': ['2'], 's-3': ['3'], 's-4': ['4'] }, [], undefined, phases);
  const dirs = { lockDir: tempDir(), workersDir: tempDir() };
  const reaper = startReaper({ client, taskQueues: ['own'], ...dirs, log: () => {} });
  await reaper.first;
  await reaper.stop();
  expect(failed.map(({ activityId }) => activityId)).toEqual(['1']);
});

test('what another worker has taken over already keeps none of the rest from being taken over, and is no warning (L50)', async () => {
  const { client, failed } = server({ 's-1': ['1', '2'], 's-2': ['3'] }, ['1']);
  const warnings: string[] = [];
  const reaper = startReaper({
    client,
    taskQueues: ['own'],
    lockDir: tempDir(),
    workersDir: tempDir(),
    log: (_, line) => warnings.push(line),
  });
  await reaper.first;
  await reaper.stop();
  expect(warnings).toEqual([]);
  expect(failed.map(({ activityId }) => activityId).toSorted()).toEqual(['2', '3']);
});

test('what a hook command of a dead worker left running is ended before its work is given back (L30 L50)', async () => {
  const { alive } = await processNamed(`hook/${dead}/1`);
  const seen: boolean[] = [];
  const { client } = server({ 's-1': ['1'] }, [], () => void seen.push(alive()));
  const reaper = startReaper({
    client,
    taskQueues: ['own'],
    lockDir: tempDir(),
    workersDir: tempDir(),
    log: () => {},
  });
  await reaper.first;
  await reaper.stop();
  expect(seen).toEqual([false]);
});

test("two that start at once give work back once: the attempt that then begins is no dead worker's (L3 L50)", async () => {
  const { client, failed } = server({ 's-1': ['1', '2'], 's-2': ['3'] }, []);
  const lockDir = tempDir();
  const reapers = [1, 2].map(() =>
    startReaper({ client, taskQueues: ['own'], lockDir, workersDir: tempDir(), log: () => {} }),
  );
  await Promise.all(reapers.map(({ first }) => first));
  await Promise.all(reapers.map(({ stop }) => stop()));
  expect(failed.map(({ activityId }) => activityId).toSorted()).toEqual(['1', '2', '3']);
});

test('while another worker of the machine looks, it looks for this one as well (L50)', async () => {
  const { client, failed } = server({ 's-1': ['1'] }, []);
  const lockDir = tempDir();
  const release = await takeFileLock(lockDir, { doing: 'looking', waitMs: 0 });
  const warnings: string[] = [];
  const reaper = startReaper({
    client,
    taskQueues: ['own'],
    lockDir,
    workersDir: tempDir(),
    log: (_, line) => warnings.push(line),
  });
  await reaper.first;
  await reaper.stop();
  release();
  expect([failed, warnings]).toEqual([[], []]);
});
