// Who works while a command waits, and how it is told when nobody does. No server, no worker: both
// are fakes.
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Client } from '@temporalio/client';
import { readBeats } from '../../connection/worker-beats.ts';
import { formatIdentity, processIdentity } from '../../system/process/identity.ts';
import { actWithWorker, keepWorker } from '../../client/runtime/keep-worker.ts';
import { isQueuePolled } from '../../connection/worker-polls.ts';
import { pollerPatience, watchPollers } from '../../client/sessions/watch-pollers.ts';
import type { RunningWorker } from '../../worker/start-worker.ts';
import { TASK_QUEUE } from '../../workflows/contract/session.ts';
import { until } from '../support/until.ts';

function worker() {
  let end = { resolve: (): void => {}, reject: (_error: Error): void => {} };
  const done = new Promise<void>((resolve, reject) => (end = { resolve, reject }));
  done.catch(() => undefined);
  const stop = vi.fn(() => {
    end.resolve();
    return done;
  });
  return {
    running: {
      taskQueue: 'q',
      sandbox: '',
      commands: 'confined',
      unconfined: null,
      scripted: false,
      deployment: null,
      health: () => Promise.resolve([]),
      done,
      stop,
    } satisfies RunningWorker,
    stop,
    die: end,
  };
}

test('starts no worker while another one stays, and starts one when it has gone', async () => {
  let others = 1;
  const ours = worker();
  const start = vi.fn(() => Promise.resolve(ours.running));
  const looks = vi.fn(() => others);
  const kept = keepWorker({ others: looks, start, everyMs: 1 });
  await kept.ready;
  await until(() => looks.mock.calls.length > 3);
  expect(start).not.toHaveBeenCalled();
  others = 0;
  await until(() => start.mock.calls.length > 0);
  others = 1;
  await kept.stop();
  expect(start).toHaveBeenCalledOnce();
  expect(ours.stop).toHaveBeenCalledOnce();
});

test('is ready when its worker has started, and stops one that was still starting', async () => {
  const ours = worker();
  let started = (_running: RunningWorker): void => {};
  const start = () => new Promise<RunningWorker>((resolve) => (started = resolve));
  const kept = keepWorker({ others: () => 0, start });
  const ready = vi.fn();
  void kept.ready.then(ready);
  const stopped = kept.stop();
  await new Promise(setImmediate);
  expect(ready).not.toHaveBeenCalled();
  started(ours.running);
  await stopped;
  expect(ready).toHaveBeenCalledOnce();
  expect(ours.stop).toHaveBeenCalledOnce();
});

test('what needs a worker begins once it has started, and not where it cannot be started', async () => {
  const ours = worker();
  let started = (_running: RunningWorker): void => {};
  const kept = keepWorker({ others: () => 0, start: () => new Promise((resolve) => (started = resolve)) });
  const act = vi.fn(() => Promise.resolve('done'));
  const acted = actWithWorker(kept, act);
  await new Promise(setImmediate);
  expect(act).not.toHaveBeenCalled();
  started(ours.running);
  expect(await acted).toBe('done');
  await kept.stop();
  const broken = keepWorker({ others: () => 0, start: () => Promise.reject(new Error('no memory')) });
  await expect(actWithWorker(broken, act)).rejects.toThrow('no memory');
  expect(act).toHaveBeenCalledOnce();
  const other = keepWorker({ others: () => 1, start: () => Promise.resolve(ours.running), everyMs: 1 });
  expect([kept.isOwn, other.isOwn, await actWithWorker(other, act)]).toEqual([true, false, 'done']);
  await other.stop();
});

test('tells when its worker cannot be started', async () => {
  const kept = keepWorker({ others: () => 0, start: () => Promise.reject(new Error('no memory')) });
  await expect(kept.ended).rejects.toThrow('no memory');
  await expect(kept.ready).rejects.toThrow('no memory');
  await kept.stop();
});

type Poller = { readonly identity: string; readonly ageMs: number };

function server(pollers: () => readonly Poller[], beats: () => readonly object[] = () => []): Client {
  const describeTaskQueue = () =>
    Promise.resolve({
      pollers: pollers().map(({ identity, ageMs }) => ({
        identity,
        lastAccessTime: { seconds: Math.floor((Date.now() - ageMs) / 1_000) },
      })),
    });
  const listWorkers = () => Promise.resolve({ workersInfo: beats().map((workerHeartbeat) => ({ workerHeartbeat })) });
  const withDeadline = <T>(_at: unknown, call: () => Promise<T>) => call();
  return {
    options: { namespace: 'default' },
    withDeadline,
    workflowService: { describeTaskQueue, listWorkers },
  } as unknown as Client;
}

const here = processIdentity();
const dead = formatIdentity({ ...here, startTime: '1' });

test.each<[string, readonly Poller[], boolean]>([
  ['nobody', [], false],
  ['this process', [{ identity: formatIdentity(here), ageMs: 0 }], true],
  ['a process of this host that is dead', [{ identity: dead, ageMs: 0 }], false],
  ['a worker elsewhere that polled a minute ago', [{ identity: 'elsewhere', ageMs: 60_000 }], true],
  ['a worker elsewhere that was last seen two minutes ago', [{ identity: 'elsewhere', ageMs: 120_000 }], false],
  [
    'one dead, one alive',
    [
      { identity: dead, ageMs: 0 },
      { identity: 'elsewhere', ageMs: 0 },
    ],
    true,
  ],
])('knows whether someone polls: %s', async (_who, pollers, polls) => {
  expect(await isQueuePolled({ temporal: server(() => pollers) })).toBe(polls);
});

