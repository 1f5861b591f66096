// Where a configuration comes from, and how one that cannot be used is told.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { ConfigProblem } from '../../worker/config/config.ts';
import { loadConfig, importTypeScript } from '../../worker/config/load-config.ts';
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
  ['a pipe', 'c.mjs', (file) => execFileSync('mkfifo', [file]), 'cannot be read: it is not a regular file'],
  ['a link to a device', 'c.mjs', (file) => symlinkSync('/dev/zero', file), 'cannot be read: it is not a regular file'],
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
  expect(said).toMatch(/^the configuration .*broken\.ts cannot be loaded: Unexpected token \(.*broken\.ts:2:9\)$/);
});

test.each([
  ['that is not there', 'import x from "./none.ts";\nexport default x;', /^Cannot find module '\.\/none\.ts'$/],
  [
    'without what is imported',
    'import { guard } from "./hooks.ts";\nexport default { guard };',
    /^\.\/hooks\.ts has no export for guard$/,
  ],
  ['that throws', 'throw new Error("no luck");', /^no luck$/],
])('a configuration in TypeScript with a module %s is told in one line', async (_, text, told) => {
  const dir = tempDir();
  written(dir, 'hooks.ts', 'export type guard = string;\nexport const guards: number = 1;');
  const file = written(dir, 'c.ts', text);
  const error = (await loadConfig(file, {}).catch((thrown: unknown) => thrown)) as Error;
  expect(error).toBeInstanceOf(ConfigProblem);
  const start = `the configuration ${file} cannot be loaded: `;
  expect(error.message.slice(0, start.length)).toBe(start);
  expect(error.message.slice(start.length)).toMatch(told);
});

test('a configuration in TypeScript has the packages that lie beside it once, as the worker has them, enums, and waits', async () => {
  const dir = tempDir();
  symlinkSync(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(dir, 'node_modules'));
  const file = written(
    dir,
    'c.ts',
    `import { z } from 'zod';
    import { hostname } from 'node:os';
    import type { Stats } from 'node:fs';
    enum Model { Own = 'own' }
    const { rest } = await import('./rest.ts');
    export const inputSchema = z.strictObject({});
    export const stats = (of: Stats) => [of, hostname(), import.meta.url];
    export default { model: Model.Own, ...rest };`,
  );
  written(dir, 'rest.ts', 'export const rest: object = { maxTurns: 3 };');
  expect((await loadConfig(file, {})).config).toEqual({ model: 'own', maxTurns: 3 });
  const { inputSchema } = (await importTypeScript(file)) as { inputSchema: unknown };
  expect(inputSchema).toBeInstanceOf(z.ZodObject);
});

test('what is compiled of a configuration in TypeScript lies nowhere: another could put a file of his in its place', async () => {
  const file = written(tempDir(), 'c.ts', 'export default { maxTurns: 4 as number };');
  const dir = tempDir();
  const before = process.env['TMPDIR'];
  process.env['TMPDIR'] = dir;
  process.env['JITI_FS_CACHE'] = 'true';
  try {
    expect((await loadConfig(file, {})).config).toEqual({ maxTurns: 4 });
    expect(readdirSync(dir)).toEqual([]);
  } finally {
    delete process.env['JITI_FS_CACHE'];
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  }
});
