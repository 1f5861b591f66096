import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { findPrograms } from '../../../system/process/programs.ts';
import { spawnTree } from '../../../system/process/spawn-tree.ts';
import { tempFolder } from '../support.ts';

async function run(argv: readonly string[], cwd = tempFolder()): Promise<{ output: string; code: number | null }> {
  let output = '';
  const env = { PATH: process.env['PATH'] ?? '' };
  const onOutput = (bytes: Uint8Array): void => void (output += Buffer.from(bytes).toString());
  const pipes = { folder: tempFolder(), programs: findPrograms(process.env) };
  const tree = await spawnTree(argv, { cwd, env, pipes, onOutput });
  const { code } = await tree.exit;
  await tree.drained;
  return { output, code };
}

test('output and errors come in the order they were written', async () => {
  const command = 'for n in 1 2 3; do echo out $n; echo err $n >&2; done; exit 7';
  expect(await run(['bash', '-c', command])).toEqual({ output: 'out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n', code: 7 });
});

test('a command can open /dev/stdout and /dev/stderr, and finds its input empty', async () => {
  const command = 'echo one > /dev/stdout; echo two | tee /dev/stderr; cat; read x || echo no input';
  expect(await run(['bash', '-c', command])).toEqual({ output: 'one\ntwo\ntwo\nno input\n', code: 0 });
});

test.each([
  ['a program that is not there', ['/perdure/no/such/program'], undefined, 'ENOENT'],
  ['a folder that is not there', ['true'], '/perdure/no/such/folder', 'ENOENT'],
  ['arguments that are too long', ['true', 'x'.repeat(200_000)], undefined, 'E2BIG'],
])('%s is an error of the system, and nothing is left open', async (_, argv, cwd, code) => {
  const open = (): number => readdirSync('/proc/self/fd').length;
  const before = open();
  await expect(run(argv, cwd)).rejects.toMatchObject({ code });
  expect(open()).toBeLessThanOrEqual(before);
});

test('nothing is left open after many runs', async () => {
  await run(['true']);
  const before = readdirSync('/proc/self/fd').length;
  for (let n = 0; n < 10; n++) await run(['true']);
  expect(readdirSync('/proc/self/fd').length).toBeLessThanOrEqual(before);
});
