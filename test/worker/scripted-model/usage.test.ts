import { expect, test } from 'vitest';
import { reply } from '../../../worker/scripted-model/index.ts';
import { hello, model, sdk } from './support.ts';

const mark = { cache_control: { type: 'ephemeral' as const } };
const system = [{ type: 'text' as const, text: 'You are a careful assistant. '.repeat(40), ...mark }];
const first = {
  role: 'user' as const,
  content: [{ type: 'text' as const, text: 'first question '.repeat(50), ...mark }],
};
const unmarked = { role: 'user' as const, content: 'first question '.repeat(50) };
const answer = { role: 'assistant' as const, content: 'an answer' };
const second = { role: 'user' as const, content: [{ type: 'text' as const, text: 'second question', ...mark }] };
const any = reply('ok', { times: 'any' });

test('an unchanged prefix is read from the cache on the next turn, and only what is new is written (L22)', async () => {
  const client = sdk(await model([any]));
  const one = (await client.messages.create({ ...hello, system, messages: [first] })).usage;
  expect(one).toMatchObject({ cache_read_input_tokens: 0, input_tokens: 0 });
  const written = one.cache_creation_input_tokens ?? 0;
  const two = (await client.messages.create({ ...hello, system, messages: [unmarked, answer, second] })).usage;
  expect(two.cache_read_input_tokens).toBe(written);
  expect(two.cache_creation_input_tokens).toBeGreaterThan(0);
  expect(two.cache_creation_input_tokens).toBeLessThan(20);
});

test('a changed system prompt, tool, model or earlier message loses the cache from there on', async () => {
  const client = sdk(await model([any]));
  const read = async (change: object) => {
    await client.messages.create({ ...hello, system, messages: [first] });
    return (await client.messages.create({ ...hello, system, messages: [first], ...change })).usage
      .cache_read_input_tokens;
  };
  const whole = await read({});
  expect(await read({ model: 'claude-other' })).toBe(0);
  expect(await read({ system: [{ ...system[0], text: 'You are another.' }] })).toBe(0);
  expect(await read({ tools: [{ name: 'read', input_schema: { type: 'object' } }] })).toBe(0);
  const systemOnly = await read({ messages: [{ role: 'user', content: 'another question' }] });
  expect(systemOnly).toBeGreaterThan(0);
  expect(systemOnly).toBeLessThan(whole ?? 0);
});

test('without breakpoints nothing is cached, and tokens follow the size of the prompt', async () => {
  const client = sdk(await model([any]));
  const ask = async (length: number) =>
    (await client.messages.create({ ...hello, messages: [{ role: 'user', content: 'x'.repeat(length) }] })).usage;
  const small = await ask(4_000);
  const large = await ask(8_000);
  expect(small).toMatchObject({ cache_read_input_tokens: 0, cache_creation_input_tokens: 0 });
  expect(large.input_tokens - small.input_tokens).toBe(1_000);
});

test('count_tokens says what a message would be billed, and spends no reply', async () => {
  const server = await model([reply('ok')]);
  const client = sdk(server);
  const { input_tokens } = await client.messages.countTokens({ model: hello.model, messages: hello.messages });
  expect((await client.messages.create(hello)).usage.input_tokens).toBe(input_tokens);
  expect(server.requests).toHaveLength(1);
});
