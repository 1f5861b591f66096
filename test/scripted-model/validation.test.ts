import { expect, test } from 'vitest';
import { reply } from '../../scripted-model/index.ts';
import type { Body } from './support.ts';
import { afterCalls, hello, model, post, refusal } from './support.ts';

const use = (id: string) => ({ type: 'tool_use', id, name: 'read', input: {} });
const result = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: 'ok' });
const user = (content: unknown) => ({ role: 'user', content });
const assistant = (content: unknown) => ({ role: 'assistant', content });
const talk = (...messages: unknown[]): Body => ({ ...hello, messages });
const mark = { cache_control: { type: 'ephemeral' } };
const tool = { name: 'read', input_schema: { type: 'object' } };
const words = { type: 'text', text: 'words' };

const refused: readonly (readonly [string, Body, string])[] = [
  ['a first message of the assistant', talk(assistant('hi'), user('hi')), 'first message must use the "user" role'],
  [
    'a role that is none',
    talk({ role: 'robot', content: 'hi' }),
    "messages.0.role: Input should be 'user', 'assistant'",
  ],
  [
    'a system message that follows no user message',
    talk(user('go'), assistant('yes'), { role: 'system', content: 'Be brief.' }, user('on')),
    "messages.2: role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool result",
  ],
  [
    'a document of the assistant',
    talk(user('go'), assistant([{ type: 'document', source: {} }]), user('on')),
    'can only be in `user`',
  ],
  [
    'a citation of the user',
    talk(user([{ ...words, citations: [{ type: 'char_location' }] }])),
    'text.citations: not permitted',
  ],
  ['no messages', talk(), 'messages: at least one message is required'],
  [
    'a call without a result',
    talk(user('go'), assistant([use('a')]), user('next')),
    '`tool_use` ids were found without',
  ],
  [
    'a result that comes after a text',
    talk(user('go'), assistant([use('a')]), user([words, result('a')])),
    'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a.',
  ],
  [
    'a result one message late',
    talk(user('go'), assistant([use('a')]), user('wait'), user([result('a')])),
    '`tool_use` ids were found without',
  ],
  ['a result nobody asked for', talk(user([result('a')])), 'messages.0.content.0: unexpected `tool_use_id` found'],
  [
    'two results for one call',
    talk(user('go'), assistant([use('a')]), user([result('a'), result('a')])),
    'each tool_use must have a single result',
  ],
  [
    'an id used twice in a conversation',
    talk(...afterCalls('a'), ...afterCalls('a').slice(1)),
    'messages.3: `tool_use` ids must be unique',
  ],
  ['a call of the user', talk(user([use('a')])), '`tool_use` blocks can only be in `assistant` messages'],
  [
    'an empty text',
    talk(user([{ type: 'text', text: '' }])),
    'messages.0.content.0: text content blocks must be non-empty',
  ],
  ['a text of white space', talk(user(' \n')), 'must contain non-whitespace text'],
  [
    'an empty message',
    talk(user('go'), assistant([]), user('on')),
    'messages.1: all messages must have non-empty content',
  ],
  [
    'a conversation that ends with the assistant',
    talk(user('go'), assistant('I')),
    'does not support assistant message prefill',
  ],
  [
    'an assistant message that ends with thinking',
    talk(user('go'), assistant([words, { type: 'redacted_thinking', data: 'x' }]), user('on')),
    'messages.1: The final block in an assistant message cannot be `thinking`.',
  ],
  [
    'thinking that nobody signed',
    talk(user('go'), assistant([{ type: 'thinking', thinking: 'hm', signature: 'made up' }, words]), user('on')),
    'messages.1.content.0: Invalid `signature` in `thinking` block',
  ],
  ['a block of an unknown kind', talk(user([{ type: 'hologram' }])), "messages.0.content.0: Input tag 'hologram'"],
  [
    'a field a block does not have',
    talk(user([{ ...words, id: 1 }])),
    'messages.0.content.0.text.id: Extra inputs are not permitted',
  ],
  ['a field a message does not have', talk({ ...user('go'), at: 1 }), 'messages.0.at: Extra inputs are not permitted'],
  [
    'an input that is no object',
    talk(user('go'), assistant([{ ...use('a'), input: 'x' }]), user([result('a')])),
    'tool_use.input',
  ],
  [
    'an error without a content',
    talk(user([{ ...result('a'), content: '', is_error: true }])),
    'content cannot be empty if `is_error`',
  ],
  ['a field the API does not have', { ...hello, max_token: 1 }, 'max_token: Extra inputs are not permitted'],
  ['a beta field without its header', { ...hello, context_management: {} }, 'context_management: Extra inputs'],
  ['no max_tokens', { ...hello, max_tokens: undefined }, 'max_tokens: Field required'],
  ['max_tokens of 0', { ...hello, max_tokens: 0 }, 'max_tokens: must be greater than or equal to 1'],
  ['max_tokens over the model’s', { ...hello, max_tokens: 64_001 }, 'max_tokens: 64001 > 64000, which is the maximum'],
  ['no model', { ...hello, model: undefined }, 'model: Field required'],
  ['two tools of one name', { ...hello, tools: [tool, tool] }, 'tools: Tool names must be unique.'],
  [
    'a tool name with a dot',
    { ...hello, tools: [{ ...tool, name: 'a.b' }] },
    'tools.0.custom.name: String should match pattern',
  ],
  ['a tool without a schema', { ...hello, tools: [{ name: 'a' }] }, 'tools.0.custom.input_schema: Field required'],
  [
    'a schema of another type',
    { ...hello, tools: [{ ...tool, input_schema: { type: 'string' } }] },
    "Input should be 'object'",
  ],
  [
    'a choice of a tool that is not there',
    { ...hello, tools: [tool], tool_choice: { type: 'tool', name: 'x' } },
    'not found',
  ],
  [
    'five breakpoints',
    {
      ...hello,
      system: [{ ...words, ...mark }],
      messages: [user([words, words, words, words].map((it) => ({ ...it, ...mark })))],
    },
    'A maximum of 4 blocks with cache_control may be provided. Found 5.',
  ],
  [
    'a breakpoint on an empty text',
    talk(user([{ type: 'text', text: '', ...mark }])),
    'cache_control cannot be set for empty text blocks',
  ],
  [
    'a breakpoint on thinking',
    talk(user('go'), assistant([{ type: 'thinking', thinking: 'x', signature: 'y', ...mark }, words]), user('on')),
    'messages.1.content.0.thinking.cache_control: Extra inputs are not permitted',
  ],
  ['a system that is neither text nor blocks', { ...hello, system: 5 }, 'system: Input should be a valid list'],
  [
    'a thinking budget for a model that adapts',
    { ...hello, model: 'claude-opus-5-5', thinking: { type: 'enabled', budget_tokens: 1_024 } },
    '"thinking.type.enabled" is not supported for this model.',
  ],
  [
    'thinking without room for an answer',
    { ...hello, thinking: { type: 'enabled', budget_tokens: 1_024 } },
    '`max_tokens` must be',
  ],
];

