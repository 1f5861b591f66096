// `perdure fork` at the command line: without a worker that stays, in a folder of its own (T10).
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, jsonLines, modelFor } from '../support/cli.ts';

test('a session is forked at a point, its files checked out, and list and show say whence (T10)', async () => {
  const model = await modelFor([
    reply([toolUse('write', { path: 'cart.ts', content: 'export const cart = [];\n' })]),
    reply('Made.'),
    reply([toolUse('bash', { command: 'rm cart.ts' })]),
    reply('Gone.'),
  ]);
  const { cwd, run } = cliPlace(model);
  const config = join(cwd, '..', 'config.mjs');
  writeFileSync(config, 'export default { snapshots: true, memory: false, batchSummaries: false };\n');
  const options = ['--config', config, '--permission-mode', 'bypass'];
  expect(await run('run', ...options, '--session', 's-1', 'Make a cart.')).toMatchObject({ status: 0 });
  expect(await run('run', ...options, '--session', 's-1', 'Remove it.')).toMatchObject({ status: 0 });
  expect(existsSync(join(cwd, 'cart.ts'))).toBe(false);
  const entries = jsonLines((await run('show', 's-1', '--json')).out);
  const prompt = entries.findLast(({ kind }) => kind === 'user');
  const folder = join(cwd, '..', 'sqlite');
  const at = String(prompt?.['position']);
  const forked = await run('fork', 's-1', '--at', at, '--files', folder, 'Use SQLite.');
  expect(forked).toMatchObject({ status: 0, out: expect.stringMatching(/^s-\w{10}\n$/) });
  expect(forked.err).toContain(`its files are in ${folder}`);
  expect(readFileSync(join(folder, 'cart.ts'), 'utf8')).toBe('export const cart = [];\n');
  const fork = forked.out.trim();
  expect((await run('list')).out).toContain(`⑂ s-1: Make a cart.`);
  const shown = (await run('show', fork)).out;
  expect(shown).toContain(`forked from s-1 at entry `);
  expect(shown).not.toContain('Gone.');
  const again = await run('fork', 's-1', '--files', folder);
  expect(again).toMatchObject({ status: 2 });
  expect(again.err).toContain("already exists and isn't empty. Choose another folder.");
  expect((await run('fork', 's-1', '--no-files', '--worktree')).status).toBe(2);
});

test('a fork that moves to another machine as a file has all it shares: show and diff tell of it there (W4 T4 T10)', async () => {
  const from = cliPlace(
    await modelFor([
      reply([toolUse('bash', { command: 'echo one > one' })]),
      reply('Origin.'),
      reply([toolUse('bash', { command: 'echo two > two' })]),
      reply('Forked.'),
    ]),
  );
  const config = join(from.cwd, '..', 'config.mjs');
  writeFileSync(config, 'export default { snapshots: true, memory: false, batchSummaries: false };\n');
  const options = ['--config', config, '--permission-mode', 'bypass'];
  expect(await from.run('run', ...options, '--session', 's-1', 'Make one.')).toMatchObject({ status: 0 });
  const fork = (await from.run('fork', 's-1')).out.trim();
  expect(await from.run('run', ...options, '--session', fork, 'Make two.')).toMatchObject({ status: 0 });
  const there = await from.run('diff', fork, '--stat');
  expect(there).toMatchObject({ status: 0, out: expect.stringMatching(/one .*two .*2 files changed/s) });
  const file = join(from.cwd, '..', 'fork.perdure');
  expect(await from.run('export', fork, file)).toMatchObject({ status: 0 });
  const to = cliPlace(null);
  const taken = await to.run('import', '--yes', file);
  expect(taken).toMatchObject({ status: 0, out: `${fork}\n` });
  const shown = (await to.run('show', fork)).out;
  for (const words of ['forked from s-1 at entry ', 'Origin.', 'Forked.']) expect(shown).toContain(words);
  expect(await to.run('diff', fork, '--stat')).toMatchObject({ status: 0, out: there.out });
});
