// What one turn and one run take of what a plan counts (plan.ts): events, bytes and actions of the
// history, CPU of the server and of a worker, memory of a Redis with the live channel.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import proto, { type temporal } from '@temporalio/proto';
import { redisLive } from '../store/live/redis-live.ts';
import { findFreePort } from '../worker/embedded/free-port.ts';
import { findRunningServer } from '../worker/embedded/server-record.ts';
import type { SessionId } from '../workflows/contract/ids.ts';
import type { BenchServer } from './bench-server.ts';
import { chain } from './history.ts';
import { cpuMs } from './page/page-process.ts';

export type UnitRow = { readonly what: string; readonly turn: number; readonly run: number };

const SESSIONS = 10;
const TURNS = 20;
/** Run before the others; their CPU of the server and what they leave count, too. */
const WARM_UP = 2;

/** `turn`: of one turn with a call that writes a file; `run`: of a session's only run, beside its turns. */
export async function measureUnits(bench: BenchServer, say: (line: string) => void): Promise<readonly UnitRow[]> {
  say(`${SESSIONS} sessions of ${TURNS} turns, and as many of one, load ${loadavg()[0]?.toFixed(1)}`);
  const [long, short] = [await measureRuns(bench, TURNS), await measureRuns(bench, 1)];
  const names = Object.keys(long) as (keyof typeof long)[];
  const rows = names.map((what) => {
    const turn = (long[what] - short[what]) / (TURNS - 1);
    return { what, turn, run: short[what] - turn };
  });
  const live = await liveBytes();
  return live === null ? rows : [...rows, { what: 'bytes of a Redis, with a reply of 100 pieces', turn: live, run: 0 }];
}

/** Of one session, all of it. */
async function measureRuns({ client, folder, run }: BenchServer, turns: number) {
  const server = findRunningServer(folder)?.pid ?? 0;
  const before = cpuMs(server);
  const leftBefore = await leftIn(folder);
  const ran = await run({ subject: 'write', sessions: SESSIONS, turns, warmUp: WARM_UP, sealed: true });
  const serverCpu = (cpuMs(server) - before) / (SESSIONS + WARM_UP);
  const left = await leftIn(folder);
  const added = (name: keyof typeof left): number => (left[name] - leftBefore[name]) / (SESSIONS + WARM_UP);
  const events = await chain(client, ran.workflowIds[0] ?? '');
  const used = (at: 'before' | 'after'): number => ran[at].samples.at(-1)?.[1] ?? Number.NaN;
  return {
    'events of the history': events.length,
    'bytes of the history': historyBytes(events),
    actions: billedActions(events),
    'bytes of the database': added('database'),
    'bytes of the store': added('bytes'),
    'objects of the store': added('objects'),
    'ms of CPU of the server': serverCpu,
    'ms of CPU of the worker': (used('after') - used('before')) / SESSIONS,
  };
}

/** Bytes of the server's database, and the store's as a bucket has it: each name is an object. */
async function leftIn({ temporalDb, storePlace }: BenchServer['folder']) {
  const entries = await readdir(storePlace, { recursive: true, withFileTypes: true });
  const objects = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(
    objects.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size),
  );
  const database = (await stat(temporalDb)).size;
  return { database, objects: objects.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
}

type Event = temporal.api.history.v1.IHistoryEvent;

function historyBytes(events: readonly Event[]): number {
  const { HistoryEvent } = proto.temporal.api.history.v1;
  return events.reduce((sum, event) => sum + HistoryEvent.encode(event).finish().length, 0);
}

/** What the search attribute of versions is called: an upsert of it alone is not billed. */
const VERSIONS = 'TemporalChangeVersion';

/**
 * Counts what Temporal Cloud bills of a history: starts, signals, updates, timers, upserts of
 * search attributes and attempts of activities. Heartbeats and queries leave no event.
 */
function billedActions(events: readonly Event[]): number {
  return events.reduce((sum, event) => sum + actionsOf(event), 0);
}

function actionsOf(event: Event): number {
  const upserted = event.upsertWorkflowSearchAttributesEventAttributes?.searchAttributes?.indexedFields;
  if (upserted) return Object.keys(upserted).some((name) => name !== VERSIONS) ? 1 : 0;
  const isAction =
    event.workflowExecutionStartedEventAttributes ??
    event.workflowExecutionSignaledEventAttributes ??
    event.workflowExecutionUpdateAcceptedEventAttributes ??
    event.timerStartedEventAttributes;
  return isAction ? 1 : (event.activityTaskStartedEventAttributes?.attempt ?? 0);
}

const ATTEMPTS = 500;
const PIECES = 100;
const CONNECT_MS = 10_000;

/** Bytes that a Redis keeps of a step; null where no redis-server is installed. */
async function liveBytes(): Promise<number | null> {
  const port = await findFreePort();
  const child = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', ''], {
    stdio: 'ignore',
  });
  const failed = await new Promise<boolean>((resolve) => {
    child.once('error', () => resolve(true)).once('spawn', () => resolve(false));
  });
  if (failed) return null;
  const url = `redis://127.0.0.1:${port}/0`;
  const { Redis } = await import('ioredis');
  const redis = new Redis(url, { retryStrategy: () => 100, connectTimeout: CONNECT_MS });
  redis.on('error', () => undefined);
  try {
    const memory = async (): Promise<number> => Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
    const before = await memory();
    const live = redisLive({ url, scope: 'bench' });
    // Connects: a writer keeps little of what cannot be sent.
    await live.peek('bench' as SessionId);
    for (let step = 0; step < ATTEMPTS; step += 1) await tellStep(live, step);
    // Two keys of each: the list of its session, and its stream.
    while ((await redis.dbsize()) < 2 * ATTEMPTS) await sleep(100);
    const bytes = ((await memory()) - before) / ATTEMPTS;
    await live.close();
    return bytes;
  } finally {
    redis.disconnect();
    child.kill('SIGTERM');
  }
}

async function tellStep(live: ReturnType<typeof redisLive>, step: number): Promise<void> {
  const session = `bench-${randomUUID()}` as SessionId;
  const writer = live.open({ session, step, attempt: 1, activity: 'callModel' });
  for (let piece = 0; piece < PIECES; piece += 1)
    writer.write({ type: 'text_delta', iteration: step, index: 0, text: `word ${piece} of it ` });
  await writer.end({ type: 'fate', fate: 'died', why: 'the bench ends it' });
}
