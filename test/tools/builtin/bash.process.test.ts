import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { createBashTool } from '../../../tools/builtin/bash.ts';
import { callTool, validateInput } from '../../../activities/calls/call-tool.ts';
import type { Sandbox } from '../../../tools/sandbox.ts';
import type { ToolContext, ToolOutput } from '../../../tools/tool.ts';
import { workingSandboxes } from '../sandboxes.ts';
import { until } from '../../support/until.ts';
import { inputFor, processesWith, tempFolder, toolContext } from '../support.ts';

const sandboxes = await workingSandboxes();
const group = sandboxes.at(-1) as Sandbox;

type Options = {
  readonly sandbox?: Sandbox;
  readonly timeout?: number;
  readonly context?: Partial<ToolContext>;
  readonly cwd?: string;
};

async function bash(command: string, options: Options = {}): Promise<ToolOutput> {
  const tool = createBashTool({ sandbox: options.sandbox ?? group });
  const input = { command, ...(options.timeout === undefined ? {} : { timeout: options.timeout }) };
  return await tool.call(inputFor(tool, input), toolContext(options.cwd ?? tempFolder(), options.context));
}

test.each(sandboxes)('$kind: output and errors come in order, with the status of a failure', async (sandbox) => {
  expect(await bash('echo one; echo two >&2; echo three', { sandbox })).toEqual({ content: 'one\ntwo\nthree' });
  expect(await bash('echo no >&2; exit 3', { sandbox })).toEqual({
    content: 'no\n(exit status 3)',
    isError: true,
    cancelsSiblings: true,
  });
  expect(await bash('true', { sandbox })).toEqual({ content: '' });
});

test('a status that is an answer is no failure (L36)', async () => {
  expect(await bash('grep x /dev/null')).toEqual({ content: '(exit status 1)' });
  expect(await bash('grep x missing')).toMatchObject({ isError: true, cancelsSiblings: true });
});

test.each(sandboxes)('$kind: a killed command is a failure that says so (L36)', async (sandbox) => {
  const { content, isError, cancelsSiblings } = await bash('kill -SEGV $$', { sandbox });
  expect({ isError, cancelsSiblings }).toEqual({ isError: true, cancelsSiblings: true });
  expect(content).toContain('killed by SIGSEGV');
});

test('a command runs in the workspace, with the environment of the allow-list and no input', async () => {
  const cwd = tempFolder();
  vi.stubEnv('ANTHROPIC_API_KEY', 'canary-key');
  const { content } = await bash('pwd; env; cat; read line || echo no input', { cwd });
  expect(content.startsWith(`${cwd}\n`)).toBe(true);
  expect(content).toMatch(/^PERDURE_CALL=[0-9a-f]{64}$/m);
  expect(content).toContain('TERM=dumb');
  expect(content).toMatch(/\nno input$/);
  expect(content).not.toContain('canary');
});

test.each(sandboxes)(
  '$kind: a command gets the variables given to tools, one that only reads gets none (Q7 L55)',
  async (sandbox) => {
    const cwd = tempFolder();
    writeFileSync(join(cwd, 'a'), '');
    const context = { env: { CI: '1', QUOTING_STYLE: 'c' } };
    expect(await bash('ls; true > b; echo $CI', { sandbox, cwd, context })).toEqual({ content: '"a"\n1' });
    expect(await bash('ls a', { sandbox, cwd, context })).toEqual({ content: 'a' });
  },
);

test.each(sandboxes.filter(({ kind }) => kind !== 'group'))(
  '$kind: a command cannot find the secrets of the worker in /proc',
  async (sandbox) => {
    vi.stubEnv('ANTHROPIC_API_KEY', 'canary-key');
    const { content } = await bash('cat /proc/[0-9]*/environ; true', { sandbox });
    expect(content).toContain('PERDURE_CALL');
    expect(content).not.toContain('canary-key');
  },
);

test.each(sandboxes)('$kind: a command whose time is up is ended (L36)', async (sandbox) => {
  const output = await bash('echo begun; sleep 600; echo after', { sandbox, timeout: 300 });
  expect(output).toEqual({
    content: 'begun\n(timed out after 300 ms: all its processes were ended; it may have partly run)',
    isError: true,
    cancelsSiblings: true,
  });
});

test.each(sandboxes)('$kind: a command that is told to stop ends, with what it had written (L48)', async (sandbox) => {
  const abort = new AbortController();
  const progress: string[] = [];
  const running = bash('echo begun; sleep 600; echo after', {
    sandbox,
    context: { signal: abort.signal, progress: (text) => void progress.push(text) },
  });
  await until(() => progress.length > 0);
  abort.abort('interrupt');
  expect(await running).toEqual({ content: 'begun', isError: true, stopped: true });
  expect(progress).toEqual(['begun\n']);
});

afterEach(() => void vi.unstubAllEnvs());

/** Seconds nothing else sleeps, to know the processes of a test by. */
let unique = 800_000 + process.pid;

test.each(sandboxes)(
  '$kind: a process in the background that keeps the pipe open holds nothing up, and ends with the call (F10)',
  async (sandbox) => {
    const seconds = ++unique;
    const output = await bash(`(trap "" TERM; while :; do sleep ${seconds}; done) & echo done`, { sandbox });
    expect(output).toEqual({ content: 'done' });
    await until(async () => (await processesWith(`sleep\0${seconds}`)).length === 0);
  },
);

