// A worker for programs on a data folder of its own: what is left of it when it cannot start, or
// ends at once.
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterEach, expect, test, vi } from 'vitest';
import { openDataFolder } from '../../connection/data-folder.ts';
import { livingMembers } from '../../worker/embedded/members.ts';
import { findRunningServer } from '../../worker/embedded/server-record.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import { createWorker } from '../../worker/index.ts';
import { gate } from '../../scripted-model/index.ts';
import { cliPlace } from '../support/cli.ts';
import { oneRuntime } from '../support/one-runtime.ts';

afterEach(() => void vi.restoreAllMocks());

/** Without a key: the scripted model is one of the things that are opened. */
function place() {
  oneRuntime();
  const { env, data } = cliPlace(null);
  const listening = (): number => process.getActiveResourcesInfo().filter((what) => what === 'TCPServerWrap').length;
  const before = listening();
  return {
    open: () => createWorker({ env, log: () => {} }),
    members: () => livingMembers(openDataFolder({ PERDURE_DATA: data })),
    left: () => ({
      listening: listening() - before,
      server: findRunningServer(openDataFolder({ PERDURE_DATA: data })) !== null,
    }),
  };
}

const nothing = { listening: 0, server: false };

test('a worker whose connection is refused says so in one line, and leaves nothing open', async () => {
  const { open, left } = place();
  vi.spyOn(NativeConnection, 'connect').mockRejectedValue(new Error('tonic::transport::Error\n at x'));
  const opening = open();
  await expect(opening).rejects.toThrow(SetupProblem);
  await expect(opening).rejects.toThrow(
    /^no worker can connect to [^\n]*127\.0\.0\.1:\d+: tonic::transport::Error; [^\n]*$/,
  );
  expect(left()).toEqual(nothing);
});

test('a worker that cannot be made leaves nothing open', async () => {
  const { open, left } = place();
  const close = vi.spyOn(NativeConnection.prototype, 'close');
  vi.spyOn(Worker, 'create').mockRejectedValue(new Error('no bundle'));
  await expect(open()).rejects.toThrow('no bundle');
  expect(close).toHaveBeenCalledOnce();
  expect(left()).toEqual(nothing);
});

test('a worker whose second half cannot be made shuts the first one down, and leaves nothing open', async () => {
  const { open, left } = place();
  const create = Worker.create.bind(Worker);
  const made: Worker[] = [];
  vi.spyOn(Worker, 'create').mockImplementation(async (options) => {
    if (made.length === 1) throw new Error('no second one');
    const worker = await create(options);
    made.push(worker);
    return worker;
  });
  const close = vi.spyOn(NativeConnection.prototype, 'close');
  await expect(open()).rejects.toThrow('no second one');
  expect(made.map((worker) => worker.getState())).toEqual(['STOPPED']);
  expect(close).toHaveBeenCalledOnce();
  await expect(close.mock.results[0]?.value).resolves.toBeUndefined();
  expect(left()).toEqual(nothing);
});

test('a worker of a program that still finishes what it runs does not count as one that works (L50)', async () => {
  const { open, members } = place();
  const finishes = gate();
  const worker = { run: () => finishes.hold, getState: () => 'RUNNING', shutdown: () => {} };
  vi.spyOn(Worker, 'create').mockResolvedValue(worker as unknown as Worker);
  const { stop } = await open();
  expect(members()).toMatchObject([{ worker: true }]);
  const stopping = stop();
  expect(members()).toMatchObject([{ worker: false }]);
  finishes.release();
  await stopping;
  expect(members()).toEqual([]);
});

test('a worker that dies while it starts ends `done`, and no rejection goes unhandled', async () => {
  const { open, left } = place();
  const run = (): Promise<never> => Promise.reject(new Error('died'));
  vi.spyOn(Worker, 'create').mockResolvedValue({ run, getState: () => 'FAILED' } as unknown as Worker);
  const unhandled = vi.fn<(reason: unknown) => void>();
  process.prependListener('unhandledRejection', unhandled);
  try {
    const { done } = await open();
    await expect(done).rejects.toThrow('died');
  } finally {
    process.off('unhandledRejection', unhandled);
  }
  expect(unhandled).not.toHaveBeenCalled();
  expect(left()).toEqual(nothing);
});
