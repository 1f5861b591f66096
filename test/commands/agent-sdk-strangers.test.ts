// Programs that ask for somebody: servers with a query() a request, and scripts of every night.
// What one asked is never another's, however the process ended; under a name that the program gave,
// what is asked again goes on.
import { spawn } from 'node:child_process';
import { randomUUID, type UUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { query } from '../../client/agent-sdk/query.ts';
import type { SDKMessage, SDKResultSuccess, SDKUserMessage } from '../../client/agent-sdk/shapes/messages.ts';
import type { QueryPrompt } from '../../client/agent-sdk/shapes/query.ts';
import { gate, reply, type ScriptedModelOptions } from '../../scripted-model/index.ts';
import { cliPlace, modelFor } from '../support/cli.ts';
import { oneRuntime } from '../support/one-runtime.ts';
import { until } from '../support/until.ts';

const SDK = JSON.stringify(join(import.meta.dirname, '../../dist/client/agent-sdk/index.js'));

/** Each request asks the same words with the same options: who asks, only the server knows. */
const SERVER = `
  const { query } = await import(${SDK});
  const { createServer } = await import('node:http');
  const server = createServer(async (request, response) => {
    const told = [];
    const id = request.headers['x-request'];
    const options = { permissionMode: 'bypassPermissions', ...(id && { sessionId: id }) };
    try {
      for await (const { type, session_id, result } of query({ prompt: 'What is my balance?', options }))
        told.push({ type, session: session_id, result });
    } catch (error) {
      told.push({ type: 'error', result: error.message });
    }
    response.end(JSON.stringify(told));
  });
  server.listen(0, '127.0.0.1', () => console.log('port ' + server.address().port));`;

type Told = { readonly type: string; readonly session: string; readonly result?: string };

function servers(place: ReturnType<typeof cliPlace>) {
  return async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', SERVER], { ...place, stdio: 'pipe' });
    onTestFinished(() => void child.kill('SIGKILL'));
    let [out, err] = ['', ''];
    child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()));
    child.stderr.on('data', (bytes: Buffer) => (err += bytes.toString()));
    await until(() => /port \d+/.test(out));
    const url = `http://127.0.0.1:${/port (\d+)/.exec(out)?.[1]}`;
    return {
      err: () => err,
      ask: async (request?: string): Promise<readonly Told[]> => {
        const headers = request === undefined ? {} : { 'x-request': request };
        return (await (await fetch(url, { headers })).json()) as readonly Told[];
      },
      stop: async (signal: NodeJS.Signals) => {
        const ended = once(child, 'exit');
        child.kill(signal);
        await ended;
      },
    };
  };
}

const counted = (): ScriptedModelOptions['script'] => {
  let replies = 0;
  return () => reply(`Answer ${(replies += 1)}.`);
};

test.each(['SIGTERM', 'SIGKILL'] as const)(
  'a server that %s ended gives nobody the answer of another, nor what another was in the middle of (Q9)',
  async (signal) => {
    const held = gate();
    onTestFinished(held.release);
    let replies = 0;
    const model = await modelFor(() => {
      replies += 1;
      const answer = reply(`Answer ${replies}.`);
      return replies === 2 ? { ...answer, hold: held.hold, holdAfterEvent: 2 } : answer;
    });
    const start = servers(cliPlace(model));
    const first = await start();
    const ada = await first.ask();
    const cut = first.ask().catch(() => null);
    await until(() => model.requests.length === 2);
    await first.stop(signal);
    expect(await cut).toBeNull();

    const second = await start();
    const bob = await second.ask();
    expect(bob.map(({ type }) => type)).toEqual(['system', 'assistant', 'result']);
    expect(bob.at(-1)?.result).not.toBe(ada.at(-1)?.result);
    const [, lost] =
      /session (\S+), which an earlier process of this program began, was cut off/.exec(second.err()) ?? [];
    expect(lost).toEqual(expect.any(String));
    expect(new Set([...ada, ...bob].map(({ session }) => session)).size).toBe(2);
    expect(bob.map(({ session }) => session)).not.toContain(lost);
  },
);

