// Deployments as a program of the SDK meets them: `perdure serve` and a worker in processes of their
// own, both killed between a real firing and its first event.
import Anthropic from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { reply } from '../../scripted-model/index.ts';
import { findFreePort } from '../../worker/embedded/free-port.ts';
import { cliPlace, modelFor, readyWorker } from '../support/cli.ts';
import { until } from '../support/until.ts';
import { serve } from './sandbox/stage.ts';
import { AGENT, collect, text } from './staged.ts';

test('a firing has one session and one first message over kill -9 of worker and server in it (G71)', async () => {
  const model = await modelFor([reply('Reported by hand.'), reply('Reported.')]);
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
  const fired = await until(async () => {
    const all = await collect(sessions.list({ deployment_id: deployment.id }));
    return all.find(({ id }) => id !== manual.session_id);
  });
  server.signal('SIGKILL');
  await server.status;
  await serve(place, port);
  await deployments.pause(deployment.id);
  await readyWorker(place);
  const runOf = async () => (await collect(deploymentRuns.list())).find(({ session_id }) => session_id === fired.id);
  const run = await until(runOf);
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
  const { trigger_context: of } = run;
  const same = (await collect(deploymentRuns.list({ deployment_id: deployment.id, trigger_type: 'schedule' }))).filter(
    ({ trigger_context: other }) => JSON.stringify(other) === JSON.stringify(of),
  );
  expect(same).toEqual([run]);
});