/** RUNNING and SHUTTING_DOWN, as the server tells them. */
const [RUNNING, ENDS] = [1, 2];

test('a worker that takes the place of one that had ended before anyone looked counts at once (O10)', async () => {
  vi.useFakeTimers({ now: 100_500 });
  onTestFinished(() => void vi.useRealTimers());
  const beat = {
    workerInstanceKey: 'w',
    workerIdentity: 'elsewhere',
    taskQueue: TASK_QUEUE,
    heartbeatTime: { seconds: Date.now() / 1_000 - 5 },
    status: ENDS,
  };
  const polledAgo = (ageMs: number) =>
    isQueuePolled({
      temporal: server(
        () => [{ identity: 'elsewhere', ageMs }],
        () => [beat],
      ),
    });
  // The last polls of the one that has ended do so half a second later.
  expect([await polledAgo(2_000), await polledAgo(4_500), await polledAgo(8_000)]).toEqual([true, false, false]);
});

test('a heartbeat says the version of its worker and how commands run there, and other words there are none (O10)', async () => {
  const beat = (...names: readonly string[]) => ({
    workerIdentity: names.join(),
    heartbeatTime: { seconds: Date.now() / 1_000 },
    status: RUNNING,
    plugins: names.map((name) => ({ name })),
  });
  const told = [beat('own', 'perdure 0.1.0', 'perdure-commands refused'), beat('perdure-commands odd'), beat()];
  const beats = await readBeats(
    server(
      () => [],
      () => told,
    ),
  );
  expect(beats?.map(({ version, commands }) => [version, commands])).toEqual([
    ['0.1.0', 'refused'],
    [null, null],
    [null, null],
  ]);
});

test('a worker is gone when it has said so, or gave no new heartbeat for half a minute, and not before (O10)', async () => {
  vi.useFakeTimers({ now: 0 });
  onTestFinished(() => void vi.useRealTimers());
  let [beats, ageMs]: [readonly object[], number] = [[], 50_000];
  // The clock of the worker's machine is an hour behind.
  const beat = (seconds: number, status: number) => ({
    workerInstanceKey: 'w',
    workerIdentity: 'elsewhere',
    taskQueue: TASK_QUEUE,
    heartbeatTime: { seconds: seconds - 3_600 },
    status,
  });
  const temporal = server(
    () => [{ identity: 'elsewhere', ageMs }],
    () => beats,
  );
  const isPolledAt = (seconds: number, ...found: readonly object[]): Promise<boolean> => {
    vi.setSystemTime(seconds * 1_000);
    beats = found;
    return isQueuePolled({ temporal });
  };
  expect(await isPolledAt(0)).toBe(true);
  expect(await isPolledAt(2, beat(2, RUNNING))).toBe(true);
  expect(await isPolledAt(29, beat(12, RUNNING))).toBe(true);
  expect(await isPolledAt(58, beat(12, RUNNING))).toBe(true);
  expect(await isPolledAt(60, beat(12, RUNNING))).toBe(false);
  expect(await isPolledAt(70, beat(70, RUNNING))).toBe(true);
  expect(await isPolledAt(80, beat(71, ENDS))).toBe(false);
  // Another worker of the same process polls, and has given no heartbeat yet.
  ageMs = 0;
  expect(await isPolledAt(82, beat(71, ENDS))).toBe(true);
  ageMs = 50_000;
  // Another queue's worker of the same process says nothing of this one.
  expect(await isPolledAt(84, { ...beat(71, ENDS), taskQueue: 'other' })).toBe(true);
  expect(await isPolledAt(90, beat(71, ENDS), { ...beat(90, RUNNING), workerInstanceKey: 'v' })).toBe(true);
});

const patience = { first: 20, look: 1, later: 1 };

test('says within 10 s that nobody polls', async () => {
  const nobody = vi.fn();
  const temporal = server(() => []);
  const watching = watchPollers({ temporal, say: vi.fn(), onNobody: nobody, patience });
  await until(() => nobody.mock.calls.length > 0);
  await watching.stop();
  expect(nobody).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ kind: 'no_worker' }));
  expect(pollerPatience.first + pollerPatience.look).toBeLessThan(10_000);
});

test('does not fail when somebody comes in time, and says once when he goes', async () => {
  const [nobody, say] = [vi.fn(), vi.fn()];
  let asked = 0;
  const pollers = () => ((asked += 1) > 2 && asked < 5 ? [{ identity: 'elsewhere', ageMs: 0 }] : []);
  const watching = watchPollers({
    temporal: server(pollers),
    say,
    onNobody: nobody,
    patience: { ...patience, first: 60_000 },
  });
  await until(() => asked > 8);
  await watching.stop();
  expect(nobody).not.toHaveBeenCalled();
  expect(say).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('no worker polls task queue perdure'));
});
