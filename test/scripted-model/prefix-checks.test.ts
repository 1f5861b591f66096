import { expect, test } from 'vitest';
import {
  BOUND,
  conversation,
  CONTROLS,
  dropping,
  stripped,
  threeTurns,
  tool,
  user,
  type Message,
} from './conversation.ts';
import type { Body } from './support.ts';

const ASKS_FOR_HEADER = ` That setting requires the \`${CONTROLS}\` value in the \`anthropic-beta\` header.`;
const deferred = { ...tool, name: 'later', defer_loading: true };

type Edit = readonly [
  string,
  (messages: readonly Message[]) => { readonly messages?: readonly Message[]; readonly body?: Body },
];

const edited = (at: number, message: Message) => (messages: readonly Message[]) => ({
  messages: messages.map((each, index) => (index === at ? message : each)),
});

const valid: readonly Edit[] = [
  ['nothing', () => ({})],
  ['the form of a text', edited(0, user([{ type: 'text', text: 'one', cache_control: { type: 'ephemeral' } }]))],
  [
    'the order of the keys of a tool',
    () => ({ body: { tools: [Object.fromEntries(Object.entries(tool).toReversed())] } }),
  ],
  ['a tool that is deferred and not referred to', () => ({ body: { tools: [tool, deferred] } })],
  [
    'a system prompt as blocks',
    () => ({ body: { system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }] } }),
  ],
  [
    'max_tokens, metadata and tool_choice',
    () => ({ body: { max_tokens: 9, metadata: { user_id: 'u' }, tool_choice: { type: 'none' } } }),
  ],
  ['thinking that is left out from the start on', (messages) => ({ messages: stripped(messages, 1) })],
  ['thinking that is left out at the end', (messages) => ({ messages: stripped(messages, 3, 5) })],
  ['all thinking left out', (messages) => ({ messages: stripped(messages, 1, 3, 5) })],
];

test.each(valid)(
  '%s may change, and thinking stays valid (Prefix checks on thinking blocks, 2026-11)',
  async (_name, edit) => {
    const { messages, send, server } = await threeTurns();
    const { messages: changed = messages, body } = edit(messages);
    expect(await send([...changed, user('go on')], body)).toMatchObject({ status: 200 });
    expect(server.problems).toEqual([]);
  },
);

const invalid: readonly (readonly [...Edit, path: string, why: string])[] = [
  [
    'the system prompt',
    () => ({ body: { system: 'Be long.' } }),
    'messages.1.content.0',
    'The `system` prompt differs from when the block was created.',
  ],
  [
    'a tool more',
    () => ({ body: { tools: [tool, { ...tool, name: 'write' }] } }),
    'messages.1.content.0',
    'The `tools` list differs from when the block was created.',
  ],
  [
    'a tool’s description',
    () => ({ body: { tools: [{ ...tool, description: 'Reads!' }] } }),
    'messages.1.content.0',
    'The `tools` list differs',
  ],
  ['no tools', () => ({ body: { tools: undefined } }), 'messages.1.content.0', 'The `tools` list differs'],
  [
    'the first message',
    edited(0, user('One.')),
    'messages.1.content.0',
    'Content before this block differs from when it was created, first at `messages.0.content.0`.',
  ],
  ['a later message', edited(2, user('two!')), 'messages.3.content.0', 'first at `messages.2.content.0`.'],
  [
    'a text more in an earlier message',
    edited(
      2,
      user([
        { type: 'text', text: 'two' },
        { type: 'text', text: 'now' },
      ]),
    ),
    'messages.3.content.0',
    'first at `messages.2.content.1`.',
  ],
  [
    'a turn that is cut out',
    (messages) => ({ messages: messages.slice(2) }),
    'messages.1.content.0',
    'first at `messages.0.content.0`.',
  ],
  ['thinking left out in the middle', (messages) => ({ messages: stripped(messages, 3) }), 'messages.5.content.0', ''],
];

test.each(invalid)(
  '%s changed is a 400 on a new account, which names the place (Prefix checks on thinking blocks, 2026-11)',
  async (_name, edit, path, why) => {
    const { messages, send, server } = await threeTurns();
    const { messages: changed = messages, body } = edit(messages);
    const { status, message } = await send([...changed, user('go on')], body);
    expect(status).toBe(400);
    expect(message).toContain(`${path}: ${BOUND}${ASKS_FOR_HEADER}`);
    expect(message).toContain(why);
    expect(server.problems).toHaveLength(1);
  },
);

test('thinking put back spoils what was thought while it was gone (Preserved thinking, 2026-09)', async () => {
  const { messages, send, say } = await threeTurns();
  messages.splice(0, messages.length, ...stripped(messages, 1, 3, 5));
  const before = await threeTurns();
  await say('four');
  expect((await send([...messages, user('five')])).status).toBe(200);
  const back = [...before.messages, ...messages.slice(6), user('five')];
  expect((await send(back)).message).toContain(`messages.7.content.0: ${BOUND}`);
});

test('a signature that was changed is another 400, which drop_block does not help (Preserved thinking, 2026-09)', async () => {
  const { messages, send } = await threeTurns();
  const forged = {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'Thought 1.', signature: 'made up' },
      { type: 'text', text: 'Answer 1.' },
    ],
  };
  const { status, message } = await send(
    [user('one'), forged, ...messages.slice(2), user('go on')],
    { thinking: dropping() },
    CONTROLS,
  );
  expect([status, message]).toEqual([400, 'messages.1.content.0: Invalid `signature` in `thinking` block']);
});

test('a signature holds after a restart of the server, and a branch keeps its thinking (Preserved thinking, 2026-09)', async () => {
  const { messages } = await threeTurns();
  const afterRestart = async (changed: readonly Message[]) => (await conversation()).send(changed);
  expect((await afterRestart([...messages.slice(0, 4), user('another way')])).status).toBe(200);
  const { message } = await afterRestart([user('One.'), ...messages.slice(1), user('go on')]);
  expect(message).toMatch(/differs from when it was created\.$/);
});
