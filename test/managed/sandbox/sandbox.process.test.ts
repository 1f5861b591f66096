// Self-hosted environments end to end: the SDK's own worker in a process of its own, `perdure serve`
// and a worker of Perdure in others, a scripted model. Effects are lines of a file outside.
import { existsSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { sessionsTokenFromSecret } from '@anthropic-ai/sdk/lib/environments/worker';
import { expect, onTestFinished, test } from 'vitest';
import { reply, toolUse } from '../../../scripted-model/index.ts';
import { readyWorker } from '../../support/cli.ts';
import { until } from '../../support/until.ts';
import {
  append,
  bash,
  type Event,
  expectWhole,
  holding,
  letGo,
  linesOf,
  listed,
  managed,
  type Managed,
  type Options,
  publicUrl,
  resultsIn,
  sandbox,
  say,
  serve,
  turnEnd,
} from './stage.ts';

test('a session runs its tools in a sandbox of its own, and says what it waits for (G74 G37)', async () => {
  const at = await managed(() => [
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

const LOST = /outcome unknown/;

const begun = ({ log }: Managed, count: number) => until(() => linesOf(log).length === count);

/** Whether the model was told that the outcome of each call is unknown. */
const unknownIn = (events: readonly Event[]): readonly boolean[] =>
  resultsIn(events).map((event) => LOST.test(JSON.stringify(event.content)));

test('a sandbox that is killed in a command: its outcome is unknown, and nothing is done twice (G60 B1)', async () => {
  const at = await managed((log) => [bash(holding(log, 'one')), bash(append(log, 'two')), reply('Done.')], {
    lease: '20s',
  });
  const first = sandbox(at);
  await say(at.client, at.session, 'Go.');
  await begun(at, 1);
  first.kill('SIGKILL');
  letGo(at);
  sandbox(at);
  const events = await turnEnd(at);
  await expectWhole(at, events);
  expect(linesOf(at.log)).toEqual(['one', 'two']);
  expect(unknownIn(events)).toEqual([true, false]);
  expect(resultsIn(events).map(({ is_error }) => is_error)).toEqual([true, false]);
});

/** What the SDK's worker logs when a heartbeat is refused, and when it is answered without an extension. */
const SHUTS_DOWN = /lease not extended|lease lost|permanent heartbeat failure/;

test('a sandbox that is frozen past its lease changes nothing when it goes on (G58 G62)', async () => {
  const at = await managed((log) => [bash(holding(log, 'one')), bash(append(log, 'two')), reply('Done.')], {
    lease: '20s',
  });
  const frozen = sandbox(at);
  await say(at.client, at.session, 'Go.');
  await begun(at, 1);
  frozen.kill('SIGSTOP');
  sandbox(at);
  const events = await turnEnd(at);
  frozen.kill('SIGCONT');
  letGo(at);
  await until(() => SHUTS_DOWN.test(frozen.said()));
  await expectWhole(at, events);
  expect(linesOf(at.log)).toEqual(['one', 'two']);
  expect(unknownIn(events)).toEqual([true, false]);
});

/** Takes the item of a session whose call waits, as a worker that sends one heartbeat by itself. */
async function takeItem({ client, session, baseURL, environment, key }: Managed) {
  await until(async () => (await listed(client, session)).some(({ type }) => type === 'session.status_idle'));
  const { work } = new Anthropic({ baseURL, apiKey: null, authToken: key, logLevel: 'off' }).beta.environments;
  const { id, secret } = await until(() => work.poll(environment, { block_ms: 500 }));
  const authToken = sessionsTokenFromSecret(secret);
  const own = new Anthropic({ baseURL, apiKey: null, authToken, logLevel: 'off', maxRetries: 0 });
  const beat = (expected_last_heartbeat: string) =>
    own.beta.environments.work.heartbeat(id, { environment_id: environment, expected_last_heartbeat });
  await own.beta.environments.work.ack(id, { environment_id: environment });
  const { last_heartbeat } = await beat('NO_HEARTBEAT');
  return { own, work: id, beat: () => beat(last_heartbeat) };
}

test('a result that comes after its call was concluded changes nothing, and the model is told (G50 G58)', async () => {
  const at = await managed((log) => [bash(append(log, 'one')), reply('Unknown.'), reply('I see.'), reply('Well.')], {
    lease: '20s',
  });
  await say(at.client, at.session, 'Go.');
  const { own, work } = await takeItem(at);
  const call = (await listed(own, at.session)).find((event) => event.type === 'agent.tool_use')!;
  const events = await turnEnd(at);
  expect(unknownIn(events)).toEqual([true]);
  const late = () =>
    own.beta.sessions.events.send(at.session, {
      events: [{ type: 'user.tool_result', tool_use_id: call.id, content: [{ type: 'text', text: 'It was done.' }] }],
    });
  for (const _ of [1, 2]) await expect(late()).rejects.toMatchObject({ status: 403 });
  expect(await listed(at.client, at.session)).toEqual(events);
  expect(await at.client.get(`/v1/x/perdure/sessions/${at.session}/refused`)).toMatchObject({
    data: [{ tool_use_id: call.id, reason: 'late', work_id: work, content: [{ text: 'It was done.' }] }],
  });
  for (const words of ['And?', 'Well?']) {
    await say(at.client, at.session, words);
    await turnEnd(at, words === 'And?' ? 2 : 3);
  }
  const asked = at.model.requests.map(
    ({ body }) => JSON.stringify(body).split('arrived late: the result of bash').length,
  );
  expect(asked.slice(-3)).toEqual([1, 2, 2]);
});

test('workers that leave five items in a row without a heartbeat are told as an error, once (G78)', async () => {
  const at = await managed((log) => [bash(append(log, 'one')), reply('Done.')]);
  const { work } = new Anthropic({ baseURL: at.baseURL, apiKey: null, authToken: at.key }).beta.environments;
  await say(at.client, at.session, 'Go.');
  for (let n = 0; n < 6; n += 1) {
    const { id } = await until(() => work.poll(at.environment, { block_ms: 500 }));
    await work.stop(id, { environment_id: at.environment });
  }
  sandbox(at);
  const events = await turnEnd(at);
  await expectWhole(at, events);
  const errors = events.filter((event) => event.type === 'session.error');
  expect(errors).toMatchObject([{ error: { retry_status: { type: 'retrying' } } }]);
  expect(linesOf(at.log)).toEqual(['one']);
});

test('an interrupt is told first, then the one result of the call that a sandbox runs, and the turn ends (G96)', async () => {
  const at = await managed((log) => [bash(holding(log, 'one')), reply('Never.')]);
  sandbox(at);
  await say(at.client, at.session, 'Go.');
  await begun(at, 1);
  await at.client.beta.sessions.events.send(at.session, { events: [{ type: 'user.interrupt' }] });
  await until(async () => (await listed(at.client, at.session)).some(({ type }) => type === 'user.interrupt'));
  letGo(at);
  const events = await turnEnd(at);
  await expectWhole(at, events);
  const types = events.map(({ type }) => type);
  expect(types.indexOf('user.interrupt')).toBeLessThan(types.indexOf('user.tool_result'));
});

test('a custom tool of workers is theirs alone, and a worker without calls is asked to stop (G57 G97)', async () => {
  const order = {
    type: 'custom',
    name: 'get_order',
    description: 'Looks up an order.',
    input_schema: { type: 'object' },
  } as const;
  const flags = ['--managed-worker-tools', 'get_price, get_order', '--managed-idle-lease', '10s'];
  const at = await managed(() => [reply([toolUse('get_order', { id: '7' })]), reply('Done.')], {
    flags,
    tools: [order],
  });
  await say(at.client, at.session, 'Go.');
  const { own, beat } = await takeItem(at);
  const call = (await listed(own, at.session)).find((event) => event.type === 'agent.custom_tool_use')!;
  const give = (client: Anthropic) =>
    client.beta.sessions.events.send(at.session, {
      events: [
        { type: 'user.custom_tool_result', custom_tool_use_id: call.id, content: [{ type: 'text', text: '7' }] },
      ],
    });
  await expect(give(at.client)).rejects.toMatchObject({ status: 400 });
  await give(own);
  await turnEnd(at);
  await until(async () => (await beat()).state === 'stopping');
});

test('a server that is killed meanwhile loses no call and no result (G76)', async () => {
  const at = await managed((log) => [bash(holding(log, 'one')), bash(append(log, 'two')), reply('Done.')]);
  sandbox(at);
  await say(at.client, at.session, 'Go.');
  await begun(at, 1);
  process.kill(at.server.pid, 'SIGKILL');
  await at.server.status;
  letGo(at);
  await serve(at.place, at.port);
  const events = await turnEnd(at);
  await expectWhole(at, events);
  expect(linesOf(at.log)).toEqual(['one', 'two']);
  expect(unknownIn(events)).toEqual([false, false]);
});

test('a worker of Perdure that is killed meanwhile changes nothing for the sandbox (G76)', async () => {
  const at = await managed((log) => [bash(holding(log, 'one')), bash(append(log, 'two')), reply('Done.')]);
  sandbox(at);
  await say(at.client, at.session, 'Go.');
  await begun(at, 1);
  process.kill(at.worker.pid, 'SIGKILL');
  await at.worker.status;
  letGo(at);
  await readyWorker(at.place);
  const events = await turnEnd(at);
  await expectWhole(at, events);
  expect(linesOf(at.log)).toEqual(['one', 'two']);
  expect(unknownIn(events)).toEqual([false, false]);
});

test('silent commands, 100 KiB and bytes that are no text have results (G48 B6)', async () => {
  const at = await managed(() => [
    bash('true'),
    bash('yes 1234567 | head -c 102400'),
    bash('head -c 300 /dev/urandom'),
    bash("printf '\\377\\376'; exit 3"),
    reply('Done.'),
  ]);
  sandbox(at);
  await say(at.client, at.session, 'Go.');
  const events = await turnEnd(at);
  await expectWhole(at, events);
  const results = resultsIn(events);
  expect(results).toHaveLength(4);
  expect(results[0]?.content).toEqual([{ type: 'text', text: '(no output)' }]);
  expect(JSON.stringify(results[1]?.content).length).toBeGreaterThan(100_000);
  expect(results.at(-1)?.is_error).toBe(true);
});

test('fenced tools run, with a key of their call, and not once their call is over (G62)', async () => {
  const at = await managed((log) => [bash(`echo $PERDURE_IDEMPOTENCY_KEY >> ${log}`), reply('Done.')]);
  sandbox(at, 'fenced');
  await say(at.client, at.session, 'Go.');
  const events = await turnEnd(at);
  await expectWhole(at, events);
  const [call] = resultsIn(events);
  expect(linesOf(at.log)).toEqual([`${at.session}.${call?.tool_use_id}`]);
});

/** Stands before the server, and loses the first answers that show a call. */
async function losing(
  { port }: Managed,
  losses: number,
): Promise<{ readonly url: string; readonly lost: () => number }> {
  let lost = 0;
  const proxy = createServer((incoming, response) => {
    const { method, url, headers } = incoming;
    const onward = request({ host: '127.0.0.1', port, method, path: url, headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.on('data', (bytes: Buffer) => {
        if (response.destroyed) return;
        if (lost < losses && bytes.includes('"agent.tool_use"')) {
          lost += 1;
          incoming.socket.destroy();
        } else response.write(bytes);
      });
      answer.on('end', () => response.end());
      answer.on('error', () => response.destroy());
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => void onward.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    proxy.close();
    proxy.closeAllConnections();
  });
  const address = proxy.address() as AddressInfo;
  return { url: `http://127.0.0.1:${address.port}`, lost: () => lost };
}

test('a call that is lost on its way to a fenced worker is shown again, and runs once (G57 G62)', async () => {
  const at = await managed((log) => [bash(append(log, 'one')), bash(append(log, 'two')), reply('Done.')]);
  const { url, lost } = await losing(at, 3);
  sandbox({ ...at, baseURL: url }, 'fenced');
  await say(at.client, at.session, 'Go.');
  const events = await turnEnd(at);
  await expectWhole(at, events);
  expect([lost(), linesOf(at.log), unknownIn(events)]).toEqual([3, ['one', 'two'], [false, false]]);
});

test('a dispatcher whose script returns at once has handed the item over: the session ends (G78 B4)', async () => {
  const at = await managed((log) => [bash(append(log, 'one')), reply('Done.')]);
  const dispatcher = sandbox(at, 'dispatch');
  await say(at.client, at.session, 'Go.');
  const events = await turnEnd(at);
  await expectWhole(at, events);
  expect(linesOf(at.log)).toEqual(['one']);
  expect(dispatcher.said()).toContain(`spawned ${publicUrl(at.port)}\n`);
  // A process that starts too late on a busy machine has lost its lease, and another one follows.
  expect(dispatcher.said().match(/spawned/g)?.length).toBeLessThanOrEqual(5);
});

test('of two workers that take one item by the key of the environment, one serves it (G77 B3)', async () => {
  const at = await managed((log) => [bash(append(log, 'one')), bash(append(log, 'two')), reply('Done.')]);
  const { environment, session, key } = at;
  const { work } = at.client.withOptions({ apiKey: null, authToken: key }).beta.environments;
  await say(at.client, session, 'Go.');
  const item = await until(() => work.poll(environment));
  await work.ack(item.id, { environment_id: environment });
  const names = { ANTHROPIC_WORK_ID: item.id, ANTHROPIC_SESSION_ID: session, ANTHROPIC_ENVIRONMENT_ID: environment };
  const both = [sandbox(at, 'handle', names), sandbox(at, 'handle', names)];
  const events = await turnEnd(at);
  await until(() => both.some(({ said }) => said().includes('heartbeat precondition failed')));
  await expectWhole(at, events);
  expect(linesOf(at.log)).toEqual(['one', 'two']);
});

const order: NonNullable<Options['tools']>[number] = {
  type: 'custom',
  name: 'get_order',
  description: 'Looks up an order.',
  input_schema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
};

test('a custom tool that a worker and an app serve at once has one result a call (G57 B8)', async () => {
  const asks = ['a', 'b', 'c', 'd'].map((id) => reply([toolUse('get_order', { id })]));
  const at = await managed((log) => [...asks, bash(append(log, 'one')), reply('Done.')], { tools: [order] });
  const answered: string[] = [];
  const own = betaTool({
    name: 'get_order',
    description: 'Looks up an order.',
    inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] } as const,
    run: ({ id }) => (answered.push(id), `the app has found ${id}`),
  });
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const app = at.client.beta.sessions.events.toolRunner(at.session, { tools: [own], signal: leaving.signal });
  const posted: string[] = [];
  const serving = (async () => {
    for await (const call of app) if (call.posted) posted.push(call.toolUseId);
  })();
  sandbox(at, 'custom');
  await say(at.client, at.session, 'Go.');
  const events = await turnEnd(at);
  leaving.abort();
  await serving;
  const calls = events.flatMap((event) => (event.type === 'agent.custom_tool_use' ? [event.id] : []));
  const results = events.filter((event) => event.type === 'user.custom_tool_result');
  expect(calls).toHaveLength(4);
  expect(results.map((event) => event.custom_tool_use_id)).toEqual(calls);
  const byApp = results.filter(({ content }) => JSON.stringify(content).includes('the app has found'));
  expect(byApp.map((event) => event.custom_tool_use_id)).toEqual(calls.filter((call) => posted.includes(call)));
  expect(await listed(at.client, at.session)).toEqual(events);
  expect(linesOf(at.log)).toEqual(['one']);
});

test('of two sandboxes that poll one environment, each call runs once (G76)', async () => {
  const at = await managed((log) => [bash(append(log, 'one')), bash(append(log, 'two')), reply('Done.')]);
  sandbox(at);
  sandbox(at);
  await say(at.client, at.session, 'Go.');
  const events = await turnEnd(at);
  await expectWhole(at, events);
  expect(linesOf(at.log)).toEqual(['one', 'two']);
});

test('a command that asks is confirmed while no sandbox is there, and denied while one is (G56 B7)', async () => {
  const commands = (log: string) => [bash(append(log, 'one')), bash(append(log, 'two')), reply('Done.')];
  const at = await managed(commands, { policy: 'always_ask' });
  await say(at.client, at.session, 'Go.');
  const confirm = async (count: number, result: 'allow' | 'deny'): Promise<void> => {
    const asked = await until(async () => {
      const uses = (await listed(at.client, at.session)).filter(({ type }) => type === 'agent.tool_use');
      return uses.length === count && uses.at(-1);
    });
    const event = { type: 'user.tool_confirmation' as const, tool_use_id: asked.id, result };
    await at.client.beta.sessions.events.send(at.session, { events: [event] });
  };
  await confirm(1, 'allow');
  const own = sandbox(at);
  await confirm(2, 'deny');
  const events = await turnEnd(at);
  expect(linesOf(at.log)).toEqual(['one']);
  expect(resultsIn(events)).toHaveLength(1);
  expect(events.filter(({ type }) => type === 'agent.tool_result')).toHaveLength(1);
  expect(own.said().match(/executing tool/g)).toHaveLength(1);
});
