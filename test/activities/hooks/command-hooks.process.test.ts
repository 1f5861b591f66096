// Hooks that are commands: what they are told, what they may see, and every way in which they can
// go wrong.
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { Message } from '@anthropic-ai/sdk/resources/messages';
import { expect, test } from 'vitest';
import { createHookRunner } from '../../../activities/hooks/hook-runner.ts';
import { processInfo } from '../../../system/process/proc.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { until } from '../../support/until.ts';
import { answering, hookContext, node, runner } from './support.ts';

const call = { name: 'bash', input: { command: 'ls' } };

test('a command is told everything as one line of JSON, in the workspace', async () => {
  const context = hookContext();
  const command = 'cat > told.json; pwd > where';
  expect(await runner({ preTool: [{ command }] }).preTool(context, call)).toEqual({
    decision: null,
    input: undefined,
    stop: null,
    failed: [],
  });
  const cwd = context.cwd ?? '';
  const told = readFileSync(join(cwd, 'told.json'), 'utf8');
  expect(told.indexOf('\n')).toBe(told.length - 1);
  expect(JSON.parse(told)).toEqual({
    hook: 'preTool',
    session: 's-1',
    queryId: 'chain.1',
    depth: 0,
    iteration: 3,
    cwd,
    tool: 'bash',
    input: { command: 'ls' },
  });
  expect(readFileSync(join(cwd, 'where'), 'utf8').trim()).toBe(realpathSync(cwd));
});

test('a command sees no variable that is not on the list', async () => {
  const env = { PATH: process.env['PATH'], ANTHROPIC_API_KEY: 'canary' };
  const hooks = createHookRunner(
    {
      promptSubmitted: [
        {
          name: 'env',
          command: node(
            'const e = process.env; console.log(JSON.stringify({ context: `${e.ANTHROPIC_API_KEY} ${typeof e.PATH}` }))',
          ),
        },
      ],
    },
    { env, folder: tempDir() },
  );
  const { context } = await hooks.promptSubmitted(hookContext(), ['hello']);
  expect(context).toEqual([{ hook: 'env', text: 'undefined string' }]);
});

test('a command denies by status 2 with what it said on standard error (L55)', async () => {
  const hooks = runner({ preTool: [{ name: 'guard', command: 'echo not on my watch >&2; exit 2' }] });
  const { decision, failed } = await hooks.preTool(hookContext(), call);
  expect(decision).toEqual({ kind: 'deny', why: 'not on my watch' });
  expect(failed).toEqual([]);
});

test('status 2 blocks at stop and when an agent is idle, ends the run at a prompt, and is a failure of any other hook', async () => {
  const refuse = [{ name: 'no', command: 'echo go on >&2; exit 2' }];
  const hooks = runner({ stop: refuse, agentIdle: refuse, promptSubmitted: refuse, postTool: refuse });
  const agent = {
    id: 'agent-1',
    type: 'general',
    parent: hookContext().session,
    root: hookContext().session,
    depth: 1,
  };
  expect((await hooks.agentIdle(hookContext(), { text: 'done', active: false, agent })).verdict).toEqual({
    kind: 'blocked',
    text: 'go on',
  });
  expect(await hooks.stop(hookContext(), { text: 'done', active: false, system: [] })).toEqual({
    verdict: { kind: 'blocked', text: 'go on' },
    failed: [],
  });
  expect((await hooks.promptSubmitted(hookContext(), [])).stop).toBe('go on');
  const after = await hooks.postTool(hookContext(), { ...call, content: '', isError: false });
  expect(after).toEqual({ context: [], stop: null, failed: [{ hook: 'no', detail: 'ended with status 2: go on' }] });
});

test.each([
  ['another status', 'echo oh no >&2; exit 3', 'ended with status 3: oh no'],
  ['a signal', 'kill -9 $$', 'was killed'],
  ['no JSON', 'echo hello', /^its output is not JSON: /],
  ['a key it may not have', `echo '{"desicion":"deny"}'`, /^its answer is not one of a preTool hook: .*desicion/],
  ['a wrong value', `echo '{"decision":"maybe"}'`, /^its answer is not one of a preTool hook: decision: /],
  ['too much', 'yes | head -c 1200000', 'printed more than 1 MiB'],
])('a hook with %s is a failure that is reported and changes nothing (L30)', async (_, command, detail) => {
  const { decision, input, stop, failed } = await runner({ preTool: [{ name: 'h', command }] }).preTool(
    hookContext(),
    call,
  );
  expect({ decision, input, stop }).toEqual({ decision: null, input: undefined, stop: null });
  expect(failed).toEqual([{ hook: 'h', detail: detail instanceof RegExp ? expect.stringMatching(detail) : detail }]);
});

test('a program that is not there is a failure', async () => {
  const { failed } = await runner({ preTool: [{ command: ['/nowhere/hook', 'x'] }] }).preTool(hookContext(), call);
  expect(failed).toEqual([
    { hook: '/nowhere/hook x', detail: expect.stringMatching(/^could not be started: .*ENOENT/) },
  ]);
});

