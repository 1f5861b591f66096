import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { parseScript } from '../../scripted-model/index.ts';
import { hello, model, post, received, sdk } from './support.ts';

const page = new URL('../../docs/scripted-model.md', import.meta.url);

test('the example in the documentation is a script that runs as it says', async () => {
  const example = /```json\n([^]*?)```/.exec(await readFile(page, 'utf8'))?.[1] ?? '';
  const server = await model(parseScript(example, 'docs/scripted-model.md'));
  const first = { ...hello, messages: [{ role: 'user' as const, content: 'What does a.txt say?' }] };
  expect((await post(server, first)).headers.get('retry-after')).toBe('1');
  expect((await post(server, first)).status).toBe(529);
  const { content } = await sdk(server).messages.stream(first).finalMessage();
  expect(content.map(({ type }) => type)).toEqual(['thinking', 'text', 'tool_use']);
  const id = content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []))[0] ?? '';
  const result = { type: 'tool_result' as const, tool_use_id: id, content: 'hello' };
  const messages = [
    ...first.messages,
    { role: 'assistant' as const, content },
    { role: 'user' as const, content: [result] },
  ];
  const next = { ...hello, messages };
  expect((await received(await post(server, { ...next, stream: true }))).whole).toBe(false);
  for (let n = 0; n < 2; n += 1) {
    const { usage } = await sdk(server).messages.create(next);
    expect(usage.output_tokens).toBe(12);
  }
  expect(server.problems).toEqual([]);
});
