// How a call ends when it is told to stop: an interrupt and a failing sibling end the call, a
// deploy only its attempt (L50).
import { expect, onTestFinished, test, vi } from 'vitest';
import type { CallEnvironment } from '../../activities/calls/call-context.ts';
import { ToolFailure, type AbortCause, type Tool } from '../../tools/tool.ts';
import { executeCall, bench, callRun, request, simpleTool, type Executed } from './support.ts';

/**
 * Runs a call whose signal is aborted as soon as its tool is running; `ends` is what the tool does
 * then.
 */
async function stopped(
  cause: AbortCause,
  ends: Tool['call'],
  more: Partial<Tool> = {},
  shared?: CallEnvironment,
): Promise<Executed> {
  const abort = new AbortController();
  const tool = simpleTool({
    ...more,
    call: async (input, context) => {
      abort.abort(cause);
      return await ends(input, context);
    },
  });
  const run = callRun({ safe: more.risk === 'read', signal: abort.signal });
  return await executeCall(shared ?? bench([tool]), request('simple'), run);
}

const endsItself: Tool['call'] = async () => ({ content: 'half of it', isError: true, stopped: true });

test('the outcome of an interrupted call says that it may have partly run (L48)', async () => {
  expect(await stopped('interrupt', endsItself)).toMatchObject({
    outcome: {
      content: 'half of it\n(stopped: it was cancelled; it had started and may have partly run)',
      isError: true,
      log: { decision: 'allowed', outcome: 'cancelled' },
    },
    facts: {},
  });
});

test('the outcome of a cancelled sibling says that it had started, a safe one only that it was stopped (L36)', async () => {
  expect(await stopped('sibling', endsItself, { risk: 'read' })).toMatchObject({
    outcome: { content: 'half of it\n(stopped: another call of the same reply failed)' },
  });
});

test.each<AbortCause>(['interrupt', 'sibling'])(
  'a call that %s stops before it starts says so and runs nothing (L36)',
  async (cause) => {
    let ran = false;
    const shared = bench([simpleTool({ call: async () => ((ran = true), { content: '' }) })]);
    const done = await executeCall(shared, request('simple'), callRun({ signal: AbortSignal.abort(cause) }));
    expect(done).toMatchObject({ outcome: { log: { decision: 'not_run', outcome: 'not_run' } } });
    expect(JSON.stringify(done)).toContain('before it started');
    expect(ran).toBe(false);
  },
);

test.each<AbortCause>(['deploy', 'timeout', 'superseded'])(
  '%s records nothing: the attempt is void (L50)',
  async (cause) => {
    expect(await stopped(cause, endsItself)).toEqual({ kind: 'void', cause });
    const before = await executeCall(
      bench([simpleTool({})]),
      request('simple'),
      callRun({ signal: AbortSignal.abort(cause) }),
    );
    expect(before).toEqual({ kind: 'void', cause });
  },
);

test('a result that was ready despite a deploy counts (L50)', async () => {
  expect(await stopped('deploy', async () => ({ content: 'finished' }))).toMatchObject({
    outcome: { content: 'finished', isError: false },
  });
});

test('a tool that throws because of the signal was stopped, and what it says is kept', async () => {
  const done = await stopped('interrupt', async () => {
    throw new ToolFailure('Stopped before anything was written.');
  });
  expect(done).toMatchObject({ outcome: { log: { outcome: 'cancelled' } } });
  expect(JSON.stringify(done)).toContain('Stopped before anything was written.');
});

test('an abort without a reason of ours is an interrupt', async () => {
  expect(await stopped('x' as AbortCause, endsItself)).toMatchObject({ outcome: { log: { outcome: 'cancelled' } } });
});

test('a tool that ignores the signal is given up after 5 s (L48)', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const done = stopped('interrupt', () => new Promise(() => undefined));
  await vi.advanceTimersByTimeAsync(4_999);
  expect(vi.getTimerCount()).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(JSON.stringify(await done)).toContain('simple did not end when it was told to.');
});

test('the check of an input that ignores the signal is given up after 5 s, and the call has not run (L48)', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const abort = new AbortController();
  const validate = (): Promise<undefined> => (abort.abort('interrupt'), new Promise(() => undefined));
  const done = executeCall(bench([simpleTool({ validate })]), request('simple'), callRun({ signal: abort.signal }));
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await done).toMatchObject({ outcome: { log: { decision: 'not_run', outcome: 'not_run' } } });
});
