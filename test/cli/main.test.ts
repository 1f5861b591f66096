// The command line as people call it, as far as it gets without a server: what it refuses, how it
// ends, what it prints where. Its main function runs in this process; what is a matter of the
// process itself is in a file of its own.
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mainHere } from '../support/cli-here.ts';
import { tempDir } from '../support/temp-dir.ts';

type Call = {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly input?: string | Buffer;
};

async function perdure(args: readonly string[], { env = {}, cwd = tempDir(), input = '' }: Call = {}) {
  const data = join(tempDir(), 'data');
  const own = { PATH: process.env['PATH'], HOME: tempDir(), PERDURE_DATA: data, ANTHROPIC_API_KEY: 'key', ...env };
  return { ...(await mainHere(args, { cwd: () => cwd, env: own, input })), data };
}

test.each<[string, readonly string[], string]>([
  ['an unknown flag', ['run', '--fast', 'do it'], "unknown option '--fast'"],
  ['an unknown command', ['rum', 'do it'], "unknown command 'rum'"],
  ['help about no command', ['help', 'nothing'], 'Unknown command "nothing". Run `perdure --help` for a list.'],
  ['no task', ['run'], 'the task is missing'],
  ['an empty task', ['run', ' \n'], 'the prompt is empty'],
  ['an empty task from standard input', ['run', '-'], 'the prompt is empty'],
  ['a task without quotes', ['run', 'do', 'it'], "too many arguments for 'run'"],
  ['no session', ['watch'], "missing required argument 'id'"],
  ['a session id that is none', ['show', '../x'], 'is no session id'],
  [
    'a folder that is not there',
    ['run', '--cwd', '/no/such/folder', 'do it'],
    'the directory /no/such/folder does not exist',
  ],
  ['an empty folder', ['run', '--cwd', '', 'do it'], '--cwd is empty: name a directory'],
  ['an absurd limit', ['start', '--max-turns', '-1', 'do it'], 'max turns is -1'],
  ['a prompt file that is not there', ['send', 's-1', '--prompt-file', 'none.txt'], 'none.txt does not exist'],
  ['a script that is not there', ['scripted-model', '--script', 'none.json'], 'the script none.json does not exist'],
  ['a decision about no call', ['approve', 's-1'], 'name the call: `perdure approvals` lists them'],
  ['an input that is not JSON', ['approve', 's-1', '1.1.0', '--input', 'ls'], 'the input is not JSON'],
  ['a denial without a reason', ['deny', 's-1', '1.1.0'], "required option '--reason <text>' not specified"],
  ['an empty reason', ['deny', 's-1', '1.1.0', '--reason', ' '], 'the reason is empty'],
  ['a position that is none', ['snip', 's-1', 'x'], '"x" is not the position of an entry'],
  ['a configuration that is not there', ['worker', '--config', 'none.mjs'], 'none.mjs cannot be read'],
  ['a configuration that is not there, for a run', ['run', '--config', 'none.mjs', 'do it'], 'none.mjs cannot be read'],
  [
    'a flag of agents without them',
    ['serve', '--managed-url', 'https://a.example'],
    '--managed-url belongs to --managed',
  ],
  [
    'a lease that is too short',
    ['serve', '--managed', 'agents', '--managed-lease', '1s'],
    '--managed-lease 1s: give from 10s to 5m',
  ],
  ...['agents.example', 'ftp://a.example', 'https://a.example/?b', 'https://u:p@a.example'].map(
    (url): [string, readonly string[], string] => [
      `the public address ${url}`,
      ['serve', '--managed', 'agents', '--managed-url', url],
      'give an address such as https://agents.example',
    ],
  ),
  ['a limit that is no number', ['list', '--limit', 'all'], 'give a whole number'],
])('refuses %s in one line on standard error, with status 2, and starts nothing', async (_what, args, sentence) => {
  const { status, out, err, data } = await perdure(args);
  expect(err).toContain(sentence);
  expect(err).toMatch(/^perdure: [^\n]*\n$/);
  expect({ status, out, started: existsSync(data) }).toEqual({ status: 2, out: '', started: false });
});

