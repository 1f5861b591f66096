import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { harness } from '../support/harness.ts';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

test('reads a file and answers: two turns, one transition, both requests well-formed (L46 L32)', async () => {
  const h = await harness({
    script: { replies: [reply([toolUse('read', { path: 'a.txt' })]), reply('It says hello.')] },
  });
  writeFileSync(join(h.cwd, 'a.txt'), 'hello\n');
  const session = await h.open('What does a.txt say?');
  const ended = await session.ended(1);
  expect(ended).toMatchObject({ terminal: { reason: 'completed' }, turns: 2, iterations: 2 });
  expect(h.bodies()).toHaveLength(2);
  expect(h.bodies()[1]).toMatchObject({
    messages: [
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'tool_use', name: 'read' }] },
      { role: 'user', content: [{ type: 'tool_result', content: expect.stringContaining('hello') }] },
    ],
  });
  expect(h.model.problems).toEqual([]);
});
