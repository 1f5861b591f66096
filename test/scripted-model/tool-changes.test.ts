import { expect, test } from 'vitest';
import { reply } from '../../scripted-model/index.ts';
import { base, conversation, tool, user } from './conversation.ts';
import { model, post, type Body } from './support.ts';

const INLINE = 'inline-tools-2026-09-15';
const BY_NAME = 'mid-conversation-tool-changes-2026-07-01';
const later = { ...tool, name: 'later', defer_loading: true };
const write = { ...tool, name: 'write' };

const named = (type: string, name: string) => ({ type, tool: { type: 'tool_reference', name } });
const defined = (definition: object) => ({ type: 'tool_addition', tool: { type: 'tool_definition', definition } });
const changes = (...content: readonly object[]) => ({ role: 'system', content });

type Outcome = { readonly error?: { readonly message: string; readonly details?: object } };

async function send(content: readonly object[], betas: readonly string[] = [INLINE], more: Body = {}) {
  const server = await model([reply('ok', { times: 'any' })]);
  const body = { ...base, tools: [tool, later], messages: [user('go'), changes(...content)], ...more };
  const response = await post(server, body, { 'anthropic-beta': betas.join(',') });
  const { error } = (await response.json()) as Outcome;
  return { status: response.status, ...error };
}

test.each<[string, readonly object[], readonly string[]]>([
  ['a tool is withdrawn by name', [named('tool_removal', 'read')], [BY_NAME]],
  ['a deferred tool is offered by name', [named('tool_addition', 'later')], [INLINE]],
  [
    'a tool is defined, twice alike, and withdrawn',
    [defined(write), defined(write), named('tool_removal', 'write')],
    [INLINE],
  ],
  ['a tool gets another schema', [defined({ ...tool, description: 'Reads more.' })], [INLINE]],
  ['a word stands beside it', [{ type: 'text', text: 'There is a tool.' }, named('tool_addition', 'later')], [INLINE]],
])('%s (Mid-conversation tool changes, 2026-09)', async (_name, content, betas) => {
  expect(await send(content, betas)).toEqual({ status: 200 });
});

test.each<[string, readonly object[], string, readonly string[]]>([
  ['a name that is not declared', [named('tool_addition', 'write')], 'tool_reference_unresolved', [INLINE]],
  [
    'a name that is defined only later',
    [named('tool_removal', 'write'), defined(write)],
    'tool_reference_unresolved',
    [INLINE],
  ],
  [
    'a server that is not there',
    [{ type: 'tool_addition', tool: { type: 'mcp_toolset_reference', server_name: 'x' } }],
    'tool_reference_unresolved',
    [INLINE],
  ],
  [
    'the name of a tool of another kind',
    [defined({ type: 'bash_20250124', name: 'read' })],
    'tool_name_conflict',
    [INLINE],
  ],
  [
    'definitions of more than 4 MB',
    [defined({ ...write, description: 'x'.repeat(4 * 1_024 * 1_024) })],
    'available_tools_limit_exceeded',
    [INLINE],
  ],
])('%s is a 400 with a code (Mid-conversation tool changes, 2026-09)', async (_name, content, code, betas) => {
  expect(await send(content, betas)).toMatchObject({ status: 400, details: { error_code: code } });
});

test('tool blocks need a header, and a definition the newer one (Mid-conversation tool changes, 2026-09)', async () => {
  const refused = { status: 400, message: expect.stringContaining('does not match any of the expected tags') };
  expect(await send([named('tool_removal', 'read')], ['other'])).toMatchObject(refused);
  expect(await send([defined(write)], [BY_NAME])).toMatchObject(refused);
  expect((await send([defined({ name: 'write' })])).message).toContain(
    'definition.custom.input_schema: Field required',
  );
});

test('a list in which every tool is deferred is refused (Tool search tool, 2026-08)', async () => {
  const { message } = await send([], [], { tools: [later], messages: [user('go')] });
  expect(message).toBe('At least one tool must have defer_loading=false. All tools cannot be deferred.');
});

test('tools that come and go in messages leave thinking valid and the cache whole (Change tools or instructions, 2026-11)', async () => {
  const { send: ask, server } = await conversation({}, { cache_control: { type: 'ephemeral' } });
  const long = user('word '.repeat(1_000));
  const first = await ask([long], { tools: [tool, later] }, INLINE);
  const turn = { role: 'assistant', content: first.answer.content };
  const next = [
    long,
    turn,
    user('on'),
    changes(defined(write), named('tool_addition', 'later'), named('tool_removal', 'read')),
  ];
  const second = await ask(next, { tools: [tool, later] }, INLINE);
  expect(second.answer.usage['cache_read_input_tokens']).toBe(first.answer.usage['cache_creation_input_tokens']);
  const third = [...next, { role: 'assistant', content: second.answer.content }, user('more')];
  expect((await ask(third, { tools: [tool, later] }, INLINE)).status).toBe(200);
  expect(server.problems).toEqual([]);
  const edited = await ask(third, { tools: [tool, { ...later, description: 'Later!' }] }, INLINE);
  expect(edited.message).toContain('messages.4.content.0: Invalid `signature`');
});
