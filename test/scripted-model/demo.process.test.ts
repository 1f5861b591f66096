import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { DEMO_TASK, demoScript, isDemoTask } from '../../scripted-model/index.ts';
import type { Reply } from '../../scripted-model/index.ts';
import type { DemoRun, Tools } from './demo-agent.ts';
import { demoTools, runAgent } from './demo-agent.ts';
import { model } from './support.ts';

/** `files`: how many lines each has. */
async function project(files: Readonly<Record<string, number>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'demo-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await Promise.all(Object.keys(files).map((path) => mkdir(dirname(join(folder, path)), { recursive: true })));
  await Promise.all(Object.entries(files).map(([path, n]) => writeFile(join(folder, path), 'line\n'.repeat(n))));
  return folder;
}

const hurried: typeof demoScript = (request) => ({ ...demoScript(request), msPerEvent: 0, deltaChars: 1_000 });

async function demo(files: Readonly<Record<string, number>>, change: (tools: Tools) => Tools = (tools) => tools) {
  const cwd = await project(files);
  const server = await model(hurried);
  const run = await runAgent(server, change(demoTools(cwd)), DEMO_TASK);
  expect(server.problems).toEqual([]);
  const table = await readFile(join(cwd, 'LINES.md'), 'utf8').catch(() => null);
  return { ...run, rows: table === null ? null : rowsOf(table), table, turns: server.requests.length };
}

function rowsOf(table: string): readonly string[] {
  return table
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2);
}

const names = (run: DemoRun) => [...new Set(run.calls.map(({ name }) => name))];

test('the demo looks, counts, writes the table, reads it back, and says what it counted', async () => {
  const run = await demo({ 'api/a.ts': 3, 'api/deep/b.go': 4, 'web/c.tsx': 10, 'main.py': 2, 'README.md': 50 });
  expect(names(run)).toEqual(['glob', 'grep', 'write', 'read']);
  expect(run.turns).toBe(5);
  expect(run.rows).toEqual([
    '| `api` | 2 | 7 |',
    '| `web` | 1 | 10 |',
    '| `.` | 1 | 2 |',
    '| **Total** | **4** | **19** |',
  ]);
  expect(run.answer).toContain('I counted 19 lines of source in 4 files, the most in web (10). LINES.md is written.');
  expect(run.answer).toContain('scripted model — set ANTHROPIC_API_KEY for a real one');
});

test.each([
  ['an empty folder', {}],
  ['a folder without source', { 'notes.txt': 3, 'docs/a.md': 9 }],
])('%s gets a table that says so', async (_name, files) => {
  const run = await demo(files);
  expect(run.table).toContain('No source files were found in this project.');
  expect(run.answer).toContain('No source files were found in this project. LINES.md is written.');
});

test('source at the root only is one row', async () => {
  const run = await demo({ 'a.js': 1, 'b.js': 2 });
  expect(run.rows).toEqual(['| `.` | 2 | 3 |', '| **Total** | **2** | **3** |']);
});

test('a project with everything under one folder is listed one level deeper', async () => {
  const run = await demo({ 'src/api/a.ts': 1, 'src/web/b.ts': 2, 'src/index.ts': 4, 'config.js': 8 });
  expect(run.rows).toEqual([
    '| `src/api` | 1 | 1 |',
    '| `src/web` | 1 | 2 |',
    '| everything else | 2 | 12 |',
    '| **Total** | **4** | **15** |',
  ]);
});

test('names with spaces, pipes and backticks stay one cell each', async () => {
  const run = await demo({ 'my app/a.ts': 1, 'a|b/c.ts': 2, 'tick`s/d.ts': 4 });
  expect(run.rows).toEqual([
    '| `a\\|b` | 1 | 2 |',
    '| `my app` | 1 | 1 |',
    '| ``tick`s`` | 1 | 4 |',
    '| **Total** | **3** | **7** |',
  ]);
});

test('folders that a cut listing did not reach are looked for, and counted whole', async () => {
  const many = Array.from({ length: 1_500 }, (_, n) => [`big/f${n}.ts`, 1] as const);
  const run = await demo({ ...Object.fromEntries(many), 'zoo/late.ts': 5 });
  expect(run.rows).toEqual(['| `big` | 1500 | 1500 |', '| `zoo` | 1 | 5 |', '| **Total** | **1501** | **1505** |']);
});

test('code that is not the project’s own is left out of every number, and named', async () => {
  const many = Array.from({ length: 1_200 }, (_, n) => [`vendor/x/f${n}.js`, 9] as const);
  const run = await demo({ ...Object.fromEntries(many), 'src/a.js': 2, 'b.js': 1 });
  expect(run.rows).toEqual(['| `src` | 1 | 2 |', '| everything else | 1 | 1 |', '| **Total** | **2** | **3** |']);
  expect(run.table).toContain("Left out, as not this project's own source: `vendor`");
});

