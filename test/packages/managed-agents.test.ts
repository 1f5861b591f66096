// Programs of the Managed Agents API in other languages, with the SDKs as they are published,
// against `perdure serve --managed` and a worker: apps, and workers of self-hosted environments.
import { execFile, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import Anthropic from '@anthropic-ai/sdk';
import type { BetaManagedAgentsSessionEvent } from '@anthropic-ai/sdk/resources/beta/sessions';
import { expect, onTestFinished, test } from 'vitest';
import { gate, reply, type Reply, toolUse } from '../../scripted-model/index.ts';
import { reasonOf } from '../../system/text.ts';
import { findFreePort } from '../../worker/embedded/free-port.ts';
import { cliPlace, modelFor, readyWorker } from '../support/cli.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { installPackages } from './python-packages.ts';

const GO_SDK = 'github.com/anthropics/anthropic-sdk-go/v2@v2.15.0';
const CLI = 'github.com/anthropics/anthropic-cli/cmd/ant@v1.20.0';
const programs = join(import.meta.dirname, 'managed');
const { python, isMissing } = installPackages(['anthropic==2.10.0']);
const run = promisify(execFile);

/** Serves; the model writes a file, and then talks until a turn is interrupted. */
async function serveProgram() {
  const { hold, release } = gate();
  onTestFinished(release);
  return serve([
    reply([toolUse('write', { file_path: 'a.txt', content: 'Hello.\n' })]),
    reply('Written.'),
    reply('Hello to you, in more than one piece.', { deltaChars: 5 }),
    reply('This is never ended.', { hold, holdAfterEvent: 4 }),
  ]);
}

async function serve(script: readonly Reply[]) {
  const place = cliPlace(await modelFor(script));
  const look = 'l'.repeat(40);
  mkdirSync(place.data, { recursive: true, mode: 0o700 });
  const people = join(place.data, 'people.json');
  writeFileSync(people, JSON.stringify([{ name: 'ana', role: 'look', token: look }]), { mode: 0o600 });
  const port = await findFreePort();
  const agents = join(place.root, 'agents');
  const server = place.start(['serve', '--port', `${port}`, '--managed', agents, '--page-tokens', people]);
  await Promise.race([until(() => server.out().includes('managed agents ')), server.status]);
  expect(server.out(), server.err()).toContain('managed agents ');
  await readyWorker(place);
  const owner = (await place.run('serve', '--token')).out.trim();
  const env = { ...place.env, BASE_URL: `http://127.0.0.1:${port}`, OWNER_TOKEN: owner, LOOK_TOKEN: look };
  return { env, root: place.root };
}

const turn = [
  'user.message',
  'session.status_running',
  'span.model_request_start',
  'agent.tool_use',
  'span.model_request_end',
  'agent.tool_result',
  'span.model_request_start',
  'agent.message',
  'span.model_request_end',
  'session.usage',
  'session.status_idle',
];

/** By what was wrong: the status, the type, and whether it has a request's id. */
const errors = {
  bad: [400, 'invalid_request_error', true],
  unknown: [401, 'authentication_error', true],
  role: [403, 'permission_error', true],
  missing: [404, 'not_found_error', true],
  notServed: [404, 'not_found_error', true],
  conflict: [409, 'invalid_request_error', true],
  large: [413, 'invalid_request_error', true],
};
const classes: Readonly<Record<number, string>> = {
  400: 'BadRequestError',
  401: 'AuthenticationError',
  403: 'PermissionDeniedError',
  404: 'NotFoundError',
  409: 'ConflictError',
  413: 'ContentTooLargeError',
};

const seen = {
  networking: ['limited', 'limited'],
  streamed: turn,
  same: true,
  input: { file_path: 'a.txt', content: 'Hello.\n' },
  result: expect.stringContaining('created a.txt') as string,
  status: ['idle', 'terminated'],
  deleted: ['session_deleted', 'environment_deleted'],
  archivedAgent: true,
};

test('the Python SDK, blocking and asynchronous, does each served method and reads each error (8.1 A2)', async () => {
  if (isMissing()) return;
  const { env } = await serveProgram();
  const { stdout } = await run(python, [join(programs, 'program.py')], { env });
  const named = Object.entries(errors).map(([name, error]) => [name, [classes[error[0] as number], ...error]]);
  expect(JSON.parse(stdout)).toEqual({
    blocking: {
      ...seen,
      versions: [2, 1],
      agents: true,
      retrieved: true,
      environments: true,
      environment: 'cloud',
      newest: 'session.status_idle',
      titled: ['Two', { a: 'b' }],
      closed: ['BadRequestError', ...errors.bad],
      errors: Object.fromEntries(named),
      gone: ['NotFoundError', ...errors.missing],
    },
    asynchronous: {
      said: 'Hello to you, in more than one piece.',
      prefix: true,
      interrupted: 1,
      last: 'session.status_idle',
      sessions: true,
    },
  });
});

/** Returns the path of the built program; null where the SDK cannot be had. */
async function buildGo(file: string): Promise<string | null> {
  const folder = tempDir();
  copyFileSync(join(programs, file), join(folder, 'main.go'));
  try {
    await run('go', ['mod', 'init', 'perdure.example/managed'], { cwd: folder });
    await run('go', ['mod', 'edit', `-require=${GO_SDK}`], { cwd: folder });
    // What each of its packages needs, too.
    await run('go', ['mod', 'tidy'], { cwd: folder });
    await run('go', ['build', '-o', 'program', '.'], { cwd: folder });
  } catch (error) {
    console.warn(`${GO_SDK} cannot be built here: ${reasonOf(error).slice(0, 2_000)}`);
    return null;
  }
  return join(folder, 'program');
}

test('the Go SDK does each served method and reads each error (8.1 A3)', async () => {
  const program = await buildGo('program.go');
  if (program === null) return;
  const { env } = await serveProgram();
  const { stdout } = await run(program, [], { env });
  expect(JSON.parse(stdout)).toEqual({
    ...seen,
    versions: 2,
    version: 2,
    agents: 1,
    environments: 1,
    environment: 'env_default',
    title: 'Two',
    sessions: 1,
    closed: errors.bad,
    errors,
    gone: errors.missing,
  });
});

const bash = (command: string): Reply => reply([toolUse('bash', { command })]);
/** What a worker is given, tool by tool; `log` lies outside its folder. */
const worked = (log: string): readonly Reply[] => [
  reply([toolUse('write', { file_path: 'a/b.txt', content: 'one\ntwo\n' })]),
  reply([toolUse('edit', { file_path: 'a/b.txt', old_string: 'two', new_string: 'three' })]),
  reply([toolUse('read', { file_path: 'a/b.txt' }), toolUse('glob', { pattern: '**/*.txt' })]),
  reply([toolUse('grep', { pattern: 'thr' })]),
  bash(`echo once >> ${log}; cd a; export WORD=kept`),
  bash('cat b.txt; echo $WORD; (exit 3)'),
  reply('Done.'),
];

const isTurnEnd = (event: BetaManagedAgentsSessionEvent): boolean =>
  event.type === 'session.status_idle' && event.stop_reason.type === 'end_turn';

/** Has a session served by a worker, and holds what it was told to what the tools do. */
async function expectServed(argv: readonly [string, ...string[]], more: NodeJS.ProcessEnv = {}): Promise<void> {
  const log = join(tempDir(), 'log');
  const { env, root } = await serve(worked(log));
  const { BASE_URL: baseURL, OWNER_TOKEN: apiKey } = env;
  const { beta } = new Anthropic({ baseURL, apiKey, authToken: null, logLevel: 'off' });
  const own = await beta.environments.create({ name: 'own', config: { type: 'self_hosted' } });
  const key = await fetch(`${baseURL}/v1/x/perdure/environments/${own.id}/keys`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey },
  });
  const { key: environmentKey } = (await key.json()) as { key: string };
  const workdir = join(root, 'sandbox');
  mkdirSync(workdir);
  const names = { BASE_URL: baseURL, ENVIRONMENT_ID: own.id, ENVIRONMENT_KEY: environmentKey, WORKDIR: workdir };
  const [program, ...args] = argv;
  const workerEnv = { PATH: process.env.PATH, HOME: workdir, ...names, ...more };
  const worker = spawn(program, args, { env: workerEnv, stdio: 'ignore' });
  onTestFinished(() => void worker.kill('SIGKILL'));
  const agent = await beta.agents.create({
    name: 'Coder',
    model: 'claude-sonnet-5-5',
    tools: [{ type: 'agent_toolset_20260401' }],
  });
  const { id } = await beta.sessions.create({
    agent: agent.id,
    environment_id: own.id,
    initial_events: [{ type: 'user.message', content: [{ type: 'text', text: 'Go.' }] }],
  });
  const events: BetaManagedAgentsSessionEvent[] = [];
  await until(async () => {
    events.length = 0;
    for await (const event of beta.sessions.events.list(id)) events.push(event);
    return events.some(isTurnEnd);
  });
  const calls = events.filter(({ type }) => type === 'agent.tool_use').map((event) => event.id);
  const results = events.filter((event) => event.type === 'user.tool_result');
  expect(results.map(({ tool_use_id }) => tool_use_id).toSorted()).toEqual(calls.toSorted());
  expect(results.map(({ is_error }) => is_error === true)).toEqual([...calls.slice(1).map(() => false), true]);
  const text = JSON.stringify(results.map(({ content }) => content));
  expect(text).toContain('b.txt');
  expect(JSON.stringify(results.at(-1)?.content)).toMatch(/three.*kept/);
  expect(readFileSync(log, 'utf8')).toBe('once\n');
}