test('a request that is sent again under its sessionId goes on after a kill, and is answered from the store later (Q9)', async () => {
  const held = gate();
  onTestFinished(held.release);
  let replies = 0;
  const model = await modelFor(() => {
    replies += 1;
    return replies === 1 ? { ...reply('Cut off.'), hold: held.hold, holdAfterEvent: 2 } : reply(`Answer ${replies}.`);
  });
  const start = servers(cliPlace(model));
  const first = await start();
  const cut = first.ask('request-1').catch(() => null);
  await until(() => model.requests.length === 1);
  await first.stop('SIGKILL');
  expect(await cut).toBeNull();

  const second = await start();
  const gone = await second.ask('request-1');
  expect(gone.at(-1)).toEqual({ type: 'result', session: 'request-1', result: 'Answer 2.' });
  const again = await second.ask('request-1');
  expect(again.map(({ type }) => type)).toEqual(['system', 'result']);
  expect(again.at(-1)).toEqual(gone.at(-1));
  const other = await second.ask('request-2');
  expect(other.at(-1)).toEqual({ type: 'result', session: 'request-2', result: 'Answer 3.' });
  expect(model.requests).toHaveLength(3);
});

/** Fails in its own code once it has the report. */
const NIGHTLY = `
  const { query } = await import(${SDK});
  const systemPrompt = process.env.STYLE;
  for await (const { type, result } of query({ prompt: 'Report.', options: { ...(systemPrompt && { systemPrompt }) } }))
    if (type === 'result') console.log(result);
  if (process.env.MAIL_DOWN) throw new Error('mail server down');`;

test('a script of every night gets a report of its own each night, whether it failed the night before or not (Q9)', async () => {
  const model = await modelFor(counted());
  const { cwd, env } = cliPlace(model);
  const night = async (more: Readonly<Record<string, string>> = {}) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', NIGHTLY], {
      cwd,
      env: { ...env, ...more },
      stdio: 'pipe',
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    let out = '';
    child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()));
    const [status] = (await once(child, 'close')) as [number | null];
    return [status, out.trim()];
  };
  expect(await night({ MAIL_DOWN: '1' })).toEqual([1, 'Answer 1.']);
  expect(await night()).toEqual([0, 'Answer 2.']);
  expect(await night()).toEqual([0, 'Answer 3.']);
  // A name is an idempotency key, for what is asked in the same way.
  const named = { PERDURE_SESSION: 'report of 27 November' };
  expect(await night({ ...named, MAIL_DOWN: '1' })).toEqual([1, 'Answer 4.']);
  expect(await night(named)).toEqual([0, 'Answer 4.']);
  expect(await night({ ...named, STYLE: 'Be brief.' })).toEqual([0, 'Answer 5.']);
});

test('a message with a uuid is sent to its session once, and its result comes again to whoever sends it again (Q9)', async () => {
  oneRuntime();
  const model = await modelFor(counted());
  const { cwd, env } = cliPlace(model);
  const ask = async (prompt: QueryPrompt, resume?: string) => {
    const options = { cwd, env, stderr: () => undefined, ...(resume !== undefined && { resume }) };
    const told: SDKMessage[] = [];
    for await (const message of query({ prompt, options })) told.push(message);
    return told.at(-1) as SDKResultSuccess;
  };
  async function* one(uuid: UUID): AsyncGenerator<SDKUserMessage> {
    yield { type: 'user', message: { role: 'user', content: 'Yes.' }, parent_tool_use_id: null, uuid };
  }
  const { session_id: session } = await ask('Shall I?');
  const turn = randomUUID();
  const [first, again] = [await ask(one(turn), session), await ask(one(turn), session)];
  expect([first.result, again.result, again.uuid]).toEqual(['Answer 2.', 'Answer 2.', first.uuid]);
  // Without one the same words are the next turn.
  expect((await ask('Yes.', session)).result).toBe('Answer 3.');
  expect((await ask('Yes.', session)).result).toBe('Answer 4.');
});