test('a workspace that is gone is said, not mistaken for a missing shell', async () => {
  const { failed } = await runner({ stop: [{ name: 'h', command: 'true' }] }).stop(hookContext({ cwd: '/nowhere' }), {
    text: '',
    active: false,
    system: [],
  });
  expect(failed).toEqual([{ hook: 'h', detail: 'could not be started: the folder /nowhere is gone' }]);
});

test('a command that does not read what it is told is no failure', async () => {
  const big = { name: 'write', input: { content: 'x'.repeat(2_000_000) } };
  const { decision, failed } = await runner({ preTool: [{ command: answering({ decision: 'allow' }) }] }).preTool(
    hookContext(),
    big,
  );
  expect({ decision, failed }).toEqual({ decision: { kind: 'allow' }, failed: [] });
});

test('a command that is out of time dies with all it started (L30)', async () => {
  const context = hookContext();
  const command = 'sh -c "trap : TERM; sleep 300 & echo $! > child; wait" & while :; do sleep 1; done';
  const hooks = runner({ stop: [{ name: 'slow', command, timeoutMs: 1_000 }] });
  expect(await hooks.stop(context, { text: '', active: false, system: [] })).toEqual({
    verdict: { kind: 'passed' },
    failed: [{ hook: 'slow', detail: 'timed out after 1000 ms' }],
  });
  const child = Number(readFileSync(join(context.cwd ?? '', 'child'), 'utf8'));
  expect(processInfo(child)).toBeNull();
});

test('a command that nobody waits for ends when the worker stops, and none begins any more (L21)', async () => {
  const cwd = tempDir();
  const hooks = runner({ postSampling: [{ name: 'slow', command: 'echo $$ > new; mv new pid; sleep 300' }] });
  const told = hooks.postSampling(hookContext({ cwd }), {} as Message);
  await until(() => existsSync(join(cwd, 'pid')));
  await hooks.close();
  expect(processInfo(Number(readFileSync(join(cwd, 'pid'), 'utf8')))).toBeNull();
  expect(await told).toEqual({ failed: [{ hook: 'slow', detail: 'stopped' }] });
  const late = await hooks.postSampling(hookContext({ cwd }), {} as Message);
  expect(late).toEqual({ failed: [{ hook: 'slow', detail: 'stopped before it ran' }] });
});

test('a command that is stopped dies at once (L47)', async () => {
  const stopping = new AbortController();
  const cwd = tempDir();
  const running = runner({ preCompact: [{ name: 'slow', command: 'touch began; sleep 300' }] }).preCompact(
    hookContext({ cwd, signal: stopping.signal }),
    { trigger: 'auto', tokens: 1 },
  );
  await until(() => existsSync(join(cwd, 'began')));
  stopping.abort();
  expect(await running).toEqual({ instructions: [], failed: [{ hook: 'slow', detail: 'stopped' }] });
});

test('what an alert prints or returns is not read: a pager has words of its own (O17)', async () => {
  const pagers = [
    { name: 'prints', command: 'cat >/dev/null; echo Accepted.' },
    { name: 'prints JSON', command: answering({ ok: true }) },
    { name: 'returns', run: () => ({ status: 202 }) as never },
    { name: 'fails', command: 'echo no such pager >&2; exit 22' },
  ];
  const told = { has: () => false, add: () => undefined };
  const { failed } = await runner({ waiting: pagers }).alert(
    'waiting',
    hookContext(),
    { title: 'Go.', calls: [] },
    told,
  );
  expect(failed).toEqual([{ hook: 'fails', detail: 'ended with status 22: no such pager' }]);
});

test.each([
  ['without a workspace', null],
  ['whose workspace is gone', '/gone/workspace'],
])(
  'an alert %s runs in an empty folder of its own, which is nobody else’s and goes with it (O17)',
  async (_what, cwd) => {
    const cache = tempDir();
    const told = join(tempDir(), 'told');
    const command = `{ stat -c %a . ..; ls -A; pwd; } > ${told}; touch left`;
    const hooks = createHookRunner(
      { waiting: [{ command }] },
      { env: { PATH: process.env['PATH'], XDG_CACHE_HOME: cache }, folder: tempDir() },
    );
    const alert = { has: () => false, add: () => undefined };
    const { failed } = await hooks.alert('waiting', hookContext({ cwd }), { title: 'Go.', calls: [] }, alert);
    expect(failed).toEqual([]);
    const lines = readFileSync(told, 'utf8').trim().split('\n');
    const apart = realpathSync(join(cache, 'perdure', 'hooks'));
    expect(lines).toEqual(['700', '700', expect.stringMatching(new RegExp(`^${apart}/hook-\\w+$`))]);
    expect(readdirSync(apart)).toEqual([]);
  },
);