test('a worker of the Python SDK serves a session, each call once (8.1 B2)', async () => {
  if (isMissing()) return;
  await expectServed([python, join(programs, 'worker.py')]);
});

test('a worker of the Go SDK serves a session, each call once (8.1 B2)', async () => {
  const program = await buildGo('worker.go');
  if (program === null) return;
  await expectServed([program]);
});

/** Returns the path of the CLI, which ANT_CLI may name; null where it cannot be had. */
async function installCli(): Promise<string | null> {
  const named = process.env['ANT_CLI'];
  if (named !== undefined) return named;
  const GOBIN = tempDir();
  try {
    await run('go', ['install', CLI], { env: { ...process.env, GOBIN } });
  } catch (error) {
    console.warn(`${CLI} cannot be built here: ${reasonOf(error).slice(0, 2_000)}`);
    return null;
  }
  return join(GOBIN, 'ant');
}

type Item = { readonly id: string; readonly type: string; readonly [name: string]: unknown };

function callCli(ant: string, { BASE_URL, OWNER_TOKEN }: Awaited<ReturnType<typeof serve>>['env']) {
  const env = { PATH: process.env.PATH, HOME: tempDir(), ANTHROPIC_API_KEY: OWNER_TOKEN };
  return async (...args: readonly string[]): Promise<readonly Item[]> => {
    const { stdout } = await run(ant, ['--base-url', BASE_URL, '--format', 'jsonl', ...args], { env });
    return stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Item);
  };
}

