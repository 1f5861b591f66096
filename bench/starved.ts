// Many sessions under way on a machine whose cores others want as well: how many workflow tasks run
// into their time-outs, and how long sessions take to go on when worker and server are killed.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { openDataFolder } from '../connection/data-folder.ts';
import { reply, startScriptedModel, toolUse, type ParsedRequest } from '../scripted-model/index.ts';
import { findBinary } from '../worker/embedded/find-binary.ts';
import { findFreePort } from '../worker/embedded/free-port.ts';
import { serverArgs } from '../worker/embedded/server-args.ts';
import { startSession } from './bench-server.ts';
import { type TaskTimes, taskTimes } from './history.ts';
import { type BenchWorker, spawnWorker } from './processes.ts';

export type StarvedLoad = {
  readonly sessions: number;
  /** Processes beside it that do nothing but compute. */
  readonly busy: number;
  /** Seconds that are watched before the kill, and after it. */
  readonly seconds: number;
};

export type StarvedRow = TaskTimes & {
  readonly what: 'under way' | 'after the kill';
  /** The machine's, of the last minute. */
  readonly load: number;
  /** Requests that the model got. */
  readonly requests: number;
  /** Milliseconds until each session that went on made its first one, in rising order. */
  readonly wentOn: readonly number[];
};

type Say = (line: string) => void;

/** When each session asked the model, in milliseconds since the epoch. */
type RequestTimes = Map<string, number[]>;

/** Milliseconds that the model takes: sessions wait for it at the kill, as they mostly do. */
const ANSWER_MS = 2_000;
const TASK_QUEUE = 'starved';

export async function measureStarved(load: StarvedLoad, say: Say): Promise<StarvedRow[]> {
  const root = await mkdtemp(join(tmpdir(), 'perdure-starved-'));
  const requestTimes: RequestTimes = new Map();
  const model = await startScriptedModel({
    script: (request) => answer(request, requestTimes),
    keep: 'none',
    strict: false,
  });
  const machine = await startMachine(root, model.url, say);
  const loops = Array.from({ length: load.busy }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  );
  try {
    const client = await connect(machine.address);
    const ids: string[] = [];
    const plain = { root, files: 0, sealed: false };
    for (let n = 0; n < load.sessions; n += 1) ids.push(await startSession(client, TASK_QUEUE, plain));
    const startedAt = Date.now();
    const underWay = await watch(requestTimes, startedAt, load);
    say(`${ids.length} sessions are under way: killing worker and server`);
    const killed = Date.now();
    await machine.killAndStart();
    const afterKill = await watch(requestTimes, killed, load);
    await Promise.all(loops.map(kill));
    return [
      { what: 'under way', ...underWay, ...(await taskTimes(client, ids, startedAt, killed)) },
      { what: 'after the kill', ...afterKill, ...(await taskTimes(client, ids, killed, Infinity)) },
    ];
  } finally {
    await Promise.all([...loops.map(kill), machine.stop()]);
    await model.close();
    await rm(root, { recursive: true, force: true });
  }
}

/** Asks each session for one call after the other, for as long as it lasts. */
function answer({ system }: ParsedRequest, requestTimes: RequestTimes) {
  const session = /bench-[0-9a-f-]{36}/.exec(JSON.stringify(system))?.[0] ?? '';
  requestTimes.set(session, [...(requestTimes.get(session) ?? []), Date.now()]);
  return reply([toolUse('read', { path: 'small.txt' })], { delayMs: ANSWER_MS });
}

async function watch(requestTimes: RequestTimes, from: number, { seconds }: StarvedLoad) {
  await sleep(Math.max(0, from + seconds * 1_000 - Date.now()));
  const since = [...requestTimes.values()].map((times) => times.filter((at) => at > from).map((at) => at - from));
  return {
    load: loadavg()[0] ?? Number.NaN,
    requests: since.flat().length,
    wentOn: since.flatMap((times) => times.slice(0, 1)).toSorted((a, b) => a - b),
  };
}

/** A server and a worker, which are killed and started again together. */
async function startMachine(root: string, model: string, say: Say) {
  const { storePlace, liveDir, root: dataDir } = openDataFolder({ PERDURE_DATA: join(root, 'data') });
  const { path } = await findBinary({ env: process.env, wanted: null, say });
  const port = await findFreePort();
  const address = `127.0.0.1:${port}`;
  const args = serverArgs({ port, database: join(root, 'temporal.db'), uiPort: null });
  const job = { address, taskQueue: TASK_QUEUE, model, folders: { storePlace, liveDir, dataDir } };
  let server: ChildProcess;
  let worker: BenchWorker | undefined;
  const start = async (): Promise<void> => {
    server = spawn(path, args, { stdio: 'ignore' });
    await (await connect(address)).connection.close();
    worker = await spawnWorker(job);
  };
  const stop = async (): Promise<void> => {
    await Promise.all([worker?.kill(), kill(server)]);
  };
  await start();
  return { address, stop, killAndStart: async () => (await stop(), start()) };
}

/** Resolves when the server answers. */
async function connect(address: string): Promise<Client> {
  for (;;) {
    try {
      return new Client({ connection: await Connection.connect({ address }) });
    } catch {
      await sleep(200);
    }
  }
}

async function kill(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  if (child.kill('SIGKILL')) await exited;
}
