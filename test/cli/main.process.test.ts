// The command line as a process: how it exits, what it is told by signals, and what would hold it
// open.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { tempDir } from '../support/temp-dir.ts';

const script = fileURLToPath(new URL('../client/perdure.mjs', import.meta.url));

type Call = {
  readonly cwd?: string;
  readonly input?: string | Buffer;
  /** Called when the process runs. */
  readonly begun?: () => void;
};

async function perdure(args: readonly string[], { cwd = tempDir(), input = '', begun }: Call = {}) {
  const data = join(tempDir(), 'data');
  const child = spawn(process.execPath, [script, ...args], {
    cwd,
    env: { PATH: process.env['PATH'], HOME: tempDir(), PERDURE_DATA: data, ANTHROPIC_API_KEY: 'key' },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  begun?.();
  child.stdin.end(input);
  let [out, err] = ['', ''];
  child.stdout.on('data', (text) => (out += String(text)));
  child.stderr.on('data', (text) => (err += String(text)));
  const status = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { status, out, err, data };
}

test('exits with status 2 and one line on standard error for what it refuses, and starts nothing', async () => {
  const { status, out, err, data } = await perdure(['run', '--fast', 'do it']);
  expect(err).toMatch(/^perdure: unknown option '--fast'[^\n]*\n$/);
  expect({ status, out, started: existsSync(data) }).toEqual({ status: 2, out: '', started: false });
});

test.each([
  ['run', '--allow', 'bsh(npm test)', 'do it'],
  ['start', '--deny', 'raed(secrets/**)', 'do it'],
  ['schedule', 'create', '0 3 * * *', 'do it', '--allow', 'wirte(src/**)'],
])(
  'refuses a rule that must have meant another tool, with status 2, and starts nothing: %s %s %s (L55)',
  async (...args) => {
    const { status, out, err, data } = await perdure(args);
    expect(err).toMatch(/^perdure: permission rule "[^"]+" names no tool: did you mean (?:bash|read|write)\?\n$/);
    expect({ status, out, started: existsSync(data) }).toEqual({ status: 2, out: '', started: false });
  },
);

test('takes a rule about a tool that only its configuration has (L55)', async () => {
  const cwd = tempDir();
  const tool =
    "{ name: 'bsh', description: 'x', inputSchema: { type: 'object' }, risk: 'read', recovery: 'rerun', call: async () => 'x' }";
  writeFileSync(join(cwd, 'c.mjs'), `export default { tools: [${tool}] };`);
  const { err } = await perdure(['run', '--config', 'c.mjs', '--allow', 'bsh', '--prompt-file', 'nowhere'], { cwd });
  expect(err).toMatch(/nowhere/);
});

test('reads its task from standard input, and refuses what is not UTF-8', async () => {
  const { status, out, err } = await perdure(['run', '-'], { input: Buffer.from('caf\u00e9', 'latin1') });
  expect(err).toMatch(/^perdure: standard input cannot be read \(it is not UTF-8\): [^\n]*\n$/);
  expect({ status, out }).toEqual({ status: 2, out: '' });
});

test('exits with status 0 when it was asked for its version, which goes to standard output', async () => {
  expect(await perdure(['--version'])).toMatchObject({
    status: 0,
    out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    err: '',
  });
});

test('says that the current folder is gone', async () => {
  const cwd = join(tempDir(), 'here');
  mkdirSync(cwd);
  const { status, err } = await perdure(['run', 'do it'], { cwd, begun: () => rmSync(cwd, { recursive: true }) });
  expect({ status, err }).toEqual({
    status: 2,
    err: 'perdure: the current directory no longer exists: change to another one\n',
  });
});

test('serves a scripted model at the address it prints, until it is stopped', async () => {
  const dir = tempDir();
  writeFileSync(join(dir, 'script.json'), '{"replies":[]}');
  const child = spawn(process.execPath, [script, 'scripted-model', '--script', 'script.json'], { cwd: dir });
  const url = await new Promise<string>((resolve) => child.stdout.once('data', (text) => resolve(String(text).trim())));
  expect(
    (await fetch(`${url}/v1/models/any`, { headers: { 'x-api-key': 'k', 'anthropic-version': '2023-06-01' } })).status,
  ).toBe(200);
  child.kill('SIGTERM');
  expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(0);
});

test('ends with status 2 and one line for a configuration that is never loaded, also when that holds a timer', async () => {
  const load = async (first: string): Promise<void> => {
    const cwd = tempDir();
    writeFileSync(join(cwd, 'c.mjs'), `${first} await new Promise(() => {}); export default {};`);
    const { status, out, err, data } = await perdure(['run', '--config', 'c.mjs', 'do it'], { cwd });
    expect(err).toMatch(/^perdure: the configuration [^\n]*c\.mjs was not loaded within 5000 ms: [^\n]*\n$/);
    expect({ status, out, started: existsSync(data) }).toEqual({ status: 2, out: '', started: false });
  };
  await Promise.all([load(''), load('setInterval(() => {}, 1_000);')]);
});
