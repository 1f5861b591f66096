// Hooks at a session's start, before its stop, and at its end; and the handlers after it.
import { expect, test } from 'vitest';
import { afterStop, runStopHooks } from '../../../activities/after-stop.ts';
import { commit } from '../../../activities/commit.ts';
import type { AfterStopHandler, Deps } from '../../../activities/deps.ts';
import type { HookConfig } from '../../../activities/hooks/hook-config.ts';
import { openRun } from '../../../activities/run/open-run.ts';
import { reply } from '../../../scripted-model/index.ts';
import type { Hash } from '../../../workflows/contract/ids.ts';
import { benchDeps, fakeAttempt } from '../../support/bench-deps.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { until } from '../../support/until.ts';
import { runner } from './support.ts';

async function systemOf(deps: Deps, run: number, attempt = fakeAttempt()): Promise<string> {
  const begins = run === 1 ? ({ begins: true } as const) : {};
  const input = { chain: 'other', run, step: 1, options: { cwd: tempDir() }, ...begins };
  const opened = await openRun(deps)(attempt, input);
  if (opened.kind === 'refused') throw new Error(opened.detail);
  return (await deps.config(opened.config)).system;
}

test('what a hook says when a session starts is in the system prompt of all its runs, and is asked once (L13 L58)', async () => {
  let asked = 0;
  const { deps, lines, warnings } = await benchDeps({ script: [] });
  const hooks = runner({
    sessionStart: [
      { name: 'rules', run: () => ({ context: `rules ${++asked}` }) },
      { name: 'bad', run: () => Promise.reject(new Error('boom')) },
    ],
  });
  const first = await systemOf({ ...deps, hooks }, 1);
  expect(first).toMatch(/\n\nAdded by the hook rules:\nrules 1$/);
  expect(warnings).toEqual([
    'hook bad at the start of the session: boom (session s-test, query other.1, depth 0, run 1, attempt 1)',
  ]);
  expect(lines).toContainEqual({ type: 'notice', notice: { kind: 'hook_failed', hook: 'bad', detail: 'boom' } });
  expect(await systemOf({ ...deps, hooks }, 1, fakeAttempt(2))).toContain('rules 1');
  expect(await systemOf({ ...deps, hooks }, 2)).toContain('rules 1');
  expect(asked).toBe(1);
});

test('hooks at a start that a deploy cut short are asked by the next attempt (L50)', async () => {
  const { deps } = await benchDeps({ script: [] });
  const attempt = fakeAttempt();
  const hooks = runner({ sessionStart: [() => (attempt.abort('deploy'), { context: 'rules' })] });
  await expect(systemOf({ ...deps, hooks }, 1, attempt)).rejects.toThrow('given up');
  expect(await systemOf({ ...deps, hooks }, 1, fakeAttempt(2))).toContain('rules');
});

test('hooks that come with a later worker do not see the start of an old session', async () => {
  const { deps } = await benchDeps({ script: [] });
  const hooks = runner({ sessionStart: [() => ({ context: 'too late' })] });
  expect(await systemOf({ ...deps, hooks }, 2)).not.toContain('too late');
});

test('a hook is told that the session ends, once its end is stored, in its workspace (L13)', async () => {
  const bench = await benchDeps({ script: [] });
  const told: unknown[] = [];
  const hooks = runner({
    sessionEnd: [({ cwd, queryId }) => void told.push(cwd, queryId), () => ({ a: 1 })],
  });
  const end = commit({ ...bench.deps, hooks });
  const open = { kind: 'run_started', run: 1, config: bench.opened.config, at: 0 } as const;
  const { head } = await end(fakeAttempt(), { head: null, append: [open], step: 4 });
  expect(told).toEqual([]);
  await end(fakeAttempt(), { head, append: [{ kind: 'session_closed', notTaken: [] }], step: 5 });
  expect(told).toEqual([(await bench.deps.config(bench.opened.config)).cwd, 'chain.1']);
  expect(bench.warnings).toEqual([
    expect.stringMatching(
      /^hook function at the end of the session: .* \(session s-test, query chain.1, depth 0, run 1, attempt 1\)$/,
    ),
  ]);
});