test('refuses standard input that is not UTF-8, and changes nothing in what is', async () => {
  const { status, out, err, data } = await perdure(['run', '-'], { input: Buffer.from('caf\u00e9', 'latin1') });
  expect(err).toMatch(/^perdure: standard input cannot be read \(it is not UTF-8\): [^\n]*\n$/);
  expect({ status, out, started: existsSync(data) }).toEqual({ status: 2, out: '', started: false });
});

test('refuses an output schema that no answer can be held to, and starts nothing (L53)', async () => {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'schema.json'), '{"type":"object","requried":["sum"]}');
  const { status, err, data } = await perdure(['run', '--output-schema', 'schema.json', 'do it'], { cwd });
  expect(err).toBe(
    'perdure: the output schema cannot be used: $ has "requried", which is not enforced: correct it or leave it out\n',
  );
  expect({ status, started: existsSync(data) }).toEqual({ status: 2, started: false });
});

test('refuses another task than the demo without a key, and says what to set', async () => {
  const env = { ANTHROPIC_API_KEY: '' };
  const { status, out, err, data } = await perdure(['run', 'write a poem'], { env });
  expect(err).toMatch(/^perdure: No API key found\. Set ANTHROPIC_API_KEY [^\n]*`perdure run --demo`\.\n$/);
  expect({ status, out, started: existsSync(join(data, 'temporal.db')) }).toEqual({
    status: 2,
    out: '',
    started: false,
  });
});

test('refuses `npm start` without a task', async () => {
  expect(await perdure(['start-here'])).toMatchObject({
    status: 2,
    err: expect.stringContaining('the task is missing'),
  });
});

test('says in one line that no server answers where one was named', async () => {
  const env = { TEMPORAL_ADDRESS: '127.0.0.1:1' };
  const { status, out, err } = await perdure(['list'], { env });
  expect(err).toMatch(/^perdure: no Temporal server answers at 127\.0\.0\.1:1: [^\n]*\n$/);
  expect({ status, out }).toEqual({ status: 2, out: '' });
});

test.each([
  ['of another version', '{"version":99}', 'another version of perdure made'],
  ['damaged', 'x', 'is damaged'],
])('says in one line that the data folder is %s, and changes nothing in it', async (_what, content, sentence) => {
  const data = tempDir();
  writeFileSync(join(data, 'data.json'), content);
  const { status, err } = await perdure(['list'], { env: { PERDURE_DATA: data } });
  expect(err).toMatch(/^perdure: [^\n]*\n$/);
  expect(err).toContain(sentence);
  expect({ status, files: readdirSync(data) }).toEqual({ status: 2, files: ['data.json'] });
});

test('shows the stack only to those who ask for it', async () => {
  const call = { env: { PERDURE_DATA: '/dev/null/x' } };
  expect((await perdure(['list'], call)).err).toMatch(/^perdure: [^\n]*\n$/);
  expect((await perdure(['list', '--verbose'], call)).err).toMatch(/\n +at /);
});

test('prints its version and its help to standard output', async () => {
  expect(await perdure(['--version'])).toMatchObject({
    status: 0,
    out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    err: '',
  });
  const help = await perdure(['--help']);
  expect(help).toMatchObject({ status: 0, err: '' });
  for (const command of [
    'dev',
    'worker',
    'run',
    'start',
    'watch',
    'send',
    'interrupt',
    'cancel',
    'approvals',
    'approve',
    'deny',
    'resume',
    'snip',
    'list',
    'show',
    'doctor',
    'scripted-model',
  ])
    expect(help.out).toMatch(new RegExp(`^  ${command} `, 'm'));
  expect(help.out).not.toContain('start-here');
});

test('starts nothing for a run whose model could not be reached: a session would wait for the next worker', async () => {
  const env = { ANTHROPIC_BASE_URL: 'not a url' };
  const { status, out, err, data } = await perdure(['run', 'do it'], { env });
  expect({ status, out }).toEqual({ status: 2, out: '' });
  expect(err).toMatch(/^perdure: ANTHROPIC_BASE_URL is not an http or https address[^\n]*\n$/);
  expect(existsSync(join(data, 'server.json'))).toBe(false);
});
