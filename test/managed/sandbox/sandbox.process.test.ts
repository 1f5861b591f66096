// Self-hosted environments end to end: the SDK's own worker in a process of its own, `perdure serve`
// and a worker of Perdure in others, a scripted model. Effects are lines of a file outside.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import type { BetaManagedAgentsSessionEvent } from '@anthropic-ai/sdk/resources/beta/sessions';
import { expect, onTestFinished, test } from 'vitest';
import { findFreePort } from '../../../worker/embedded/free-port.ts';
import { reply, type ScriptedModelOptions, toolUse } from '../../../scripted-model/index.ts';
import { cliPlace, type Command, modelFor, readyWorker } from '../../support/cli.ts';
import { until } from '../../support/until.ts';

type Place = ReturnType<typeof cliPlace>;
type Event = BetaManagedAgentsSessionEvent;

async function serve(place: Place, port: number): Promise<Command> {
  const managed = ['--managed', join(place.root, 'agents'), '--managed-lease', '10s'];
  const command = place.start(['serve', '--port', `${port}`, ...managed]);
  await until(() => command.out().includes('page '));
  onTestFinished(() => command.signal('SIGKILL'));
  return command;
}

async function managed(script: ScriptedModelOptions['script']) {
  const model = await modelFor(script);
  const place = cliPlace(model);
  const port = await findFreePort();
  const server = await serve(place, port);
  const apiKey = (await place.run('serve', '--token')).out.trim();
  const baseURL = `http://127.0.0.1:${port}`;
  const client = new Anthropic({ apiKey, authToken: null, baseURL, logLevel: 'off' });
  const worker = await readyWorker(place);
  const environment = (await client.beta.environments.create({ name: 'own', config: { type: 'self_hosted' } })).id;
  const key = (await place.run('environments', 'key', environment)).out.trim();
  const agent = await client.beta.agents.create({
    name: 'Coder',
    model: 'claude-sonnet-5-5',
    tools: [{ type: 'agent_toolset_20260401' }],
  });
  const session = (await client.beta.sessions.create({ agent: agent.id, environment_id: environment })).id;
  return {
    client,
    model,
    place,
    port,
    server,
    worker,
    baseURL,
    environment,
    key,
    session,
    log: join(place.root, 'log'),
  };
}

type Managed = Awaited<ReturnType<typeof managed>>;

const program = join(import.meta.dirname, 'worker.mjs');

/** A worker of the environment with a folder of its own. */
function sandbox({ place, baseURL, environment, key }: Managed, mode = 'plain'): ChildProcess & { said: () => string } {
  const folder = join(place.root, `sandbox-${Math.random().toString(36).slice(2)}`);
  mkdirSync(folder);
  const child = spawn(process.execPath, [program, baseURL, environment, key, folder, mode], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: folder },
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (said += bytes.toString()));
  onTestFinished(() => void child.kill('SIGKILL'));
  return Object.assign(child, { said: () => said });
}

async function listed(client: Anthropic, session: string): Promise<readonly Event[]> {
  const events: Event[] = [];
  for await (const event of client.beta.sessions.events.list(session)) events.push(event);
  return events;
}

const say = (client: Anthropic, session: string, words: string) =>
  client.beta.sessions.events.send(session, {
    events: [{ type: 'user.message', content: [{ type: 'text', text: words }] }],
  });

const isTurnEnd = (event: Event): boolean =>
  event.type === 'session.status_idle' && event.stop_reason.type === 'end_turn';

async function turnEnd({ client, session }: Managed, turns = 1): Promise<readonly Event[]> {
  let events: readonly Event[] = [];
  await until(async () => (events = await listed(client, session)).filter(isTurnEnd).length === turns);
  return events;
}

const linesOf = (path: string): readonly string[] =>
  existsSync(path)
    ? readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    : [];

const resultsIn = (events: readonly Event[]) => events.filter((event) => event.type === 'user.tool_result');

/** Every call has exactly one result, and what is told twice is the same. */
async function expectWhole({ client, session }: Managed, events: readonly Event[]): Promise<void> {
  expect(await listed(client, session)).toEqual(events);
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  const times = events.map(({ processed_at }) => String(processed_at));
  expect(times).toEqual(times.toSorted());
  const calls = events.filter(({ type }) => type === 'agent.tool_use').map(({ id }) => id);
  expect(resultsIn(events).map((event) => event.tool_use_id)).toEqual(calls);
}

const bash = (command: string) => reply([toolUse('bash', { command })]);

test('a session runs its tools in a sandbox of its own, and says what it waits for (G74 G37)', async () => {
  const at = await managed([
    reply([toolUse('write', { file_path: 'a.txt', content: 'Hello.\n' })]),
    reply([toolUse('read', { file_path: 'a.txt' }), toolUse('grep', { pattern: 'Hello' })]),
    bash('cat a.txt; mkdir -p silent'),
    reply('Done.'),
  ]);
  await say(at.client, at.session, 'Write a.txt.');
  await until(async () => (await listed(at.client, at.session)).some(({ type }) => type === 'session.status_idle'));
  const waiting = await listed(at.client, at.session);
  const call = waiting.find(({ type }) => type === 'agent.tool_use');
  expect(waiting.at(-1)).toMatchObject({ stop_reason: { type: 'requires_action', event_ids: [call?.id] } });
  expect(await at.client.beta.sessions.retrieve(at.session)).toMatchObject({ status: 'idle' });
  sandbox(at);
  const events = await turnEnd(at);
  await expectWhole(at, events);
  expect(JSON.stringify(resultsIn(events).at(-1))).toContain('Hello.');
  expect(existsSync(join(at.place.root, 'agents', at.session, 'a.txt'))).toBe(false);
});
