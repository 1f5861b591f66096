// The Managed Agents API with many sessions, most of them idle after a turn and some at work: how
// soon lists, events and streams answer, what polls cost, and what heartbeats leave. Asked by the
// SDK over HTTP; a model in this process answers a working session every ten seconds.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import Anthropic from '@anthropic-ai/sdk';
import type { BetaSelfHostedWork } from '@anthropic-ai/sdk/resources/beta/environments';
import { openWholeServer } from '../client/runtime/open-server.ts';
import { lastUserText, reply, startScriptedModel, toolUse } from '../scripted-model/index.ts';
import { createLimit } from '../system/async.ts';
import { leaseId } from '../workflows/contract/lease.ts';
import { findFreePort } from '../worker/embedded/free-port.ts';
import { cpuMs, residentBytes, spawnPerdure } from './page/page-process.ts';
import type { PageRow } from './page/page.ts';
import { median } from './table.ts';

export type ManagedLoad = { readonly idle: number; readonly working: number };

type Say = (line: string) => void;
type Face = { readonly client: Anthropic; readonly server: number; readonly env: NodeJS.ProcessEnv };

const WORK = 'Work.';
const ANSWER_MS = 10_000;
const TIMES = 50;
const TOGETHER = 16;
const POLLS = 50;
const POLLED_MS = 10_000;
const BEATS = 100;

export async function measureManaged(load: ManagedLoad, say: Say): Promise<readonly PageRow[]> {
  const root = await mkdtemp(join(tmpdir(), 'perdure-bench-'));
  // Notes are another call after each turn.
  const config = join(root, 'config');
  await mkdir(join(config, 'perdure'), { recursive: true });
  await writeFile(join(config, 'perdure', 'perdure.config.mjs'), 'export default { memory: false };\n');
  const model = await startScriptedModel({
    script: (request) =>
      lastUserText(request) === WORK || request.messages.length > 2
        ? reply([toolUse('glob', { pattern: '*' })], { delayMs: ANSWER_MS })
        : reply('Done.'),
    keep: 'none',
  });
  const env = {
    ...process.env,
    PERDURE_DATA: join(root, 'data'),
    XDG_CONFIG_HOME: config,
    NO_COLOR: '1',
    ANTHROPIC_API_KEY: 'bench',
    ANTHROPIC_BASE_URL: model.url,
  };
  const worker = await spawnPerdure('worker', env, 'ignore');
  const { child, client } = await serve(env, root);
  try {
    const face = { client, server: child.pid ?? 0, env };
    const sessions = await startSessions(face, load, say);
    return [...(await measureReads(face, sessions)), ...(await measureQueue(face, say))];
  } finally {
    child.kill('SIGTERM');
    await worker.stop();
    await model.close();
    await rm(root, { recursive: true, force: true, maxRetries: 3 });
  }
}

const program = fileURLToPath(new URL('../../bin/perdure.mjs', import.meta.url));

