import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadScript, parseScript, reply, toolUse } from '../../scripted-model/index.ts';
import { afterCalls, hello, model, post, refusal, sdk } from './support.ts';

const said = async (response: Response) =>
  ((await response.json()) as { content: { text: string }[] }).content[0]?.text;

test('replies are given in order, each as often as it says', async () => {
  const server = await model([reply('one'), reply('two', { times: 2 }), reply('three')]);
  const texts = [];
  for (let n = 0; n < 4; n += 1) texts.push(await said(await post(server, hello)));
  expect(texts).toEqual(['one', 'two', 'two', 'three']);
  expect(server.requests.map(({ step, status }) => [step, status])).toEqual([
    [0, 200],
    [1, 200],
    [1, 200],
    [2, 200],
  ]);
});

test('a script that has run out fails loudly and is not worth a retry', async () => {
  const server = await model([reply('one')]);
  await post(server, hello);
  const response = await refusal(await post(server, hello));
  const message = 'scripted model: the script has no reply for request 2';
  expect(response).toMatchObject({ status: 400, type: 'invalid_request_error', message });
  expect(server.problems).toEqual([message]);
});

test('with conditions on every reply, a request gets the same answer however often it is repeated', async () => {
  const call = reply([toolUse('read', {}, 'a')], { when: { lastUserText: 'hello' }, times: 'any' });
  const end = reply('done', { when: { toolResult: 'result of a' }, times: 'any' });
  const server = await model([call, end]);
  const results = { ...hello, messages: afterCalls('a') };
  for (const body of [results, hello, hello, results]) {
    expect((await (await post(server, body)).json()) as object).toMatchObject({
      stop_reason: body === hello ? 'tool_use' : 'end_turn',
    });
  }
});

test('conditions tell requests apart by results, system, model and cap', async () => {
  const server = await model([
    reply('results', { when: { hasToolResult: true } }),
    reply('system', { when: { system: 'pirate' } }),
    reply('model', { when: { model: 'claude-other' } }),
    reply('cap', { when: { maxTokens: 64_000 } }),
    reply('plain', { when: { hasToolResult: false } }),
  ]);
  const bodies = [
    hello,
    { ...hello, max_tokens: 64_000 },
    { ...hello, model: 'claude-other' },
    { ...hello, system: 'A pirate.' },
  ];
  const texts = [];
  for (const body of [...bodies, { ...hello, messages: afterCalls('a') }])
    texts.push(await said(await post(server, body)));
  expect(texts).toEqual(['plain', 'cap', 'model', 'system', 'results']);
});

test('an expectation that is not met is a problem, and the reply stays for the request that meets it', async () => {
  const server = await model([reply('ok', { expect: { lastUserText: 'goodbye' } })]);
  const { status, message } = await refusal(await post(server, hello));
  expect([status, message]).toEqual([
    400,
    'scripted model: replies.0: reply expected the last user text to include "goodbye", and got "hello"',
  ]);
  expect(server.problems).toEqual([message]);
  const goodbye = { ...hello, messages: [{ role: 'user', content: 'goodbye' }] };
  expect((await post(server, goodbye)).status).toBe(200);
});

test('a function is asked for each request, and what it throws is a problem', async () => {
  const server = await model((request, n) => {
    if (n === 2) throw new Error('no more');
    return reply(`${n}: ${request.messages.length}`);
  });
  expect(await said(await post(server, hello))).toBe('1: 1');
  expect((await refusal(await post(server, hello))).message).toBe(
    'scripted model: the script threw for request 2: Error: no more',
  );
  expect(server.problems).toHaveLength(1);
});

test.each([
  ['{"replies": [{"content": [{"type": "text"}]}]}', 'replies.0.content.0.text: '],
  ['{"replies": [{"content": [{"type": "speech", "text": "a"}]}]}', 'replies.0.content.0.type: '],
  ['{"replies": [{"texts": []}]}', 'replies.0: Unrecognized key: "texts"'],
  ['{"replies": [{"fault": {"status": 200}}]}', 'replies.0.fault.status: '],
  ['{"replies": [{"fault": {"status": 500, "cutAtByte": 1}}]}', 'replies.0.fault: names exactly one fault of status,'],
  [
    '{"replies": [{"fault": {"cutAtByte": 1, "retryAfter": 2}}]}',
    'replies.0.fault: retryAfter does not go with cutAtByte',
  ],
  ['{"replies": [{"times": 0}]}', 'replies.0.times: '],
  ['{"reply": []}', 'replies: '],
  ['{', 's.json is not JSON: '],
])('a mistake in a script names its place: %s', (json, message) => {
  expect(() => parseScript(json, 's.json')).toThrow(message);
});

test('a script is loaded from a file and served; a file that is not there is said so', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'scripted-model-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'script.json');
  await writeFile(file, JSON.stringify({ replies: [{ content: [{ type: 'text', text: 'from a file' }] }] }));
  const server = await model(await loadScript(file));
  expect((await sdk(server).messages.create(hello)).content).toMatchObject([{ text: 'from a file' }]);
  await expect(loadScript(join(folder, 'other.json'))).rejects.toThrow('other.json does not exist: name another');
});