test('what only the search sees, as in hidden folders, is not said to lie at the top', async () => {
  const run = await demo({ 'src/a.js': 2, '.ci/check.sh': 3 });
  expect(run.rows).toEqual(['| `src` | 1 | 2 |', '| everything else | 1 | 3 |', '| **Total** | **2** | **5** |']);
});

test('more folders than a table should have are summed up in one row, and the total is whole', async () => {
  const many = Array.from({ length: 30 }, (_, n) => [`pkg${n}/a.ts`, 2] as const);
  const run = await demo(Object.fromEntries(many));
  expect(run.rows).toHaveLength(26);
  expect(run.rows?.at(-2)).toBe('| everything else | 6 | 12 |');
  expect(run.rows?.at(-1)).toBe('| **Total** | **30** | **60** |');
});

test('a count that fails is said in the table and in the answer', async () => {
  const run = await demo({ 'api/a.ts': 3, 'web/b.ts': 4 }, (tools) => ({
    ...tools,
    grep: async (input) => {
      if (input['path'] === 'api') throw new Error('permission denied');
      return (await tools['grep']?.(input)) ?? '';
    },
  }));
  expect(run.rows).toEqual([
    '| `api` | could not be counted: Error: permission denied | |',
    '| `web` | 1 | 4 |',
    '| **Total** | **1** | **4** |',
  ]);
  expect(run.answer).toContain('Not everything could be counted: LINES.md says what is missing.');
});

test('a search that fails is not reported as an empty project', async () => {
  const run = await demo({ 'api/a.ts': 3 }, (tools) => ({
    ...tools,
    glob: () => Promise.reject(new Error('too slow')),
  }));
  expect(run.table).toContain('Source files could not be looked for.');
  expect(run.table).toContain('Not counted: looking for files failed: Error: too slow');
});

test('a table that may not be written is given in the answer instead', async () => {
  const run = await demo({ 'api/a.ts': 3 }, (tools) => ({
    ...tools,
    write: () => Promise.reject(new Error('denied')),
  }));
  expect(run.table).toBeNull();
  expect(run.answer).toContain('LINES.md could not be written: Error: denied');
  expect(run.answer).toContain('| `api` | 1 | 3 |');
});

test('without the tools it needs the demo says which are missing', async () => {
  const run = await demo({}, ({ glob, read }) => ({ ...(glob && { glob }), ...(read && { read }) }));
  expect(run.answer).toContain('The demo task needs the tools grep, write, which this run does not have.');
});

test('the task is recognised whatever its spaces and capitals, and nothing else is', () => {
  expect(isDemoTask(`  ${DEMO_TASK.toUpperCase().replaceAll(' ', ' \n ')}. `)).toBe(true);
  expect(isDemoTask(`${DEMO_TASK} please`)).toBe(false);
});

test('another prompt is refused with the way out, at the start and after the demo, and the demo can be run again', async () => {
  const cwd = await project({ 'a/b.ts': 1 });
  const server = await model(hurried);
  const tools = demoTools(cwd);
  const refusal = `The scripted model only does the demo task ("${DEMO_TASK}"). Set ANTHROPIC_API_KEY to run your own task with a real model.`;
  await expect(runAgent(server, tools, 'Fix the bug')).rejects.toMatchObject({ status: 400, apiMessage: refusal });
  await runAgent(server, tools, DEMO_TASK);
  const body = server.requests.at(-1)?.body as { messages: Parameters<typeof runAgent>[3] };
  const after = [...(body.messages ?? []), { role: 'assistant' as const, content: 'Done.' }];
  await expect(runAgent(server, tools, 'Thanks', after)).rejects.toMatchObject({ status: 400 });
  expect((await runAgent(server, tools, DEMO_TASK, after)).calls.length).toBeGreaterThan(3);
  expect(server.problems).toEqual([]);
});

test('the demo streams at a pace to read along, and is over well within ten seconds', async () => {
  const cwd = await project(Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`folder${n}/a.ts`, 2])));
  const paces: number[] = [];
  const server = await model((request) => {
    const said: Reply = demoScript(request);
    const pieces = JSON.stringify(said.content).length / (said.deltaChars ?? 1) + 5 * (said.content?.length ?? 0);
    paces.push(pieces * (said.msPerEvent ?? 0));
    return { ...said, msPerEvent: 0 };
  });
  await runAgent(server, demoTools(cwd), DEMO_TASK);
  expect(Math.min(...paces)).toBeGreaterThan(50);
  expect(paces.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(8_000);
});