async function serve(env: NodeJS.ProcessEnv, root: string) {
  const port = await findFreePort();
  const args = [program, 'serve', '--port', `${port}`, '--managed', join(root, 'agents')];
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()));
  while (!out.includes('managed agents ')) await once(child.stdout, 'data');
  const token = spawn(process.execPath, [program, 'serve', '--token'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const [bytes] = (await once(token.stdout, 'data')) as [Buffer];
  const [apiKey, baseURL] = [bytes.toString().trim(), `http://127.0.0.1:${port}`];
  return { child, client: new Anthropic({ apiKey, baseURL, authToken: null, logLevel: 'off' }) };
}

type Sessions = { readonly idle: readonly string[]; readonly working: readonly string[] };

async function startSessions({ client }: Face, load: ManagedLoad, say: Say): Promise<Sessions> {
  const agent = await client.beta.agents.create({
    name: 'Coder',
    model: 'claude-sonnet-5-5',
    tools: [{ type: 'agent_toolset_20260401' }],
  });
  const few = createLimit(TOGETHER);
  const start = (text: string) => async (): Promise<string> => {
    const { id } = await client.beta.sessions.create({
      agent: agent.id,
      environment_id: 'env_default',
      initial_events: [{ type: 'user.message', content: [{ type: 'text', text }] }],
    });
    return id;
  };
  const many = (count: number, text: string): Promise<string[]> =>
    Promise.all(Array.from({ length: count }, () => few(start(text))));
  const startedAt = performance.now();
  const idle = await many(load.idle, 'Rest.');
  for (const id of idle) while ((await client.beta.sessions.retrieve(id)).status !== 'idle') await sleep(100);
  const working = await many(load.working, WORK);
  for (const id of working) {
    const { status } = await client.beta.sessions.retrieve(id);
    if (status !== 'running') throw new Error(`session ${id} does not work: it is ${status}`);
  }
  say(
    `${idle.length} idle and ${working.length} working after ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`,
  );
  return { idle, working };
}

async function measureReads({ client, server }: Face, { idle, working }: Sessions): Promise<readonly PageRow[]> {
  const one = (ids: readonly string[], n: number): string => ids[n % ids.length] ?? '';
  const { sessions } = client.beta;
  const aims = new Map([
    ['a list of sessions', '100 ms'],
    ['the first byte of a stream', '50 ms'],
  ]);
  const requests: Readonly<Record<string, Request>> = {
    'a list of sessions': () => sessions.list(),
    'a list of those that run': () => sessions.list({ statuses: ['running'] }),
    'one session': (n) => sessions.retrieve(one(working, n)),
    'events of an idle one': (n) => sessions.events.list(one(idle, n)),
    'events of a working one': (n) => sessions.events.list(one(working, n)),
    'the first byte of a stream': (n) => firstByte(client, one(working, n)),
  };
  const rows: PageRow[] = [];
  for (const [what, request] of Object.entries(requests))
    rows.push(...(await rowsOf(server, what, aims.get(what) ?? '', request)));
  return [...rows, { what: 'memory of the server', aim: '', found: `${(residentBytes(server) / 1e6).toFixed(0)} MB` }];
}

async function firstByte(client: Anthropic, session: string): Promise<void> {
  const response = await client.beta.sessions.events.stream(session).asResponse();
  const reader = response.body?.getReader();
  await reader?.read();
  await reader?.cancel();
}

/** Polls that wait beside each other for work that does not come, and heartbeats of one lease. */
async function measureQueue(face: Face, say: Say): Promise<readonly PageRow[]> {
  const { client, server, env } = face;
  const { environments } = client.beta;
  const { id } = await environments.create({ name: 'own', config: { type: 'self_hosted' } });
  const { key } = await client.post<{ key: string }>(`/v1/x/perdure/environments/${id}/keys`, { body: {} });
  const { work } = client.withOptions({ apiKey: null, authToken: key }).beta.environments;
  const until = performance.now() + POLLED_MS;
  const before = cpuMs(server);
  const poll = async (): Promise<void> => {
    while (performance.now() < until) await work.poll(id, { block_ms: 999 });
  };
  await Promise.all(Array.from({ length: POLLS }, poll));
  const share = (cpuMs(server) - before) / POLLED_MS;
  say(`${POLLS} polls for ${POLLED_MS / 1_000} s`);
  const agent = await client.beta.agents.create({
    name: 'Boxed',
    model: 'claude-sonnet-5-5',
    tools: [{ type: 'agent_toolset_20260401' }],
  });
  await client.beta.sessions.create({
    agent: agent.id,
    environment_id: id,
    initial_events: [{ type: 'user.message', content: [{ type: 'text', text: WORK }] }],
  });
  let item: BetaSelfHostedWork | null = null;
  while (item === null) item = await work.poll(id, { block_ms: 999 });
  const { id: workId } = item;
  await work.ack(workId, { environment_id: id });
  let last = 'NO_HEARTBEAT';
  const beat = async (): Promise<void> => {
    ({ last_heartbeat: last } = await work.heartbeat(workId, { environment_id: id, expected_last_heartbeat: last }));
  };
  await beat();
  const eventsBefore = await countEvents(env, workId);
  const beats = await rowsOf(server, 'a heartbeat', '', beat, BEATS);
  const more = (await countEvents(env, workId)) - eventsBefore;
  return [
    { what: `${POLLS} polls that wait, share of a core`, aim: '', found: `${(share * 100).toFixed(0)} %` },
    ...beats,
    { what: `events of ${BEATS} heartbeats`, aim: '0', found: `${more}` },
  ];
}

/** Counts the events of the history of an item's first lease. */
async function countEvents(env: NodeJS.ProcessEnv, work: string): Promise<number> {
  const { temporal, close } = await openWholeServer({ env });
  const lease = temporal.client.workflow.getHandle(leaseId({ work, g: 1 }));
  let described = await lease.describe();
  // Its start is another event once it was taken up.
  while (described.raw.pendingWorkflowTask) described = await lease.describe();
  await close();
  return described.historyLength;
}

type Request = (n: number) => PromiseLike<unknown>;

/** Medians and p95 of requests in a row, and what one takes of the server's CPU. */
async function rowsOf(
  server: number,
  what: string,
  aim: string,
  request: Request,
  times = TIMES,
): Promise<readonly PageRow[]> {
  const before = cpuMs(server);
  const durations = await timesOf(request, times);
  const cpu = (cpuMs(server) - before) / times;
  const slow = durations.toSorted((a, b) => a - b)[Math.floor(durations.length * 0.95)] ?? Number.NaN;
  return [
    { what: `${what}, median`, aim, found: ms(median(durations)) },
    { what: `${what}, p95`, aim: '', found: ms(slow) },
    { what: `${what}, CPU of the server`, aim: '', found: ms(cpu) },
  ];
}

async function timesOf(request: Request, times: number): Promise<readonly number[]> {
  const durations: number[] = [];
  for (let n = 0; n < times; n += 1) {
    const startedAt = performance.now();
    await request(n);
    durations.push(performance.now() - startedAt);
  }
  return durations;
}

const ms = (value: number): string => `${value.toFixed(0)} ms`;
