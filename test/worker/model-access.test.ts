import { expect, it, onTestFinished } from 'vitest';
import { attemptReply } from '../../activities/model/attempt-reply.ts';
import { modelAccess } from '../../worker/model-access.ts';
import { reply, startScriptedModel } from '../../worker/scripted-model/index.ts';

const nothing = (): void => {};

async function answers(env: NodeJS.ProcessEnv): Promise<boolean> {
  const model = await startScriptedModel({ script: [reply('Hi.')] });
  onTestFinished(() => model.close());
  const access = await modelAccess({ ...env, ANTHROPIC_BASE_URL: model.url });
  const attempted = await attemptReply(
    { model: 'm', max_tokens: 10, stream: true, messages: [{ role: 'user', content: 'Hi.' }] },
    {
      model: access.model,
      signal: new AbortController().signal,
      stallMs: 10_000,
      graceMs: 0,
      now: Date.now,
      traits: () => ({ safe: false, early: false }),
      run: () => Promise.resolve(null),
      say: { start: nothing, text: nothing, thinking: nothing, call: nothing },
    },
  );
  return attempted.kind === 'judged';
}

it.each([
  ['a key', { ANTHROPIC_API_KEY: 'key' }],
  ['a key with the line end of the file it was read from', { ANTHROPIC_API_KEY: 'key\n' }],
  ['a token', { ANTHROPIC_AUTH_TOKEN: 'token' }],
  ['a key and a token', { ANTHROPIC_API_KEY: 'key', ANTHROPIC_AUTH_TOKEN: 'token' }],
  ['an empty key and a token', { ANTHROPIC_API_KEY: '', ANTHROPIC_AUTH_TOKEN: 'token' }],
  ['no key, for a server that wants none', { ANTHROPIC_API_KEY: '', ANTHROPIC_AUTH_TOKEN: '' }],
])('the model is reached with %s', async (_what, env) => {
  expect(await answers(env)).toBe(true);
});
