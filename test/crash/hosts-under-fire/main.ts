// The command `npm run hosts-under-fire -- --seed 7 --minutes 20 --sessions 12`: three hosts with
// disks of their own, which are cut off, frozen, killed, wiped and drained while sessions and their
// agents work on them and are moved at will, and what must hold afterwards. It needs Linux, root, and the programs that it names when one is
// missing. A seed draws the same faults and the same plans.
import { execFileSync } from 'node:child_process';
import { setMaxListeners } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { blobCache } from '../../../store/values/blob-cache.ts';
import { s3Objects } from '../../../store/values/s3/s3-objects.ts';
import { s3Store } from '../../../store/values/s3/s3-store.ts';
import { openStoreMemory } from '../../../store/values/s3/sealed-since.ts';
import { findBinary } from '../../../worker/embedded/find-binary.ts';
import { findGoProgram } from '../../support/go-program.ts';
import { BUCKET, S3_GATEWAY } from '../../support/s3-gateway.ts';
import { until } from '../../support/until.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { MEMO_KEY, type SessionMemo } from '../../../workflows/contract/session.ts';
import { askServer, Driven, type Means as DriveMeans } from './drive.ts';
import { haveFaults } from './faults.ts';
import { DATA, Host, makeBridge } from './host.ts';
import { type AgentOf, judge } from './judge.ts';
import { findMissing, placeInside, runInNamespaces } from './namespaces.ts';
import { planScript } from './plans.ts';
import { report, type Row, say } from './report.ts';
import { type Services, startServices } from './services.ts';

const HOSTS = 3;
/** Sessions move soon; a restart that takes longer is a reason to. */
const GRACE_MS = 7_000;
/** Longer than any step of a plan. */
const DRAIN_MS = 20_000;

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '51' },
    minutes: { type: 'string', default: '20' },
    sessions: { type: 'string', default: '12' },
    /** Keeps the logs, and says where they are. */
    keep: { type: 'boolean', default: false },
  },
});
const [seed, minutes, sessions] = [values.seed, values.minutes, values.sessions].map(Number) as [
  number,
  number,
  number,
];

/** `folder`: of logs and data. `temporal`, `s3`: paths of programs. */
type Place = { readonly folder: string; readonly temporal: string; readonly s3: string };

const inside = placeInside() as Place | null;
process.exitCode = inside === null ? await enter() : await burn(inside);
// Servers and hosts end with the namespaces of this process.
process.exit();

async function enter(): Promise<number> {
  const missing = findMissing(['ip', 'unshare', 'nsenter', 'curl', 'git', 'redis-server']);
  if (missing !== null) {
    process.stderr.write(`hosts-under-fire: ${missing}\n`);
    return 2;
  }
  const folder = mkdtempSync(join(tmpdir(), 'perdure-fire-'));
  const note = (line: string): void => void process.stderr.write(`${line}\n`);
  const { path: temporal } = await findBinary({ env: process.env, wanted: null, say: note });
  const s3 = await findGoProgram(...S3_GATEWAY);
  const place: Place = { folder, temporal, s3 };
  const status = await runInNamespaces(fileURLToPath(import.meta.url), place);
  if (values.keep) process.stdout.write(`logs and data: ${folder}\n`);
  else rmSync(folder, { recursive: true, force: true });
  return status;
}

async function burn({ folder, ...programs }: Place): Promise<number> {
  say(`seed ${seed}: ${sessions} sessions on ${HOSTS} hosts, ${minutes} minutes of faults`);
  makeBridge();
  const services = await startServices(folder, programs, planScript());
  Object.assign(process.env, services.env);
  const hosts = await startHosts(folder, services);
  say('all workers are ready');
  const client = new Client({ connection: await Connection.connect({ address: services.temporal }) });
  const all = await beginSessions(hosts, { client, env: commandEnv(folder, services), seed, hosts: HOSTS });
  say('all sessions have begun');
  const faults = new AbortController();
  setMaxListeners(0, faults.signal);
  const busy = all.map((one) => one.keepBusy(faults.signal));
  const store = openStore(folder, services);
  await until(async () => (await Promise.all(all.map((one) => one.hasSnapshot(store)))).every(Boolean));
  say('each session has a snapshot: the faults begin');
  const ending = setTimeout(() => faults.abort(), minutes * 60_000);
  const counts = await haveFaults(hosts, { seed, signal: faults.signal, say });
  clearTimeout(ending);
  await Promise.all(busy);
  say(
    `all hosts are back after ${Object.entries(counts)
      .map(([kind, count]) => `${count} ${kind}`)
      .join(', ')}`,
  );
  await Promise.race([Promise.all(all.map((one) => one.close())), sayWaiting(all)]);
  const agents = await listAgents(client, all);
  const rows = await judge({ sessions: all, agents, hosts, store, effects: services.effects });
  return report([...rows, judgeRest(hosts, services)], seed);
}