test.each(refused)('%s is a 400 in the words of the API (L58)', async (_name, body, message) => {
  const server = await model([reply('ok')], { maxOutputTokens: 64_000 });
  const answer = await refusal(await post(server, body));
  expect(answer).toMatchObject({ status: 400, type: 'invalid_request_error' });
  expect(answer.message).toContain(message);
  expect(server.problems).toEqual([`request 1: ${answer.message}`]);
});

const accepted: readonly (readonly [string, Body])[] = [
  ['two rounds of parallel calls', talk(...afterCalls('a', 'b'), ...afterCalls('c').slice(1))],
  ['a text after the results', talk(...afterCalls('a').slice(0, 2), user([result('a'), words]))],
  ['results of blocks', talk(...afterCalls('a').slice(0, 2), user([{ ...result('a'), content: [words] }]))],
  ['an empty result', talk(...afterCalls('a').slice(0, 2), user([{ type: 'tool_result', tool_use_id: 'a' }]))],
  ['two user messages in a row', talk(user('one'), user('two'))],
  [
    'four breakpoints',
    { ...hello, tools: [{ ...tool, ...mark }], system: [{ ...words, ...mark }], cache_control: { type: 'ephemeral' } },
  ],
  ['a system message after a user message', talk(user('go'), { role: 'system', content: 'Be brief.' })],
  ['a pair of surrogates', talk(user('🙂'))],
];

test.each(accepted)('%s is let in', async (_name, body) => {
  const server = await model([reply('ok')]);
  expect((await post(server, body)).status).toBe(200);
  expect(server.problems).toEqual([]);
});

test('half a surrogate pair is a 400, with where it is, and an escaped backslash before a u is not one', async () => {
  const server = await model([reply('ok')]);
  const body = (text: string) => JSON.stringify(hello).replace('hello', text);
  for (const half of ['\\ud83d', '\\ud83d!\\ude00', '\\ude00', '\\ud83d\\ud83d\\ude00']) {
    const { status, message } = await refusal(await post(server, body(half)));
    expect([status, message]).toEqual([400, expect.stringMatching(/not valid JSON: .*surrogate.*\(char \d+\)/)]);
  }
  expect((await post(server, body('\\\\ud83d \\ud83d\\ude00'))).status).toBe(200);
});

test('a refused request spends no reply of the script', async () => {
  const server = await model([reply('ok')]);
  await post(server, talk());
  expect((await post(server, hello)).status).toBe(200);
});

test('a client that is measured, not tested, may send what it likes', async () => {
  const server = await model([reply('ok')], { strict: false });
  expect((await post(server, { ...hello, novelty: true })).status).toBe(200);
});

test('a conversation may end with the assistant where the model supports it, without trailing white space', async () => {
  const server = await model([reply('ok')], { prefill: true });
  expect((await refusal(await post(server, talk(user('go'), assistant('I ')))))['message']).toContain(
    'trailing whitespace',
  );
  expect((await post(server, talk(user('go'), assistant('I')))).status).toBe(200);
});
