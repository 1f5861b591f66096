// The API's own searches of the web as the scripted model serves them, and what it refuses of them.
import { describe, expect, test } from 'vitest';
import { parseScript, reply, text, type ReplyBlock } from '../../scripted-model/index.ts';
import { hello, model, post, refusal, sdk, type Body } from './support.ts';

const tool = { type: 'web_search_20250305', name: 'web_search' };
const pages = [{ url: 'https://a.example/', title: 'A', text: 'Words.' }];
const asked = { ...hello, tools: [tool] };
const use = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } };
const page = { type: 'web_search_result', url: 'u', title: 't', encrypted_content: 'e', page_age: null };
const found = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [page] };
const call = { type: 'tool_use', id: 'a', name: 'read', input: {} };
const done = { type: 'tool_result', tool_use_id: 'a', content: 'ok' };

const said = (...turns: readonly (readonly object[])[]): Body => ({
  ...asked,
  messages: [
    ...hello.messages,
    ...turns.map((content, at) => ({ role: at % 2 === 0 ? 'assistant' : 'user', content })),
  ],
});
const hi = [{ type: 'text', text: 'And?' }];

async function send(body: unknown): Promise<string> {
  const server = await model([reply('ok', { times: 'any' })]);
  const response = await post(server, body);
  return response.status === 200 ? '' : (await refusal(response)).message;
}

test('a search is streamed as the API does, with what it found and what it costs (Web search tool, 2026-09)', async () => {
  const blocks: ReplyBlock[] = [{ type: 'web_search', query: 'x', results: pages }, text('A.')];
  const server = await model([reply(blocks)]);
  const stream = sdk(server).messages.stream(asked as never);
  const { content, usage, stop_reason } = await stream.finalMessage();
  expect(content).toMatchObject([
    { type: 'server_tool_use', name: 'web_search', input: { query: 'x' } },
    { type: 'web_search_tool_result', content: [{ type: 'web_search_result', title: 'A', page_age: null }] },
    { type: 'text', text: 'A.' },
  ]);
  expect(content[1]).toMatchObject({ tool_use_id: (content[0] as { id: string }).id });
  expect([stop_reason, usage.server_tool_use?.web_search_requests]).toEqual(['end_turn', 1]);
});

test('a script that searches for a request without the tool is broken (Web search tool, 2026-09)', async () => {
  const server = await model([reply([{ type: 'web_search', query: 'x', results: pages }])]);
  const { message } = await refusal(await post(server, hello));
  expect(message).toContain('the tool web_search among those of the request, and it is not');
});

test('a script in a file has searches, open ones too (Web search tool, 2026-09)', () => {
  const content = [
    { type: 'web_search', query: 'x', id: 'srvtoolu_1' },
    { type: 'web_search_result', id: 'srvtoolu_1', error: 'unavailable' },
    { type: 'web_search', query: 'x', results: pages },
  ];
  const script = { replies: [{ content, stop_reason: 'pause_turn' }] };
  expect(parseScript(JSON.stringify(script), 'it')).toEqual(script);
});

describe('what is sent back', () => {
  test.each<[string, Body]>([
    ['a search with its result', said([use, found], hi)],
    ['… without the tool among those of the request', { ...said([use, found], hi), tools: undefined }],
    ['a paused turn that ends with an open search, as the last message', said([use])],
    ['… and with a whole one', said([use, found])],
    ['an open search beside a call, and its result in the turn after', said([use, call], [done], [found], hi)],
    ['a search that failed', said([use, { ...found, content: { type: 'x', error_code: 'unavailable' } }], hi)],
  ])('%s is taken (Web search tool, 2026-09)', async (_name, body) => {
    expect(await send(body)).toBe('');
  });

  test.each<[string, Body, string]>([
    ['a search without its result', said([use, ...hi], hi), 'was found without a corresponding'],
    ['a result without its search', said([found, ...hi], hi), 'must have a corresponding `server_tool_use` block'],
    ['another id than the API gives', said([{ ...use, id: 's' }], hi), "String should match pattern '^srvtoolu_"],
    [
      'a page without its sealed text',
      said([use, { ...found, content: [{ ...page, encrypted_content: undefined }] }], hi),
      'encrypted_content',
    ],
    ['another last message of the model', said(hi), 'does not support assistant message prefill'],
  ])('%s is refused (Web search tool, 2026-09)', async (_name, body, why) => {
    expect(await send(body)).toContain(why);
  });
});

test.each<[object, string]>([
  [{ ...tool, name: 'search' }, "tools.0.web_search_20250305.name: Input should be 'web_search'"],
  [{ ...tool, max_uses: 0 }, 'tools.0.web_search_20250305.max_uses: Input should be greater than 0'],
  [{ ...tool, allowed_domains: ['a.b'], blocked_domains: ['c.d'] }, 'Only one of'],
  [{ ...tool, allowed_domains: ['https://a.b'] }, 'without a scheme'],
  [{ ...tool, input_schema: {} }, 'Extra inputs are not permitted'],
])('the tool as %j is refused (Web search tool, 2026-09)', async (wrong, why) => {
  expect(await send({ ...hello, tools: [wrong] })).toContain(why);
});
