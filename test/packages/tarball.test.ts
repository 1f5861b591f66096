// The packed tarball as a user gets it: what is in it, and what works in an empty project that has
// nothing else.
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { reply, text, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor } from '../support/cli.ts';
import { PROGRAMS } from '../support/packed-project.ts';
import { copiesOf, emptyProject, projectAt, root, runProgram } from './empty-project.ts';
import { namedTypes } from './named-types.ts';

const MANAGERS = ['npm', 'pnpm'] as const;

const tarball = inject('tarball');
const folder = mkdtempSync(join(tmpdir(), 'perdure-pnpm-'));
const projects = new Map([['npm', projectAt(inject('npmProject'))]]);

beforeAll(async () => {
  projects.set('pnpm', await emptyProject(join(folder, 'pnpm'), tarball, 'pnpm', PROGRAMS));
});

afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));

function project(manager: string) {
  const found = projects.get(manager);
  if (found === undefined) throw new Error(`no project was made with ${manager}`);
  return found;
}

test('the tarball is at most 3 MB and holds no test, no benchmark and no build information (Q1)', async () => {
  expect(statSync(tarball).size).toBeLessThan(3_000_000);
  const { out } = await runProgram('tar', ['tzf', tarball], { cwd: root });
  const files = out.trim().split('\n');
  expect(files).toEqual(expect.arrayContaining(['package/bin/perdure.mjs', 'package/dist/workflow-bundle.js']));
  const rooms = new Set(files.map((file) => file.split('/').slice(1, 3).join('/')));
  expect(
    [...rooms].filter((room) =>
      /^(?:test|dist\/bench|docs\/(?!events\.v1|openapi\.v1)|examples|node_modules)|tsbuildinfo/.test(room),
    ),
  ).toEqual([]);
});

test('publint and attw find nothing (Q1)', async () => {
  const options = { cwd: root };
  const bin = (name: string) => join(root, 'node_modules/.bin', name);
  expect(await runProgram(bin('publint'), ['--strict', tarball], options)).toMatchObject({ status: 0 });
  expect(await runProgram(bin('attw'), ['--profile', 'esm-only', tarball], options)).toMatchObject({ status: 0 });
});

test('a project gets one copy of each @temporalio package (Q1)', () => {
  const copies = copiesOf('@temporalio', project('npm').folder);
  expect([...copies.keys()]).toEqual(expect.arrayContaining(['client', 'common', 'worker', 'workflow']));
  expect([...copies.values()].filter((folders) => folders.length > 1)).toEqual([]);
});

test.each(MANAGERS)('`npx perdure run` runs a task in a project made with %s (Q1)', async (manager) => {
  const { env, cwd } = cliPlace(await modelFor([reply([text('Done here.')])]));
  const program = join(project(manager).folder, 'node_modules/.bin/perdure');
  const ran = await runProgram(program, ['run', 'Go.'], { cwd, env });
  expect(ran).toMatchObject({ status: 0, out: expect.stringContaining('Done here.') as string });
});

test.each(MANAGERS)('query() with a tool runs in a project made with %s (Q1)', async (manager) => {
  const model = await modelFor([reply([toolUse('stock', { article: 'lamp' })]), reply([text('Asked in a program.')])]);
  const { env } = cliPlace(model);
  const { folder: cwd, write } = project(manager);
  const program = write(
    'ask.mjs',
    `import { query } from 'perdure';
     import { defineTool } from 'perdure/tool';
     import { z } from 'zod';
     const stock = defineTool({
       name: 'stock', description: 'Counts.', risk: 'read', recovery: 'rerun',
       inputSchema: z.object({ article: z.string() }),
       call: async ({ article }) => ({ content: 'there are 12 of ' + article }),
     });
     const { text } = await query({ prompt: 'Go.', options: { config: { tools: [stock] } } }).result();
     process.stdout.write(text);`,
  );
  const ran = await runProgram(process.execPath, [program], { cwd, env });
  expect(ran).toMatchObject({ status: 0, err: '', out: 'Asked in a program.' });
  expect(JSON.stringify(model.requests[1]?.body)).toContain('there are 12 of lamp');
});

test('a CommonJS program gets the same with require() (Q1)', async () => {
  const { env } = cliPlace(await modelFor([reply([text('Asked by require.')])]));
  const { folder: cwd, write } = project('npm');
  const program = write(
    'ask.cjs',
    `const { query } = require('perdure');
     query({ prompt: 'Go.' }).result().then(({ text }) => process.stdout.write(text));`,
  );
  const ran = await runProgram(process.execPath, [program], { cwd, env });
  expect(ran).toMatchObject({ status: 0, err: '', out: 'Asked by require.' });
});