test('the CLI works with agents, sessions, their events and the statistics of queues (8.1 A4)', async () => {
  const ant = await installCli();
  if (ant === null) return;
  const write = reply([toolUse('write', { file_path: 'a.txt', content: 'Hello.\n' })]);
  const { env } = await serve([write, reply('Written.'), write, ...Array.from({ length: 50 }, () => reply('Heard.'))]);
  const call = callCli(ant, env);
  const [model, tool] = ['{id: claude-sonnet-5-5}', '{type: agent_toolset_20260401}'];
  const [created] = await call('beta:agents', 'create', '--name', 'One', '--model', model, '--tool', tool);
  const agent = created?.id ?? '';
  await call('beta:agents', 'update', '--agent-id', agent, '--version', '1', '--name', 'Two');
  expect(await call('beta:agents', 'retrieve', '--agent-id', agent)).toMatchObject([{ id: agent, name: 'Two' }]);
  expect(await call('beta:agents', 'list')).toMatchObject([{ id: agent, version: 2 }]);
  await expect(call('beta:agents', 'retrieve', '--agent-id', 'agent_none')).rejects.toThrow('404 Not Found');

  const event = '{type: user.message, content: [{type: text, text: Go.}]}';
  const begin = ['beta:sessions', 'create', '--agent', agent, '--initial-event', event, '--environment-id'] as const;
  const session = ['--session-id', (await call(...begin, 'env_default'))[0]?.id ?? ''] as const;
  const list = () => call('beta:sessions:events', 'list', ...session);
  await until(async () => (await list()).at(-1)?.type === 'session.status_idle');
  expect((await list()).map(({ type }) => type)).toEqual(turn);
  await call('beta:sessions', 'update', ...session, '--title', 'Talk');
  expect(await call('beta:sessions', 'list')).toMatchObject([{ id: session[1], title: 'Talk', status: 'idle' }]);

  const [own] = await call('beta:environments', 'create', '--name', 'own', '--config', '{type: self_hosted}');
  const environment = own?.id ?? '';
  await call(...begin, environment);
  const stats = () => call('beta:environments:work', 'stats', '--environment-id', environment);
  await until(async () => (await stats())[0]?.['depth'] === 1);

  // It prints what it streams when it ends, after a number of events.
  let streamed: readonly Item[] = [];
  void call('beta:sessions:events', 'stream', ...session, '--max-items', '12').then((events) => (streamed = events));
  await until(async () => {
    await call('beta:sessions:events', 'send', ...session, '--event', event);
    return streamed.length > 0;
  });
  const events = streamed.filter(({ processed_at: at }) => at !== null);
  // Its SDK passes over types that it does not know.
  const listed = (await list()).filter(({ type }) => type !== 'session.usage');
  const first = listed.findIndex(({ id }) => id === events[0]?.id);
  expect(events).toEqual(listed.slice(first, first + events.length));
});

test('the CLI polls, and serves each item in a process of its own, each call once (8.1 A4)', async () => {
  const ant = await installCli();
  if (ant === null) return;
  await expectServed([join(programs, 'worker.sh')], { ANT: ant });
});
