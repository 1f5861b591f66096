// The program in the README, run as it stands there against the scripted model.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { reply, text, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor } from '../support/cli.ts';

const root = resolve(import.meta.dirname, '../..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');

/** As a project of its own would have it: `perdure` and `zod` are in its node_modules. */
function programIn(folder: string): string {
  const [, code = ''] = /```ts\n([\s\S]+?)```/.exec(readme) ?? [];
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  symlinkSync(root, join(modules, 'perdure'));
  symlinkSync(join(root, 'node_modules/zod'), join(modules, 'zod'));
  const file = join(folder, 'program.mjs');
  writeFileSync(file, code);
  return file;
}

test('the tool and the query() in the README run as they stand there (L52)', async () => {
  const model = await modelFor([
    reply([toolUse('stock', { article: 'lamps' })]),
    reply([text('There are 12 lamps left.')]),
  ]);
  const { root: folder, cwd, env, run } = cliPlace(model);
  // Builds what the program imports when the sources are newer.
  expect((await run('--version')).status).toBe(0);
  const child = spawn(process.execPath, [programIn(folder)], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()));
  child.stderr.on('data', (bytes: Buffer) => (err += bytes.toString()));
  const [status] = (await once(child, 'close')) as [number | null];
  expect({ status, out, err }).toEqual({ status: 0, out: 'There are 12 lamps left.', err: '' });
  expect(JSON.stringify(model.requests[1]?.body)).toContain('lamps: 12');
  expect(model.problems).toEqual([]);
});