/** The sessions of all agents, each with the one that it worked for. */
async function listAgents(client: Client, all: readonly Driven[]): Promise<readonly AgentOf[]> {
  const found: AgentOf[] = [];
  for (const driven of all)
    for (const id of await askServer(() => listBelow(client, driven.id))) {
      const { memo } = await askServer(() => client.workflow.getHandle(id).describe());
      found.push({ driven, id, memo: memo?.[MEMO_KEY] as SessionMemo });
    }
  return found;
}

async function listBelow(client: Client, root: SessionId): Promise<readonly SessionId[]> {
  const found: SessionId[] = [];
  for await (const { workflowId } of client.workflow.list({ query: `PerdureRoot = '${root}'` }))
    found.push(workflowId as SessionId);
  return found;
}

function openStore(folder: string, { s3 }: Services) {
  const [own, cache] = [join(folder, 'judge'), blobCache(join(folder, 'judge-cache'))];
  mkdirSync(own, { mode: 0o700 });
  return s3Store(s3Objects({ bucket: BUCKET, prefix: 'fire', endpoint: s3 }), cache, { memory: openStoreMemory(own) });
}

/** Writes the configuration of workers and commands, and returns its folder. */
function writeSettings(folder: string): string {
  const settings = join(folder, 'settings');
  mkdirSync(join(settings, 'perdure'), { recursive: true });
  const config = `{ memory: false, compaction: { enabled: false }, hosts: { graceMs: ${GRACE_MS} }, drainMs: ${DRAIN_MS} }`;
  writeFileSync(join(settings, 'perdure', 'perdure.config.mjs'), `export default ${config};\n`);
  return settings;
}

async function startHosts(folder: string, { env }: Services): Promise<readonly Host[]> {
  const own = {
    HOME: '/srv/home',
    TMPDIR: '/srv/tmp',
    PERDURE_DATA: DATA,
    XDG_CONFIG_HOME: writeSettings(folder),
    PERDURE_ON_DRAIN: 'leave',
  };
  const hosts = Array.from({ length: HOSTS }, (_, at) => new Host({ place: at + 1, folder, env: { ...env, ...own } }));
  await Promise.all(hosts.map((host) => host.start()));
  return hosts;
}

function commandEnv(folder: string, { env }: Services): Readonly<Record<string, string>> {
  const own = join(folder, 'commands');
  mkdirSync(own, { mode: 0o700 });
  return {
    ...env,
    PATH: process.env.PATH ?? '',
    HOME: own,
    PERDURE_DATA: join(own, 'data'),
    XDG_CONFIG_HOME: writeSettings(folder),
  };
}

async function beginSessions(hosts: readonly Host[], means: DriveMeans): Promise<readonly Driven[]> {
  const all = Array.from({ length: sessions }, (_, at) => new Driven(at + 1, means));
  // The folders that commands look for are on no disk of a host.
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', '/srv']);
  for (const [at, one] of all.entries()) await one.begin(hosts[at % hosts.length] as Host);
  return all;
}

/** Says each half minute which sessions have not ended yet. */
async function sayWaiting(all: readonly Driven[]): Promise<never> {
  for (;;) {
    await sleep(30_000);
    const memos = await Promise.all(
      all.map(async (one) => ({ one, memo: await one.memo(), idle: await one.isIdle() })),
    );
    const open = memos.filter(({ idle }) => !idle);
    say(
      `not idle: ${open.map(({ one, memo }) => `${one.name} ${one.id} (${memo.phase}, ${memo.host?.id})`).join(', ')}`,
    );
  }
}

function judgeRest(hosts: readonly Host[], { modelProblems }: Services): Row {
  const restarts = hosts.reduce((sum, { endedByThemselves }) => sum + endedByThemselves, 0);
  const drains = hosts.flatMap((host) => host.drains);
  return {
    claim: 'no request that the model refuses, and each worker that drains ends with 0',
    counts: `${restarts} workers ended by themselves and were started again; ${drains.length} drained`,
    faults: [
      ...modelProblems,
      ...drains.filter((end) => end !== 0).map((end) => `a worker that was told to end ended with ${end}`),
    ],
  };
}
