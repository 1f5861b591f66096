import { expect, onTestFinished, test } from 'vitest';
import { attemptReply } from '../../activities/model/attempt-reply.ts';
import { classifyFailure } from '../../activities/model/classify.ts';
import type { Network } from '../../system/network.ts';
import { openClient, openModelAccess } from '../../worker/model-access.ts';
import { reply, startScriptedModel } from '../../scripted-model/index.ts';

const nothing = (): void => {};

async function answers(env: NodeJS.ProcessEnv): Promise<boolean> {
  const model = await startScriptedModel({ script: [reply('Hi.')] });
  onTestFinished(() => model.close());
  const access = await openModelAccess({ ...env, ANTHROPIC_BASE_URL: model.url });
  const attempted = await attemptReply(
    { model: 'm', max_tokens: 10, stream: true, messages: [{ role: 'user', content: 'Hi.' }] },
    {
      model: access.model,
      signal: new AbortController().signal,
      firstByteMs: 10_000,
      stallMs: 10_000,
      graceMs: 0,
      plan: () => ({ safe: false, plan: 'regular', run: () => Promise.resolve(null) }),
      say: { start: nothing, text: nothing, thinking: nothing, call: nothing, search: nothing },
    },
  );
  return attempted.kind === 'judged';
}

test.each([
  ['a key', { ANTHROPIC_API_KEY: 'key' }],
  ['a key with the line end of the file it was read from', { ANTHROPIC_API_KEY: 'key\n' }],
  ['a token', { ANTHROPIC_AUTH_TOKEN: 'token' }],
  ['a key and a token', { ANTHROPIC_API_KEY: 'key', ANTHROPIC_AUTH_TOKEN: 'token' }],
  ['an empty key and a token', { ANTHROPIC_API_KEY: '', ANTHROPIC_AUTH_TOKEN: 'token' }],
  ['no key, for a server that wants none', { ANTHROPIC_API_KEY: '', ANTHROPIC_AUTH_TOKEN: '' }],
])('the model is reached with %s', async (_what, env) => {
  expect(await answers(env)).toBe(true);
});

test.each([
  ['a key of two lines', { ANTHROPIC_API_KEY: 'sk-CANARY\nmore' }],
  ['a key with a letter that no header has', { ANTHROPIC_API_KEY: 'sk-CANARY…' }],
  ['a token of two words', { ANTHROPIC_AUTH_TOKEN: 'Bearer CANARY' }],
  ['an address that is none', { ANTHROPIC_BASE_URL: 'CANARY' }],
  ['an address of another kind', { ANTHROPIC_BASE_URL: 'ftp://CANARY' }],
  ['a password in the address', { ANTHROPIC_BASE_URL: 'http://me:CANARY@127.0.0.1' }],
])('%s is refused in a sentence that does not repeat it, before any request could', async (_what, env) => {
  const error = await openModelAccess(env).catch((problem: unknown) => problem);
  expect(error).toMatchObject({ name: 'SetupProblem', message: expect.stringMatching(/^ANTHROPIC_[A-Z_]+ (is|has) /) });
  expect(String(error)).not.toContain('CANARY');
});

test('blank variables are as good as none: the scripted model answers', async () => {
  const access = await openModelAccess({ ANTHROPIC_API_KEY: ' ', ANTHROPIC_BASE_URL: '' });
  onTestFinished(() => access.close());
  expect(access.scripted).toBe(true);
});

test.each([
  [{ ANTHROPIC_API_KEY: 'k' }, 'ANTHROPIC_API_KEY was rejected by gateway.test:8080: check or replace it'],
  [{ ANTHROPIC_AUTH_TOKEN: 't' }, 'ANTHROPIC_AUTH_TOKEN was rejected by gateway.test:8080: check or replace it'],
  [{}, 'gateway.test:8080 wants a key: set ANTHROPIC_API_KEY'],
])('a 401 names the variable and the server, also where the server names another: %j', async (env, words) => {
  const body = JSON.stringify({ type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } });
  const headers = { 'content-type': 'application/json', 'x-perdure-credential': 'EVIL@evil.test' };
  const fetch = (): Promise<Response> => Promise.resolve(new Response(body, { status: 401, headers }));
  const base = { ANTHROPIC_BASE_URL: 'http://gateway.test:8080' };
  const { client } = openClient({ ...base, ...env }, { fetch } as unknown as Network);
  const asked = (await client()).messages.create({ model: 'm', max_tokens: 1, messages: [] }, { maxRetries: 0 });
  const error: unknown = await asked.catch((failure: unknown) => failure);
  const verdict = classifyFailure(error, 0, (text) => text);
  const detail = `401: invalid x-api-key (${words} where the worker runs)`;
  expect(verdict).toEqual({ kind: 'failed', status: 401, detail });
});
