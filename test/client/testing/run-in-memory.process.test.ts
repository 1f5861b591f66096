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

const big = defineTool({
  name: 'big',
  description: 'Says much.',
  risk: 'read',
  recovery: 'rerun',
  inputSchema: z.object({ n: z.number() }),
  call: ({ n }) => Promise.resolve({ content: `${n} `.repeat(10_000) }),
});
const small = { models: { 'claude-sonnet-': { window: 20_000, maxOutput: 2_000, price: null } } };
const turns = (count: number) => Array.from({ length: count }, (_, n) => reply([toolUse('big', { n })]));

test('ids and the clock are those of the test (L54)', async () => {
  let made = 0;
  const uuid = (): string => `id-${(made += 1)}`;
  const { entries } = await runInMemory({ prompt: 'Go.', script: [reply('Done.')], deps: { uuid, now: () => 1_000 } });
  expect(entries.find(({ kind }) => kind === 'user')).toMatchObject({ id: 'id-2' });
  expect(entries.find(({ kind }) => kind === 'reply')).toMatchObject({ at: 1_000 });
});

test('a test decides which results are shrunk, and the model is shown markers in their place (L8 L54)', async () => {
  const seen: number[] = [];
  const { requests, entries } = await runInMemory({
    prompt: 'Go.',
    script: [...turns(2), reply('Done.')],
    config: { tools: [big] },
    deps: {
      microcompact: (all) => {
        seen.push(all.length);
        const first = all.findIndex(({ kind }) => kind === 'reply');
        const isDue = all.filter(({ kind }) => kind === 'reply').length === 2;
        return isDue ? { kind: 'microcompact', before: first + 1, freed: 1 } : null;
      },
    },
  });
  expect(seen).toHaveLength(3);
  expect(entries.filter(({ kind }) => kind === 'microcompact')).toHaveLength(1);
  expect(JSON.stringify(requests[2]?.body)).toContain('An older result');
});

test.each([
  ['writes the summary', 'They said much.', 'completed'],
  ['has none, so that the window fills', null, 'blocking_limit'],
])('a test that %s of a compaction needs no model for it (L10 L12 L54)', async (_how, summary, reason) => {
  const asked: string[] = [];
  const ran = await runInMemory({
    prompt: 'Go.',
    script: [...turns(4), reply('Done.')],
    config: { ...small, tools: [big], compaction: { collapse: false } },
    deps: {
      autocompact: async ({ text }) => {
        asked.push(text);
        return Promise.resolve(summary);
      },
    },
  });
  expect(asked.length).toBeGreaterThan(0);
  expect(ran.reason).toBe(reason);
  expect(ran.entries.some((entry) => entry.kind === 'boundary' && entry.summary.includes('They said much.'))).toBe(
    summary !== null,
  );
});