async function stopping(hooks: HookConfig) {
  const bench = await benchDeps({ script: [reply('All done.')] });
  const replied = await bench.call();
  if (!('head' in replied)) throw new Error(replied.kind);
  bench.lines.length = 0;
  const input = { head: replied.head, config: bench.opened.config, step: 9, iteration: 1, active: true };
  return {
    ...bench,
    ask: (attempt = fakeAttempt()) => runStopHooks({ ...bench.deps, hooks: runner(hooks) })(attempt, input),
  };
}

test('stop hooks get the last reply, and watchers see them at work (L30 L60)', async () => {
  const told: unknown[] = [];
  const { ask, lines } = await stopping({
    stop: [{ name: 'tests', run: ({ text, active }) => (told.push(text, active), { block: 'tests fail' }) }],
  });
  expect(await ask()).toEqual({ verdict: { kind: 'blocked', text: 'tests fail' }, failed: [] });
  expect(told).toEqual(['All done.', true]);
  expect(lines).toEqual([
    { type: 'hook_start', iteration: 1, hook: 'tests' },
    { type: 'hook_end', iteration: 1, hook: 'tests', result: 'block' },
    { type: 'fate', fate: 'done' },
  ]);
});

test('stop hooks of an attempt that is lost say nothing; those of a stopped run are no failure (L50)', async () => {
  let running = 0;
  const { ask, lines } = await stopping({ stop: [() => (running++, new Promise<void>(() => {}))] });
  const [lost, stopped] = [fakeAttempt(1), fakeAttempt(2)];
  const first = ask(lost);
  await until(() => running === 1);
  lost.abort('deploy');
  await expect(first).rejects.toThrow('the attempt was given up: deploy');
  expect(lines.at(-1)).toMatchObject({ fate: 'died' });
  const second = ask(stopped);
  await until(() => running === 2);
  stopped.abort('stop');
  expect(await second).toEqual({ verdict: { kind: 'passed' }, failed: [] });
});

test('each after-stop handler runs once with the transcript; what fails or takes too long is reported (L13 L56)', async () => {
  const { deps, call, opened, warnings } = await benchDeps({ script: [reply('All done.')] });
  const replied = await call();
  const ran: string[] = [];
  const handlers: AfterStopHandler[] = [
    {
      name: 'memory',
      timeoutMs: 1_000,
      run: ({ entries, run }) => (ran.push(...entries.map(({ kind }) => kind), `${run}`), Promise.resolve()),
    },
    { name: 'broken', timeoutMs: 1_000, run: () => Promise.reject(new Error('boom')) },
    {
      name: 'slow',
      timeoutMs: 20,
      run: ({ signal }) =>
        new Promise((resolve) => signal.addEventListener('abort', () => (ran.push('told'), resolve()))),
    },
  ];
  const head = 'head' in replied ? replied.head : ('' as Hash);
  await afterStop({ ...deps, afterStop: handlers })(fakeAttempt(), { head, config: opened.config, step: 9, run: 1 });
  expect(ran).toEqual(['user', 'epoch', 'reply', '1', 'told']);
  expect(warnings).toEqual([
    'after-stop handler broken: boom (session s-test, query chain.1, depth 0, run 1, attempt 1)',
    'after-stop handler slow: timed out after 20 ms (session s-test, query chain.1, depth 0, run 1, attempt 1)',
  ]);
});

test('a handler after a run, and the line about it, know the trace of the run’s caller (O15 L56)', async () => {
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  const { deps, call, opened, warnings } = await benchDeps({ script: [reply('All done.')] });
  const replied = await call();
  const told: (string | undefined)[] = [];
  const run: AfterStopHandler['run'] = (ended) => (told.push(ended.traceparent), Promise.reject(new Error('boom')));
  const traced: Deps = {
    ...deps,
    config: async (hash) => ({ ...(await deps.config(hash)), traceparent }),
    afterStop: [{ name: 'broken', timeoutMs: 1_000, run }],
  };
  const head = 'head' in replied ? replied.head : ('' as Hash);
  await afterStop(traced)(fakeAttempt(), { head, config: opened.config, step: 9, run: 1 });
  expect(told).toEqual([traceparent]);
  expect(warnings).toEqual([expect.stringContaining(`trace ${'a'.repeat(32)}`)]);
});
