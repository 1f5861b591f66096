// Deployments as a program of the SDK meets them: `perdure serve` and a worker in processes of their
// own, both killed between a real firing and its first event.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { expect, onTestFinished, test } from 'vitest';
import { openDataFolder } from '../../connection/data-folder.ts';
import { reply } from '../../scripted-model/index.ts';
import { findFreePort } from '../../worker/embedded/free-port.ts';
import { findRunningServer } from '../../worker/embedded/server-record.ts';
import { cliPlace, modelFor, readyWorker } from '../support/cli.ts';
import { until } from '../support/until.ts';
import { serve } from './sandbox/stage.ts';
import { AGENT, collect, text } from './staged.ts';

test('a firing has one session and one first message over kill -9 of worker and server in it (G71)', async () => {
  const model = await modelFor(['By hand.', ...Array<string>(5).fill('Reported.')].map((words) => reply(words)));
  const place = cliPlace(model);
  const port = await findFreePort();
  const server = await serve(place, port);
  const apiKey = (await place.run('serve', '--token')).out.trim();
  const options = { apiKey, authToken: null, baseURL: `http://127.0.0.1:${port}`, logLevel: 'off' } as const;
  const { agents, deployments, deploymentRuns, sessions } = new Anthropic(options).beta;
  const worker = await readyWorker(place);
  const agent = await agents.create(AGENT);
  const system = { type: 'system.message' as const, content: [{ type: 'text' as const, text: 'Be brief.' }] };
  const deployment = await deployments.create({
    name: 'Report',
    agent: agent.id,
    environment_id: 'env_default',
    initial_events: [text('Report.'), system],
  });
  const isIdle = async (id: string): Promise<boolean> => (await sessions.retrieve(id)).status === 'idle';
  const manual = await deployments.run(deployment.id);
  await until(() => isIdle(manual.session_id ?? ''));
  process.kill(worker.pid, 'SIGKILL');
  await worker.status;
  await deployments.update(deployment.id, { schedule: { type: 'cron', expression: '* * * * *', timezone: 'UTC' } });
  // The session is about to get its first event, and does not while Temporal stands still.
  const temporal = findRunningServer(openDataFolder(place.env))!.pid;
  process.kill(temporal, 'SIGSTOP');
  onTestFinished(() => void process.kill(temporal, 'SIGCONT'));
  await until(() => recordsOf(place.data).filter((record) => record.includes('isStarting')).length > 2);
  expect(await collect(deploymentRuns.list({ trigger_type: 'schedule' }))).toEqual([]);
  server.signal('SIGKILL');
  await server.status;
  process.kill(temporal, 'SIGCONT');
  await serve(place, port);
  await deployments.pause(deployment.id);
  await readyWorker(place);
  const run = await until(async () => (await collect(deploymentRuns.list({ trigger_type: 'schedule' }))).at(-1));
  const created = await collect(sessions.list({ deployment_id: deployment.id, order: 'asc' }));
  expect(created.map(({ id }) => id).slice(0, 2)).toEqual([manual.session_id, run.session_id]);
  const fired = created[1]!;
  expect(run).toMatchObject({ deployment_id: deployment.id, error: null, trigger_context: { type: 'schedule' } });
  await until(async () => (await isIdle(fired.id)) && (await collect(sessions.events.list(fired.id))).length > 0);
  const events = await collect(sessions.events.list(fired.id));
  expect(events.filter(({ type }) => type === 'user.message' || type === 'system.message')).toMatchObject([
    text('Report.'),
    system,
  ]);
  expect(events.filter(({ type }) => type === 'agent.message')).toMatchObject([
    { content: [{ type: 'text', text: 'Reported.' }] },
  ]);
});

/** Records of the log of sessions. */
const recordsOf = (data: string): readonly string[] =>
  readdirSync(data, { recursive: true, encoding: 'utf8' })
    .filter((path) => /managed\/sessions-\d+\/\d+$/.test(path))
    .map((path) => readFileSync(join(data, path), 'utf8'));