test('1 GiB of output costs less than 64 MiB of memory, nothing on disk, and keeps both ends (F10)', async () => {
  const [cwd, temp] = [tempFolder(), tempFolder()];
  vi.stubEnv('TMPDIR', temp);
  const before = process.memoryUsage.rss();
  let peak = 0;
  const timer = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 5);
  const { content } = await bash("echo first; head -c 1G /dev/zero | tr '\\0' x; echo; echo last", { cwd });
  clearInterval(timer);
  expect(Math.max(peak, process.memoryUsage.rss()) - before).toBeLessThan(64 * 1024 ** 2);
  expect(content.length).toBeLessThan(9 * 1024 ** 2);
  expect(content.startsWith('first\nxxx')).toBe(true);
  expect(content).toContain('[… 1,065,353,228 bytes left out: not kept anywhere …]');
  expect(content.endsWith('xxx\nlast')).toBe(true);
  expect(readdirSync(temp)).toEqual([]);
});

test('output becomes well-formed text without control sequences', async () => {
  const command = `printf '\\033[31mred\\033[0m\\0 \\377\\355\\240\\200 \\033]0;title\\007ok \\342\\200\\250\\r\\n10%%\\r20%%\\n'`;
  const { content } = await bash(command);
  expect(content).toBe('red \ufffd\ufffd\ufffd\ufffd ok \u2028\n20%');
});

test('a progress bar is one line, of any length, and what stands between two is there', async () => {
  const bar = (name: string): string =>
    `for i in $(seq 1 2000); do printf '\\r${name} %d%%  [======      ]' $((i/20)); done; echo`;
  const { content } = await bash(`echo FIRST; ${bar('Downloading')}; echo THE POINT; ${bar('Unpacking')}; echo LAST`);
  const of = (name: string): string => `${name} 100%  [======      ]`;
  expect(content).toBe(['FIRST', of('Downloading'), 'THE POINT', of('Unpacking'), 'LAST'].join('\n'));
});

test('the leader of a command is announced while it runs (L40)', async () => {
  const cwd = tempFolder();
  const children: unknown[] = [];
  const spawned = (child: unknown): Promise<void> => {
    children.push(child);
    writeFileSync(join(cwd, 'announced'), '');
    return Promise.resolve();
  };
  // Until it is announced it does not end.
  const command = 'echo $$ > pid; until [ -e announced ]; do sleep 0.01; done';
  await createBashTool({ sandbox: group }).call({ command }, { ...toolContext(cwd), spawned });
  expect(children).toEqual([
    {
      pid: Number(readFileSync(join(cwd, 'pid'), 'utf8')),
      startTime: expect.stringMatching(/^\d+$/) as string,
      bootId: expect.any(String) as string,
    },
  ]);
});

test('a command whose leader cannot be recorded is ended, not left alone (L40)', async () => {
  const seconds = ++unique;
  const spawned = (): Promise<void> => Promise.reject(new Error('the store is gone'));
  await expect(bash(`sleep ${seconds}`, { context: { spawned } })).rejects.toThrow('the store is gone');
  expect(await processesWith(`sleep ${seconds}`)).toEqual([]);
  expect(await processesWith(`sleep\0${seconds}`)).toEqual([]);
});

test('programs that the workspace brings are not run by a command that only reads (L55)', async () => {
  const cwd = tempFolder();
  for (const name of ['ls', 'git']) writeFileSync(join(cwd, name), '#!/bin/sh\ntouch ran\n', { mode: 0o755 });
  vi.stubEnv('PATH', `.:${cwd}:${process.env['PATH']}`);
  await bash('ls; git status', { cwd });
  expect(existsSync(join(cwd, 'ran'))).toBe(false);
});

test('a repository that names a program has nothing run by git status, nor has a folder that looks like one (L55)', async () => {
  const cwd = tempFolder();
  const config = '[core]\nrepositoryformatversion = 0\nbare = false\nworktree = tree\nfsmonitor = "touch ran; false"\n';
  execFileSync(
    'bash',
    ['-c', 'git init -q --bare fake; mkdir fake/tree; printf %s "$1" > fake/config', 'bash', config],
    { cwd },
  );
  execFileSync('bash', ['-c', 'git init -q real; cd real; git config core.fsmonitor "touch ran; false"'], { cwd });
  await bash('cd fake && git status', { cwd });
  await bash('cd real && git status', { cwd });
  const ran = (): string[] =>
    readdirSync(cwd, { recursive: true })
      .map(String)
      .filter((name) => name.endsWith('/ran'));
  expect(ran()).toEqual([]);
  for (const folder of ['fake', 'real']) execFileSync('git', ['status'], { cwd: join(cwd, folder), stdio: 'ignore' });
  expect(ran().sort()).toEqual(['fake/tree/ran', 'real/ran']);
});

test.each([
  ['a\0b', 'holds a NUL'],
  ['x'.repeat(100_001), 'longer than 100000 bytes'],
])('a command that cannot be passed on is refused in a sentence', async (command, sentence) => {
  expect(await validateInput(createBashTool({ sandbox: group }), { command }, toolContext('/'))).toEqual({
    problem: expect.stringContaining(sentence) as string,
  });
});

test('a workspace that is gone is said to be', async () => {
  const tool = createBashTool({ sandbox: group });
  const ran = await callTool(tool, { command: 'ls' }, toolContext('/perdure/no/such'));
  expect(ran).toEqual({
    kind: 'failed',
    text: 'The command could not be started: the folder /perdure/no/such is not there.',
  });
});

test.each([
  {},
  { command: '' },
  { command: 'ls', timeout: -1 },
  { command: 'ls', timeout: 0 },
  { command: 'ls', timeout: NaN },
  { command: 'ls', timeout: 600_001 },
  { command: 'ls', cwd: '/' },
])('%j is no input', (input) => {
  expect(() => inputFor(createBashTool({ sandbox: group }), input)).toThrow();
});
