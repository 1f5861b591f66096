// Where a configuration comes from, and how one that cannot be used is told.
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { ConfigProblem } from '../../worker/config/config.ts';
import { loadConfig } from '../../worker/config/load-config.ts';
import { compiled, outputOf, startNode } from '../support/compiled.ts';
import { tempDir } from '../support/temp-dir.ts';

function written(dir: string, name: string, text: string): string {
  const file = join(dir, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const own = 'perdure/perdure.config.mjs';
const naming = (model: string): string => `export default { model: '${model}' };`;

test('the file that is named goes before PERDURE_CONFIG, and that before the own one', async () => {
  const dir = tempDir();
  const named = written(dir, 'named.mjs', naming('named'));
  const PERDURE_CONFIG = written(dir, 'set.mjs', naming('set'));
  const env = { HOME: dir, XDG_CONFIG_HOME: join(dir, 'xdg') };
  const path = written(dir, join('xdg', own), naming('own'));
  expect(await loadConfig(named, { ...env, PERDURE_CONFIG })).toEqual({ path: named, config: { model: 'named' } });
  expect((await loadConfig(undefined, { ...env, PERDURE_CONFIG })).config).toEqual({ model: 'set' });
  expect(await loadConfig(undefined, { ...env, PERDURE_CONFIG: '' })).toEqual({ path, config: { model: 'own' } });
});

test('a file in the folder where a command starts is not looked at', async () => {
  const dir = tempDir();
  written(dir, 'perdure.config.mjs', naming('of the workspace'));
  const before = process.cwd;
  process.cwd = () => dir;
  try {
    expect(await loadConfig(undefined, { HOME: join(dir, 'home') })).toEqual({ path: null, config: {} });
  } finally {
    process.cwd = before;
  }
});

test.each([
  ['a file that is not there', null, /cannot be read: ENOENT.*; correct the path or its permissions$/],
  ['a file that is broken', 'export default {', /cannot be loaded: /],
  ['a file that throws', 'throw new Error("no luck")', /cannot be loaded: no luck$/],
  ['a file without a default export', 'export const config = {};', /has no default export: write `export default/],
  ['a wrong key', 'export default { modle: 1 };', /: "modle" is no key of the configuration/],
])('%s is told in one line that names it', async (_, text, told) => {
  const file = text === null ? join(tempDir(), 'none.mjs') : written(tempDir(), 'c.mjs', text);
  const loading = loadConfig(file, {});
  await expect(loading).rejects.toThrow(ConfigProblem);
  await expect(loading).rejects.toThrow(told);
  await expect(loading).rejects.toThrow(new RegExp(`^the configuration ${file}[^\\n]*$`));
});

test.each<[string, string, (file: string) => void, string]>([
  ['a folder', 'c.mjs', (file) => mkdirSync(file), 'cannot be read: EISDIR'],
  ['a pipe', 'c.mjs', (file) => execFileSync('mkfifo', [file]), 'cannot be read: it is no regular file'],
  ['a link to a device', 'c.mjs', (file) => symlinkSync('/dev/zero', file), 'cannot be read: it is no regular file'],
  ['a file of another kind', 'c.json', (file) => writeFileSync(file, '{}'), 'is not a .ts, .mjs or .js file'],
])('%s is told as well, and not waited for', async (_, name, make, told) => {
  const file = join(tempDir(), name);
  make(file);
  await expect(loadConfig(file, {})).rejects.toThrow(ConfigProblem);
  await expect(loadConfig(file, {})).rejects.toThrow(`the configuration ${file} ${told}`);
});

const loader = `
  import { loadConfig } from './worker/config/load-config.js';
  try { console.log(JSON.stringify(await loadConfig(process.argv[2], {}))); } catch (error) { console.log(error.message); }
`;

test('a configuration in TypeScript is loaded by plain Node, with what it imports', async () => {
  const script = written(dirname(dirname(dirname(compiled('worker/config/load-config.ts')))), 'load.mjs', loader);
  const dir = tempDir();
  written(dir, 'model.ts', 'export const model: string = "typed";');
  const good = written(
    dir,
    'c.ts',
    'import { model } from "./model.ts";\nexport default { model, maxTurns: 3 as number };',
  );
  const broken = written(dir, 'broken.ts', 'export default {\n  model: ,\n};');
  expect(await outputOf(startNode(script, good))).toEqual([
    JSON.stringify({ path: good, config: { model: 'typed', maxTurns: 3 } }),
  ]);
  const [said = ''] = await outputOf(startNode(script, broken));
  expect(said).toMatch(/^the configuration .*broken\.ts cannot be loaded: ./);
});
