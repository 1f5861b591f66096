// One worker in a process of its own, so that its CPU time is its own: the product's, or the
// floor's. Its argument is its job as JSON. Prints "ready" when it polls, and for each line of its
// standard input its usage as one line of JSON; ends with that input.
import { appendFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Worker } from '@temporalio/worker';
import { z } from 'zod';
import { defineTool } from '../tools/tool.ts';
import { openKeyRing } from '../connection/payloads/key-ring.ts';
import type { Sample } from './samples.ts';
import { agentSettings } from '../worker/config/agents.ts';
import { keepHeapSmall, WORKER_HEAP } from '../system/keep-heap-small.ts';
import { installRuntime } from '../worker/install-runtime.ts';
import { createWorkerLog } from '../worker/log.ts';
import { startWorker } from '../worker/start-worker.ts';

export type WorkerJob = {
  readonly address: string;
  readonly taskQueue: string;
  /** Null: the floor's worker. */
  readonly model: string | null;
  readonly folders: { readonly storePlace: string; readonly liveDir: string; readonly dataDir: string };
  /** The file of the keys that seal payloads; absent: they are plain. */
  readonly keys?: string;
  /** Whether files are captured; absent: as the product does. */
  readonly snapshots?: boolean;
  /** Whether CPU is sampled as time goes by; absent: at the start, and whenever usage is asked for. */
  readonly isSampled?: boolean;
};

/**
 * CPU time of the worker's process at moments of the wall clock, and of the processes that it
 * started and that have ended. Milliseconds.
 */
export type Usage = { readonly samples: readonly Sample[]; readonly started: number };

/** Milliseconds between samples, about a turn's. In a process of many threads a sample takes 0.2 ms. */
const EVERY_MS = 20;

/** The unit of `cutime` and `cstime` in /proc/self/stat. */
const TICK_MS = 10;

const samples: [number, number][] = [];

function sample(): void {
  const { user, system } = process.cpuUsage();
  samples.push([performance.timeOrigin + performance.now(), (user + system) / 1_000]);
}

/** 0 where there is no /proc. */
function startedCpu(): number {
  if (process.platform !== 'linux') return 0;
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) * TICK_MS;
}

const note = defineTool({
  name: 'note',
  description: 'Append a line to notes.txt.',
  inputSchema: z.strictObject({ line: z.string() }),
  risk: 'write',
  recovery: 'report',
  call: async ({ line }, { cwd }) => {
    await appendFile(join(cwd, 'notes.txt'), `${line}\n`);
    return { content: 'noted' };
  },
});

/**
 * Agents at once, and in a run: the bench begins more than the product allows unless it is told to.
 */
const MANY = { open: 100, perRun: 200 };

type Running = { stop(): Promise<unknown> };

function start(job: WorkerJob): Promise<Running> {
  const log = createWorkerLog(process.stderr, {});
  installRuntime(log);
  const { address, taskQueue, model, folders, keys, snapshots } = job;
  if (model === null) return startFloor(job);
  keepHeapSmall(WORKER_HEAP);
  return startWorker({
    address,
    namespace: 'default',
    ...(keys !== undefined && { keys: openKeyRing(keys, `there is no key file ${keys}`) }),
    ...folders,
    env: { PATH: process.env['PATH'], ANTHROPIC_API_KEY: 'bench', ANTHROPIC_BASE_URL: model },
    log,
    taskQueue,
    tools: [note],
    ...(snapshots !== undefined && { config: { snapshots } }),
    defaults: { permissionMode: 'bypass', maxTurns: 1_000_000, maxSameResults: false, agents: agentSettings({}, MANY) },
  });
}

async function startFloor({ address, taskQueue }: WorkerJob): Promise<Running> {
  const connection = await NativeConnection.connect({ address });
  const workflowsPath = fileURLToPath(new URL('./floor-workflow.js', import.meta.url));
  const workflowBundle = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('WARN') });
  const activities = { nothing: () => Promise.resolve() };
  const worker = await Worker.create({ connection, taskQueue, workflowBundle, activities, maxCachedWorkflows: 300 });
  const done = worker.run();
  return {
    stop: async () => {
      worker.shutdown();
      await done;
      await connection.close();
    },
  };
}

const job = JSON.parse(process.argv[2] ?? '') as WorkerJob;
const worker = await start(job);
sample();
const sampling = job.isSampled ? setInterval(sample, EVERY_MS) : undefined;
process.stdout.write('ready\n');
const input = createInterface(process.stdin);
input.on('line', () => {
  sample();
  const usage: Usage = { samples: samples.splice(0), started: startedCpu() };
  process.stdout.write(`${JSON.stringify(usage)}\n`);
});
input.once('close', () => {
  clearInterval(sampling);
  void worker.stop();
});
