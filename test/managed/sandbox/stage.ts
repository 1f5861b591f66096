// The stage of tests of self-hosted environments: `perdure serve` and a worker of Perdure in processes
// of their own, a scripted model, and the SDK's own worker as a sandbox.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import type { AgentCreateParams } from '@anthropic-ai/sdk/resources/beta/agents';
import type { BetaManagedAgentsSessionEvent } from '@anthropic-ai/sdk/resources/beta/sessions';
import { expect, onTestFinished } from 'vitest';
import type { WebhookEndpoint } from '../../../activities/deps.ts';
import { findFreePort } from '../../../worker/embedded/free-port.ts';
import { reply, type Reply, toolUse } from '../../../scripted-model/index.ts';
import { cliPlace, type Command, modelFor, readyWorker } from '../../support/cli.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { until } from '../../support/until.ts';
import { configureManaged } from '../served.ts';

type Place = ReturnType<typeof cliPlace>;
export type Event = BetaManagedAgentsSessionEvent;

/** Another name than the one that workers poll. */
export const publicUrl = (port: number): string => `http://localhost:${port}`;

/** `lease`: longer than a busy machine takes for anything, where no lease is to lapse. */
export async function serve(place: Place, port: number, lease = '5m', flags: readonly string[] = []): Promise<Command> {
  const face = ['--managed', join(place.root, 'agents'), '--managed-lease', lease, '--managed-url', publicUrl(port)];
  const command = place.start(['serve', '--port', `${port}`, ...face, ...flags]);
  await until(() => command.out().includes('page '));
  onTestFinished(() => command.signal('SIGKILL'));
  return command;
}

export type Options = {
  readonly policy?: 'always_allow' | 'always_ask';
  readonly lease?: string;
  /** Tools besides the toolset. */
  readonly tools?: NonNullable<AgentCreateParams['tools']>;
  /** Flags of `perdure serve`. */
  readonly flags?: readonly string[];
  readonly webhooks?: readonly WebhookEndpoint[];
};

/** `script` gets the file that effects are written to. */
export async function managed(
  script: (log: string) => readonly Reply[],
  { policy = 'always_allow', lease, flags = [], tools = [], webhooks }: Options = {},
) {
  const log = join(tempDir(), 'log');
  const model = await modelFor(script(log));
  const place = cliPlace(model);
  if (webhooks) configureManaged(place, { webhooks });
  const port = await findFreePort();
  const server = await serve(place, port, lease, flags);
  const apiKey = (await place.run('serve', '--token')).out.trim();
  const baseURL = `http://127.0.0.1:${port}`;
  const client = new Anthropic({ apiKey, authToken: null, baseURL, logLevel: 'off' });
  const worker = await readyWorker(place);
  const environment = (await client.beta.environments.create({ name: 'own', config: { type: 'self_hosted' } })).id;
  const key = (await place.run('environments', 'key', environment)).out.trim();
  const agent = await client.beta.agents.create({
    name: 'Coder',
    model: 'claude-sonnet-5-5',
    tools: [{ type: 'agent_toolset_20260401', default_config: { permission_policy: { type: policy } } }, ...tools],
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
    log,
  };
}

export type Managed = Awaited<ReturnType<typeof managed>>;

const program = join(import.meta.dirname, 'worker.mjs');

/** A worker of the environment with a folder of its own. */
export function sandbox(
  { place, baseURL, environment, key }: Managed,
  mode = 'plain',
  env: Readonly<Record<string, string>> = {},
): ChildProcess & { said: () => string } {
  const folder = join(place.root, `sandbox-${Math.random().toString(36).slice(2)}`);
  mkdirSync(folder);
  const child = spawn(process.execPath, [program, baseURL, environment, key, folder, mode], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: folder, ...env },
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (said += bytes.toString()));
  onTestFinished(() => void child.kill('SIGKILL'));
  return Object.assign(child, { said: () => said });
}

export async function listed(client: Anthropic, session: string): Promise<readonly Event[]> {
  const events: Event[] = [];
  for await (const event of client.beta.sessions.events.list(session)) events.push(event);
  return events;
}

export const say = (client: Anthropic, session: string, words: string) =>
  client.beta.sessions.events.send(session, {
    events: [{ type: 'user.message', content: [{ type: 'text', text: words }] }],
  });

export const isTurnEnd = (event: Event): boolean =>
  event.type === 'session.status_idle' && event.stop_reason.type === 'end_turn';

export async function turnEnd({ client, session }: Managed, turns = 1): Promise<readonly Event[]> {
  let events: readonly Event[] = [];
  await until(async () => (events = await listed(client, session)).filter(isTurnEnd).length === turns);
  return events;
}

export const linesOf = (path: string): readonly string[] =>
  existsSync(path)
    ? readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    : [];

export const resultsIn = (events: readonly Event[]) => events.filter((event) => event.type === 'user.tool_result');

/** Every call has exactly one result, and what is told twice is the same. */
export async function expectWhole({ client, session }: Managed, events: readonly Event[]): Promise<void> {
  expect(await listed(client, session)).toEqual(events);
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  const times = events.map(({ processed_at }) => String(processed_at));
  expect(times).toEqual(times.toSorted());
  const calls = events.filter(({ type }) => type === 'agent.tool_use').map(({ id }) => id);
  expect(resultsIn(events).map((event) => event.tool_use_id)).toEqual(calls);
}

export const bash = (command: string) => reply([toolUse('bash', { command })]);

export const append = (log: string, word: string): string => `echo ${word} >> ${log}`;

/** A command that has begun, and does not end before `letGo`, whoever is killed. */
export const holding = (log: string, word: string): string =>
  `${append(log, word)}; while [ ! -e ${log}.go ]; do sleep 0.1; done`;

export const letGo = ({ log }: Pick<Managed, 'log'>): void => writeFileSync(`${log}.go`, '');
