import { expect, test } from 'vitest';
import { reply } from '../../scripted-model/index.ts';
import { hello, model, post, refusal, type Body } from './support.ts';
import { tool } from './conversation.ts';

async function send(body: Body, extra: Record<string, string> = {}) {
  const server = await model([reply('ok', { times: 'any' })]);
  const response = await post(server, { ...hello, max_tokens: 2_000, ...body }, extra);
  return response.status === 200 ? 'ok' : (await refusal(response)).message;
}

const kinds = ['adaptive', 'enabled', 'disabled', 'between_tools'];
const thinking = (type: string): Body => ({
  thinking: { type, ...(type === 'enabled' ? { budget_tokens: 1_024 } : {}) },
});

test.each([
  ['claude-fable-5-2', ['adaptive']],
  ['claude-mythos-5-1', ['adaptive']],
  ['claude-opus-5-5', ['adaptive']],
  ['claude-sonnet-5-5', ['adaptive', 'between_tools']],
  ['claude-haiku-5-5', ['adaptive', 'disabled']],
  ['claude-opus-5', ['adaptive', 'disabled']],
  ['claude-sonnet-5', ['adaptive', 'disabled']],
  ['claude-opus-4-8', ['adaptive', 'disabled']],
  ['claude-opus-4-6', ['adaptive', 'enabled', 'disabled']],
  ['claude-haiku-4-5', ['enabled', 'disabled']],
])('%s takes these kinds of thinking and no other: %j (Troubleshooting thinking, 2026-10)', async (name, taken) => {
  const answers = await Promise.all(kinds.map(async (kind) => [kind, await send({ model: name, ...thinking(kind) })]));
  expect(answers.filter(([, answer]) => answer === 'ok').map(([kind]) => kind)).toEqual(taken);
});

test('the words of a kind that is refused say what to use (Troubleshooting thinking, 2026-10)', async () => {
  const refused = (kind: string, name: string) => send({ model: name, ...thinking(kind) });
  const adapt = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.';
  expect(await refused('enabled', 'claude-sonnet-5')).toBe(
    `"thinking.type.enabled" is not supported for this model. ${adapt}`,
  );
  expect(await refused('disabled', 'claude-opus-5-5')).toBe(
    `"thinking.type.disabled" is not supported for this model. ${adapt}`,
  );
  expect(await refused('disabled', 'claude-sonnet-5-5')).toContain('between_tools');
  expect(await refused('adaptive', 'claude-haiku-4-5')).toBe('adaptive thinking is not supported on this model');
});

test.each([
  ['claude-sonnet-5-5', 'between_tools', 'high', true],
  ['claude-sonnet-5-5', 'between_tools', 'xhigh', false],
  ['claude-opus-5', 'disabled', 'high', true],
  ['claude-opus-5', 'disabled', 'max', false],
  ['claude-haiku-5-5', 'disabled', 'xhigh', false],
  ['claude-sonnet-5', 'disabled', 'max', true],
  ['claude-opus-4-6', 'adaptive', 'xhigh', false],
  ['claude-opus-4-6', 'adaptive', 'max', true],
  ['claude-opus-4-5', 'disabled', 'high', true],
  ['claude-opus-4-5', 'disabled', 'max', false],
  ['claude-haiku-4-5', 'disabled', 'low', false],
  ['claude-a', 'disabled', 'max', true],
])('%s with thinking %s at effort %s: %s (Effort, 2026-11)', async (name, kind, effort, taken) => {
  const answer = await send({ model: name, ...thinking(kind), output_config: { effort } });
  expect(answer === 'ok').toBe(taken);
});

test('with between_tools the effort of a message is that of the request (Effort, 2026-11)', async () => {
  const beta = { 'anthropic-beta': 'mid-conversation-output-config-2026-07-01' };
  const at = (effort: string): Body => ({
    model: 'claude-sonnet-5-5',
    ...thinking('between_tools'),
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'system', content: [], output_config: { effort } },
    ],
  });
  expect(await send(at('low'), beta)).toContain('messages.1.output_config.effort: cannot change');
  expect(await send(at('high'), beta)).toBe('ok');
});

test.each([
  ['claude-fable-5-1', false],
  ['claude-mythos-5-2', false],
  ['claude-opus-5-5', false],
  ['claude-sonnet-5-5', false],
  ['claude-haiku-5-5', true],
  ['claude-opus-5', true],
  ['claude-fable-5', true],
])('%s may be made to use a tool: %s (Troubleshooting thinking, 2026-10)', async (name, taken) => {
  for (const choice of [{ type: 'any' }, { type: 'tool', name: 'read' }]) {
    const answer = await send({ model: name, tools: [tool], tool_choice: choice });
    expect(answer).toBe(taken ? 'ok' : 'tool_choice: type "tool" and "any" are not supported for this model.');
  }
});

test('a conversation may end with Claude’s turn up to 4.5 only (Errors, 2026-08)', async () => {
  const messages = [...hello.messages, { role: 'assistant', content: 'I' }];
  expect(await send({ model: 'claude-haiku-4-5', messages })).toBe('ok');
  expect(await send({ model: 'claude-opus-4-6', messages })).toBe(
    'This model does not support assistant message prefill. The conversation must end with a user message.',
  );
});

test('sampling parameters are for models up to 4.6, and for the older version of the API (Migration guide, 2026-10)', async () => {
  const old = { 'anthropic-version': '2023-06-01' };
  expect(await send({ model: 'claude-opus-4-6', temperature: 1 }, old)).toBe('ok');
  expect(await send({ model: 'claude-sonnet-5-5', temperature: 1 }, old)).toContain('temperature: not supported');
  expect(await send({ model: 'claude-opus-4-6', temperature: 1 })).toBe('temperature: Extra inputs are not permitted');
});

test('output and windows are as large as the model has them (Models overview, 2026-11)', async () => {
  expect(await send({ model: 'claude-sonnet-5-5', max_tokens: 128_001 })).toContain(
    'max_tokens: 128001 > 128000, which is the maximum',
  );
  expect(await send({ model: 'claude-haiku-4-5', max_tokens: 64_001 })).toContain('max_tokens: 64001 > 64000');
  const words = (count: number) => [{ role: 'user', content: 'word'.repeat(count) }];
  expect(await send({ model: 'claude-sonnet-5-5', messages: words(900_000) })).toBe('ok');
  expect(await send({ model: 'claude-sonnet-5-5', messages: words(1_000_001) })).toMatch(
    /^prompt is too long: \d+ tokens > 1000000 maximum$/,
  );
  expect(await send({ model: 'claude-haiku-4-5', messages: words(200_001) })).toContain('> 200000 maximum');
});
