// Webhooks of `perdure serve` and workers in processes of their own (G70): killed while an endpoint
// has not answered, and sandboxes that webhooks alone start.
import type { ChildProcess } from 'node:child_process';
import { expect, test } from 'vitest';
import { reply } from '../../scripted-model/index.ts';
import { readyWorker } from '../support/cli.ts';
import { until } from '../support/until.ts';
import { typesOf, webhookReceiver } from '../support/webhook-receiver.ts';
import {
  append,
  bash,
  holding,
  letGo,
  linesOf,
  managed,
  type Managed,
  resultsIn,
  sandbox,
  say,
  turnEnd,
} from './sandbox/stage.ts';

test('an endpoint gets each in order, once by its id, over kill -9 of worker and server (G70)', async () => {
  let isBack = false;
  const receiver = await webhookReceiver(() => (isBack ? 204 : new Promise<number>(() => undefined)));
  const stage = await managed(() => [reply('Done.')], { webhooks: [receiver.endpoint()] });
  await say(stage.client, stage.session, 'Go.');
  await turnEnd(stage);
  await until(() => receiver.requests.length > 0);
  for (const command of [stage.worker, stage.server]) command.signal('SIGKILL');
  await Promise.all([stage.worker.status, stage.server.status]);
  isBack = true;
  await readyWorker(stage.place);
  await until(() => receiver.taken.length === 2);
  expect(typesOf(receiver.taken)).toEqual(['status_run_started', 'status_idled']);
  expect(receiver.requests.length).toBeGreaterThan(2);
  expect([...new Set(receiver.requests.map(({ id }) => id))]).toEqual(receiver.taken.map(({ id }) => id));
  expect(receiver.taken.map(({ data }) => 'id' in data && data.id)).toEqual([stage.session, stage.session]);
});

test('webhooks alone start the sandboxes of a session, also when one has died in a call (G70 G78)', async () => {
  const started: ChildProcess[] = [];
  let stage: Managed | undefined;
  const receiver = await webhookReceiver(async () => {
    if (stage) await drain(stage, started);
    return 204;
  });
  stage = await managed((log) => [bash(holding(log, 'one')), bash(append(log, 'two')), reply('Done.')], {
    webhooks: [receiver.endpoint(['session.status_run_started'])],
    lease: '20s',
  });
  const { client, session, log } = stage;
  await say(client, session, 'Go.');
  await until(() => linesOf(log).length === 1);
  started[0]?.kill('SIGKILL');
  letGo(stage);
  const events = await turnEnd(stage);
  expect(linesOf(log)).toEqual(['one', 'two']);
  expect(resultsIn(events)).toHaveLength(2);
  expect(started.length).toBeGreaterThanOrEqual(2);
});

/** Takes what the environment's queue holds, and starts a sandbox for each. */
async function drain(stage: Managed, started: ChildProcess[]): Promise<void> {
  const { client, environment: environmentId, key: environmentKey } = stage;
  const polling = { environmentId, environmentKey, drain: true, autoStop: false, blockMs: null };
  for await (const { id, data, secret } of client.beta.environments.work.poller(polling)) {
    const item = { ANTHROPIC_WORK_ID: id, ANTHROPIC_SESSION_ID: data.id, ANTHROPIC_WORK_SECRET: secret ?? '' };
    started.push(sandbox(stage, 'handle', { ...item, ANTHROPIC_ENVIRONMENT_ID: environmentId }));
  }
}
