import { expect, test } from 'vitest';
import { reply, text, thinking, toolUse } from '../../scripted-model/index.ts';
import { hello, model, parseSse, post, sdk } from './support.ts';

const stream = { ...hello, stream: true } as const;
const rich = reply([
  thinking('I need the file.'),
  text('Reading it: ünïcödé 🙂'),
  toolUse('read', { path: 'a.txt' }, 'toolu_1'),
]);

test('a stream has the events of the real API, in its order', async () => {
  const server = await model([reply([text('Hello there'), toolUse('read', { path: 'a' }, 'toolu_1')])]);
  const response = await post(server, stream);
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  const events = parseSse(await response.text());
  expect(events.map(({ event }) => event)).toEqual([
    'message_start',
    'content_block_start',
    'ping',
    'content_block_delta',
    'content_block_stop',
    'content_block_start',
    'content_block_delta',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ]);
  expect(events.every(({ event, data }) => data['type'] === event)).toBe(true);
  expect(events[0]?.data['message']).toMatchObject({
    role: 'assistant',
    content: [],
    stop_reason: null,
    model: hello.model,
  });
  expect(events[1]?.data).toMatchObject({ index: 0, content_block: { type: 'text', text: '' } });
  expect(events[5]?.data).toMatchObject({ index: 1, content_block: { type: 'tool_use', id: 'toolu_1', input: {} } });
  expect(events[7]?.data['delta']).toEqual({ type: 'input_json_delta', partial_json: '{"path":"a"}' });
  expect(events[9]?.data['delta']).toMatchObject({ stop_reason: 'tool_use', stop_sequence: null });
});

test('the SDK accumulates from a stream in the smallest pieces what a plain request answers', async () => {
  const server = await model([rich, { ...rich, deltaChars: 1, chunkBytes: 3 }]);
  const plain = await sdk(server).messages.create(hello);
  const streamed = await sdk(server).messages.stream(hello).finalMessage();
  expect(streamed.content).toEqual(plain.content);
  expect(streamed.usage).toMatchObject({ output_tokens: plain.usage.output_tokens });
  expect(plain).toMatchObject({ role: 'assistant', stop_reason: 'tool_use', model: hello.model });
  expect(server.problems).toEqual([]);
});

test('a reply without calls ends the turn, and calls without ids get ids of their own', async () => {
  const server = await model([reply('done'), reply([toolUse('a', {}), toolUse('b', {})])]);
  const client = sdk(server);
  expect((await client.messages.create(hello)).stop_reason).toBe('end_turn');
  const { content } = await client.messages.create(hello);
  const ids = content.map((block) => (block.type === 'tool_use' ? block.id : ''));
  expect(new Set(ids).size).toBe(2);
  expect(ids.every((id) => /^toolu_\w+$/.test(id))).toBe(true);
});

test('stop reason, usage and model are those of the script when it says so', async () => {
  const chosen = { stop_reason: 'refusal', model: 'claude-other', usage: { output_tokens: 7 } } as const;
  const server = await model([reply('no', chosen), reply('no', { usage: null })]);
  const message = await sdk(server).messages.create(hello);
  expect(message).toMatchObject({ stop_reason: 'refusal', model: 'claude-other', usage: { output_tokens: 7 } });
  expect(message.usage.input_tokens).toBeGreaterThan(0);
  expect(await (await post(server, hello)).json()).not.toHaveProperty('usage');
});

test('broken JSON and blocks of unknown kinds are streamed as the script has them', async () => {
  const odd = { type: 'raw', block: { type: 'hologram', shape: 'cube' } } as const;
  const server = await model([reply([{ type: 'tool_use', name: 'read', inputJson: '{"path":' }, odd])]);
  const events = parseSse(await (await post(server, stream)).text());
  const delta = events.find(({ data }) => (data['delta'] as { partial_json?: string } | undefined)?.partial_json);
  expect(delta?.data['delta']).toMatchObject({ partial_json: '{"path":' });
  expect(events.some(({ data }) => (data['content_block'] as { shape?: string } | undefined)?.shape === 'cube')).toBe(
    true,
  );
});

test('thinking goes back unchanged to the model that signed it, and to no other (L59)', async () => {
  const server = await model((_request, n) => (n === 1 ? rich : reply('done')));
  const client = sdk(server);
  const { content } = await client.messages.create(hello);
  const answered = { type: 'tool_result' as const, tool_use_id: 'toolu_1', content: 'text' };
  const next = (blocks: typeof content, name = hello.model) =>
    client.messages.create({
      ...hello,
      model: name,
      messages: [...hello.messages, { role: 'assistant', content: blocks }, { role: 'user', content: [answered] }],
    });
  const changed = content.map((block) =>
    block.type === 'thinking' ? { ...block, thinking: 'Something else.' } : block,
  );
  await expect(next(changed)).rejects.toThrow('messages.1.content.0: Invalid `signature` in `thinking` block');
  await expect(next(content, 'claude-other')).rejects.toThrow('Invalid `signature`');
  expect((await next(content)).stop_reason).toBe('end_turn');
  expect(server.problems).toHaveLength(2);
});
