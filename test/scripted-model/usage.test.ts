import { expect, test } from 'vitest';
import { reply } from '../../scripted-model/index.ts';
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

const marked = (content: string, ttl: '5m' | '1h' = '5m') => [
  {
    role: 'user' as const,
    content: [{ type: 'text' as const, text: content, cache_control: { type: 'ephemeral' as const, ttl } }],
  },
];

test.each([
  ['claude-sonnet-5-5', 512],
  ['claude-fable-5-1', 512],
  ['claude-sonnet-5', 1_024],
  ['claude-opus-4-7', 2_048],
  ['claude-haiku-4-5', 4_096],
])('%s caches no prefix of fewer than %d tokens (Prompt caching, 2026-11)', async (name, least) => {
  const client = sdk(await model([any]));
  const written = async (tokens: number) => {
    const messages = marked('word'.repeat(tokens));
    return (await client.messages.create({ ...hello, model: name, messages })).usage.cache_creation_input_tokens;
  };
  expect(await written(least - 20)).toBe(0);
  expect(await written(least)).toBeGreaterThanOrEqual(least);
});

test('what is cached lasts 5 minutes or an hour from the request that wrote or read it last (Prompt caching, 2026-08)', async () => {
  let now = 0;
  const client = sdk(await model([any], { cache: { now: () => now } }));
  const read = async (minute: number, ttl: '5m' | '1h') => {
    now = minute * 60_000;
    const { usage } = await client.messages.create({ ...hello, messages: marked(`text for ${ttl}`, ttl) });
    return (usage.cache_read_input_tokens ?? 0) > 0;
  };
  expect([await read(0, '5m'), await read(4, '5m'), await read(8, '5m'), await read(14, '5m')]).toEqual([
    false,
    true,
    true,
    false,
  ]);
  expect([await read(0, '1h'), await read(59, '1h'), await read(118, '1h'), await read(179, '1h')]).toEqual([
    false,
    true,
    true,
    false,
  ]);
});

test('what is written for an hour and for five minutes is told apart (Prompt caching, 2026-08)', async () => {
  const client = sdk(await model([any]));
  const long = [
    {
      ...system[0],
      text: 'You are careful. '.repeat(40),
      cache_control: { type: 'ephemeral' as const, ttl: '1h' as const },
    },
  ];
  const { usage } = await client.messages.create({ ...hello, system: long as typeof system, messages: [first] });
  expect(usage.cache_creation?.ephemeral_1h_input_tokens).toBeGreaterThan(100);
  expect(usage.cache_creation?.ephemeral_5m_input_tokens).toBeGreaterThan(100);
  expect(usage.cache_creation_input_tokens).toBe(
    Number(usage.cache_creation?.ephemeral_1h_input_tokens) + Number(usage.cache_creation?.ephemeral_5m_input_tokens),
  );
});

test('a change of effort loses the messages from the cache, and one of how thinking is shown does not (Effort, 2026-11)', async () => {
  const client = sdk(await model([any]));
  const long = [{ ...system[0]!, text: 'You are a careful assistant. '.repeat(100) }];
  const body = { ...hello, model: 'claude-opus-5-5', system: long, messages: [first] };
  const read = async (more: object) =>
    (await client.messages.create({ ...body, ...more })).usage.cache_read_input_tokens ?? 0;
  await read({});
  const whole = await read({});
  expect(whole).toBeGreaterThan(0);
  expect(await read({ output_config: { effort: 'low' } })).toBeLessThan(whole);
  const shown = { thinking: { type: 'adaptive', display: 'summarized' } };
  await read(shown);
  expect(await read({ thinking: { type: 'adaptive', display: 'omitted' } })).toBe(await read(shown));
});

test('usage says at which speed and where a reply was made, when the request chose (Pricing, 2026-11)', async () => {
  const client = sdk(await model([any]));
  const { usage } = await client.messages.create({ ...hello, speed: 'fast', inference_geo: 'us' });
  expect(usage).toMatchObject({ speed: 'fast', inference_geo: 'us', service_tier: 'standard' });
});
