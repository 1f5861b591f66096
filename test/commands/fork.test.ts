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
  expect(again).toMatchObject({ status: 1 });
  expect(again.err).toContain('is there already, and is not empty: name another folder');
  expect((await run('fork', 's-1', '--no-files', '--worktree')).status).toBe(2);
});
