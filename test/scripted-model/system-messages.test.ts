import { describe, expect, test } from 'vitest';
import { reply } from '../../scripted-model/index.ts';
import { base, conversation, type Message } from './conversation.ts';
import { afterCalls, model, post, refusal, type Body } from './support.ts';

const CLEAR_AT = 'mid-conversation-system-clear-at-2026-08-21';
const EFFORT = 'mid-conversation-output-config-2026-07-01';
const ANYWHERE = '; the directive-only form (content: [] with output_config) is accepted at any position';

const says = (content: unknown, more: Body = {}): Message & Body => ({ role: 'system', content, ...more });
const u = (content: unknown): Message => ({ role: 'user', content });
const a = (content: unknown): Message => ({ role: 'assistant', content });
const low = { content: [], output_config: { effort: 'low' } };
const calls = afterCalls('a') as readonly Message[];
const search = [
  { type: 'server_tool_use', id: 'srvtoolu_s', name: 'web_search', input: {} },
  { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_s', content: [] },
];

async function send(messages: readonly object[], betas: readonly string[] = [], more: Body = {}) {
  const server = await model([reply('ok', { times: 'any' })]);
  const body = { ...base, messages, ...more };
  const response = await post(server, body, betas.length === 0 ? {} : { 'anthropic-beta': betas.join(',') });
  return response.status === 200 ? '' : (await refusal(response)).message;
}

describe('a system message in the middle', () => {
  test.each<[string, readonly object[]]>([
    ['after a user message, at the end', [u('Hi'), says('x')]],
    ['after results of calls', [...calls, says([{ type: 'text', text: 'x' }])]],
    ['before Claude’s turn, several in a row', [u('Hi'), says('x'), says('y'), a('Hello'), u('on')]],
    ['after a server tool’s result', [u('Hi'), a(search), says('x')]],
    ['that only sets the effort, first', [says([], low), u('Hi')]],
    ['that only sets the effort, between two turns', [u('Hi'), a('Hello'), says([], low), u('on')]],
    [
      'that only sets the effort, between a call and its result',
      [...calls.slice(0, 2), says([], low), ...calls.slice(2)],
    ],
  ])('%s is taken (Mid-conversation system messages, 2026-09)', async (_name, messages) => {
    expect(await send(messages, [EFFORT])).toBe('');
  });

  const follow = `role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool result${ANYWHERE}`;
  const precede = `role 'system' must precede an 'assistant' message or end the array${ANYWHERE}`;
  test.each<[string, readonly object[], string]>([
    [
      'first',
      [says('x'), u('Hi')],
      `messages.0: use the top-level 'system' parameter for the initial system prompt${ANYWHERE}`,
    ],
    ['after Claude’s turn', [u('Hi'), a('Hello'), says('x'), u('on')], `messages.2: ${follow}`],
    ['before a user message', [u('Hi'), says('x'), says('y'), u('on')], `messages.2: ${precede}`],
    ['between a call and its result', [...calls.slice(0, 2), says('x'), ...calls.slice(2)], `messages.2: ${follow}`],
    [
      'beside one that only sets the effort',
      [u('Hi'), a('Hello'), says([], low), says('x'), u('on')],
      `messages.2: ${follow}`,
    ],
    ['without content', [u('Hi'), says([])], 'messages.1: system content must contain at least one block'],
    [
      'with an image',
      [u('Hi'), says([{ type: 'image', source: {} }])],
      "messages.1: role 'system' supports text, tool_addition, and tool_removal blocks only",
    ],
    [
      'that changes tools after a paused turn',
      [u('Hi'), a(search), says([{ type: 'tool_removal' }])],
      'messages.2: tool_addition and tool_removal blocks cannot follow a paused',
    ],
  ])('%s is a 400 (Mid-conversation system messages, 2026-09)', async (_name, messages, message) => {
    expect(await send(messages, [EFFORT])).toContain(message);
  });

  test.each(['claude-fable-5-2', 'claude-opus-5-5', 'claude-opus-4-8', 'claude-haiku-5-5'])(
    '%s takes it without a header (Mid-conversation system messages, 2026-10)',
    async (name) => {
      expect(await send([u('Hi'), says('x')], [], { model: name })).toBe('');
    },
  );

  test.each(['claude-sonnet-5', 'claude-opus-4-7', 'claude-haiku-4-5'])(
    '%s refuses the role (Mid-conversation system messages, 2026-10)',
    async (name) => {
      expect(await send([u('Hi'), says('x')], [], { model: name })).toBe(
        "role 'system' is not supported on this model",
      );
    },
  );
});

describe('a turn-scoped system message', () => {
  const scoped = (content: unknown, more: Body = {}) => says(content, { clear_at: 'next_user_message', ...more });
  const suffix = "(clear_at: 'next_user_message')";

  test.each<[string, readonly object[], string]>([
    [
      'of another role',
      [{ ...u('Hi'), clear_at: 'never' }],
      "messages.0.clear_at: clear_at is only permitted on role 'system' messages",
    ],
    [
      'of an unknown value',
      [u('Hi'), says('x', { clear_at: 'soon' })],
      "messages.1.clear_at: Input should be 'next_user_message' or 'never'",
    ],
    [
      'with a tool change',
      [u('Hi'), scoped([{ type: 'tool_removal' }])],
      `messages.1: a turn-scoped system message supports text blocks only ${suffix}`,
    ],
    [
      'with an effort',
      [u('Hi'), scoped('x', { output_config: {} })],
      `messages.1: output_config is not permitted on a turn-scoped system message ${suffix}`,
    ],
    [
      'with a breakpoint',
      [u('Hi'), scoped([{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }])],
      `messages.1.content.0: cache_control is not permitted on a turn-scoped system message ${suffix}`,
    ],
    [
      'before a user message',
      [u('Hi'), scoped('x'), u('on')],
      "messages.1: role 'system' must precede an 'assistant' message",
    ],
  ])('%s is a 400 (Mid-conversation system messages, 2026-09)', async (_name, messages, message) => {
    expect(await send(messages, [CLEAR_AT, EFFORT])).toContain(message);
  });

  test('needs its header (Mid-conversation system messages, 2026-09)', async () => {
    expect(await send([u('Hi'), scoped('x')])).toBe('messages.1.clear_at: Extra inputs are not permitted');
    expect(await send([u('Hi'), scoped('x')], [CLEAR_AT])).toBe('');
  });

  test('costs nothing once its turn is over, and thinking after it stays valid (Mid-conversation system messages, 2026-09)', async () => {
    const { messages, send: ask, server } = await conversation();
    const reminder = scoped('Remember. '.repeat(100));
    const first = await ask([u('Hi'), reminder], {}, CLEAR_AT);
    const later = [u('Hi'), reminder, a(first.answer.content), u('on')];
    const second = await ask(later, {}, CLEAR_AT);
    expect(Number(second.answer.usage['input_tokens'])).toBeLessThan(Number(first.answer.usage['input_tokens']));
    expect([second.status, server.problems, messages]).toEqual([200, [], []]);
    const dropped = await ask(
      later.filter((message) => message !== reminder),
      {},
      CLEAR_AT,
    );
    expect(dropped.message).toContain('first at `messages.1`');
    const reworded = await ask([u('Hi'), scoped('Forget.'), ...later.slice(2)], {}, CLEAR_AT);
    expect(reworded.message).toContain('first at `messages.1.content.0`');
  });
});

test('effort in a message needs its header, a level and a model that has it (Effort, 2026-11)', async () => {
  const at = (value: Body) => [u('Hi'), a('Hello'), says([], value), u('on')];
  expect(await send(at(low))).toBe('messages.2.output_config: Extra inputs are not permitted');
  expect(await send(at({ output_config: { effort: 'some' } }), [EFFORT])).toContain(
    "messages.2.output_config.effort: Input should be 'low'",
  );
  expect(await send(at({ output_config: { effort: 'low', format: {} } }), [EFFORT])).toContain(
    'messages.2.output_config.format: Extra inputs',
  );
  expect(await send(at(low), [EFFORT], { model: 'claude-opus-4-8' })).toContain('not supported on this model');
  expect(await send(at(low), [EFFORT], { model: 'claude-opus-5' })).toBe('');
});