test('a worker on a queue of its own does what openServer({ taskQueue }) sends there (Q1)', async () => {
  const { env } = cliPlace(await modelFor([reply([text('From my own queue.')])]));
  const { folder: cwd, write } = project('npm');
  const program = write(
    'worker.mjs',
    `import { openServer } from 'perdure';
     import { createWorker } from 'perdure/worker';
     const server = await openServer({ taskQueue: 'mine' });
     const worker = await createWorker({ taskQueue: 'mine', log: () => undefined });
     const { session, messageId } = await server.sessions.start('Go.', {});
     for await (const event of server.sessions.follow(session, { messageId })) {
       if (event.type !== 'result') continue;
       process.stdout.write(event.text);
       break;
     }
     await worker.stop();
     await server.close();`,
  );
  const ran = await runProgram(process.execPath, [program], { cwd, env });
  expect(ran).toMatchObject({ status: 0, out: 'From my own queue.' });
});

test('the types of a program are checked without the checkout, libraries too (Q2)', async () => {
  const { folder: cwd, write } = project('npm');
  const program = write(
    'typed.mts',
    `import { createClient, openServer, query, RunFailed, type QueryEvent, type RunOptions, type Store } from 'perdure';
     import { PerdurePlugin } from 'perdure/plugin';
     import { reply, runInMemory, testEnvironment } from 'perdure/testing';
     import { defineTool } from 'perdure/tool';
     import { createWorker, type PerdureConfig } from 'perdure/worker';
     import { runAgent, type RunReport } from 'perdure/workflow';
     import { z } from 'zod';
     const look = defineTool({
       name: 'look', description: 'Looks.', risk: 'read', recovery: 'rerun',
       inputSchema: z.object({ at: z.string() }),
       call: async ({ at }) => ({ content: at }),
     });
     export const config: PerdureConfig = { tools: [look] };
     export const events: QueryEvent[] = [];
     export const options: Partial<RunOptions> = { tools: ['read'] };
     export const stores: Store[] = [];
     for await (const event of query({ prompt: 'Go.', options: { config } })) events.push(event);
     export const run = async (): Promise<RunReport> => runAgent({ prompt: 'Go.', options: { cwd: '/work' } });
     export const used = [reply, runInMemory, testEnvironment, PerdurePlugin, createClient, openServer, createWorker, RunFailed];
     // @ts-expect-error: there is no such option.
     void query({ prompt: 'Go.', options: { promt: 1 } });`,
  );
  const named = write('named.mts', namedTypes());
  const tsc = join(cwd, 'node_modules/typescript/bin/tsc');
  const flags = [
    '--noEmit',
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'es2023',
    '--lib',
    'es2023',
    '--types',
    'node',
    '--skipLibCheck',
  ];
  expect(await runProgram(process.execPath, [tsc, ...flags, program, named], { cwd })).toMatchObject({
    status: 0,
    err: '',
    out: '',
  });
});

test.each([
  ['typescript', { ignoreDeprecations: '6.0' }],
  ['typescript5', {}],
])('the types of each entry are found with `moduleResolution: node10`, by %s (Q2)', async (compiler, more) => {
  const modules = join(project('npm').folder, 'node_modules');
  const cwd = join(modules, '..', `node10-${compiler}`);
  mkdirSync(cwd);
  const options = {
    module: 'commonjs',
    moduleResolution: 'node10',
    target: 'es2022',
    lib: ['es2023'],
    types: ['node'],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    esModuleInterop: true,
  };
  const config = { compilerOptions: { ...options, ...more }, files: ['older.ts'] };
  writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify(config));
  const program = `import { createClient, newMessageId, query, type PerdureClient, type RunOptions } from 'perdure';
    import { query as ask, type Options } from 'perdure/agent-sdk';
    import { PerdurePlugin } from 'perdure/plugin';
    import { runInMemory, testEnvironment } from 'perdure/testing';
    import { defineTool } from 'perdure/tool';
    import { createWorker, type PerdureConfig } from 'perdure/worker';
    import { runAgent, type RunReport } from 'perdure/workflow';
    export const options: Partial<RunOptions> = { tools: ['read'] };
    export const config: PerdureConfig = { permissions: { allow: ['read'] } };
    export const start = (client: PerdureClient) => client.start('Go.', { messageId: newMessageId() });
    export const run = async (): Promise<RunReport> => runAgent({ prompt: 'Go.', options: { cwd: '/work' } });
    export const asked: Options = { maxTurns: 3 };
    export const used = [createClient, query, ask, PerdurePlugin, runInMemory, testEnvironment, defineTool, createWorker];
    // @ts-expect-error: there is no such option.
    void query({ prompt: 'Go.', options: { promt: 1 } });
    // @ts-expect-error: there is no such key.
    export const wrong: PerdureConfig = { permission: {} };
    // @ts-expect-error: it has no such risk.
    defineTool({ name: 'a', description: 'b', risk: 'none', inputSchema: {}, call: async () => ({ content: '' }) });`;
  writeFileSync(join(cwd, 'older.ts'), program);
  const tsc = join(modules, compiler, 'bin/tsc');
  expect(await runProgram(process.execPath, [tsc, '-p', cwd], { cwd })).toMatchObject({ status: 0, err: '', out: '' });
});
