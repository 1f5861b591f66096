import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../../tools/tool.ts';
import { reply, runInMemory, toolResults, toolUse } from '../../../client/testing/index.ts';

const stock = defineTool({
  name: 'stock',
  description: 'Counts what is in stock.',
  risk: 'read',
  recovery: 'rerun',
  inputSchema: z.object({ article: z.string() }),
  call: ({ article }) => Promise.resolve({ content: `there are 12 of ${article}` }),
});

const asks = reply([toolUse('stock', { article: 'lamp' })]);

test('an agent with a tool of its own runs to its end without a server (Q6)', async () => {
  const ran = await runInMemory({
    prompt: 'How many lamps?',
    script: [asks, reply('Twelve.')],
    config: { tools: [stock] },
  });
  expect(ran).toMatchObject({ reason: 'completed', text: 'Twelve.', turns: 2 });
  const [, second] = ran.requests;
  expect(JSON.stringify(toolResults(second?.body as never))).toContain('there are 12 of lamp');
  expect(ran.entries.map(({ kind }) => kind)).toContain('run_ended');
});

test('a denied call, a limit and a hook do what they do on a server (Q6 L45 L55)', async () => {
  const denied = await runInMemory({
    prompt: 'How many lamps?',
    script: [asks, reply('I may not ask.')],
    config: { tools: [stock], permissions: { deny: ['stock'] } },
  });
  expect(JSON.stringify(denied.requests[1]?.body)).not.toContain('there are 12');
  const limited = await runInMemory({
    prompt: 'How many lamps?',
    script: [asks, asks, asks],
    config: { tools: [stock] },
    options: { maxTurns: 2 },
  });
  expect(limited).toMatchObject({ reason: 'max_turns', turns: 2 });
});

test('nothing stays of it on the disk (Q6)', async () => {
  const ran = await runInMemory({ prompt: 'Where are you?', script: [reply('Here.')] });
  const [, cwd = ''] = /Workspace: (\S+)/.exec(JSON.stringify(ran.requests[0]?.body).replaceAll('\\n', '\n')) ?? [];
  expect(cwd).toContain('perdure-testing-');
  expect(existsSync(cwd)).toBe(false);
});

test('a call that asks for a decision fails the test with its name, for nobody is there (Q6)', async () => {
  const script = [reply([toolUse('write', { path: 'a.txt', content: 'x' })])];
  const asking = runInMemory({ prompt: 'Write.', script, options: { permissionMode: 'default' } });
  await expect(asking).rejects.toThrow(/write asks: nobody is there/);
});

test('a configuration that is wrong is refused with a sentence (Q6)', async () => {
  const wrong = runInMemory({ prompt: 'Go.', script: [], config: { modle: 'x' } as never });
  await expect(wrong).rejects.toThrow(/modle/);
});
