// What becomes of calls that started early when their attempt, or they themselves, come to no good
// end.
import { expect, test } from 'vitest';
import { z } from 'zod';
import { readOutcome } from '../../activities/calls/journal.ts';
import { callModel } from '../../activities/call-model.ts';
import { runTool } from '../../activities/run-tool.ts';
import { defineTool, type Tool } from '../../tools/tool.ts';
import { StoreError } from '../../store/values/store.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { memoryLoop } from '../../client/testing/memory-loop.ts';
import { callKey } from '../../workflows/contract/ids.ts';
import { benchDeps, fakeAttempt, SESSION } from '../support/bench-deps.ts';
import { tempDir } from '../support/temp-dir.ts';

function safeTool(call: Tool['call']): Tool {
  return defineTool({
    name: 'look',
    description: 'Look.',
    inputSchema: z.record(z.string(), z.unknown()),
    risk: 'read',
    recovery: 'rerun',
    call: (input, context) => call(input, context),
  });
}

test('a deploy that meets one after the stream leaves it to run the regular way, not interrupted (L37 L50)', async () => {
  const until = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  const tool = safeTool(async (_input, { signal }) => {
    await until(signal);
    return { content: 'partly', stopped: true };
  });
  const bench = await benchDeps({ script: [reply([toolUse('look', {})])], tools: [tool] });
  const attempt = fakeAttempt();
  const model: typeof bench.deps.model = async (body, signal) => {
    const stream = await bench.deps.model(body, signal);
    return (async function* () {
      try {
        yield* stream;
      } finally {
        setImmediate(() => attempt.abort('deploy'));
      }
    })();
  };
  const result = await callModel({ ...bench.deps, model })(attempt, bench.input());
  expect(result).toMatchObject({ kind: 'message', calls: [{ name: 'look' }] });
  expect(result.kind === 'message' && result.calls[0]?.outcome).toBeUndefined();
  expect(bench.model.requests).toHaveLength(1);
});

test('one whose outcome cannot be stored runs the regular way, and the reply is kept (L37)', async () => {
  const full = safeTool(() => Promise.reject(new StoreError('unavailable', 'no space is left on the disk')));
  const bench = await benchDeps({ script: [reply([toolUse('look', {})])], tools: [full] });
  const result = await bench.call();
  expect(result).toMatchObject({ kind: 'message', calls: [{ name: 'look' }] });
  expect(result.kind === 'message' && result.calls[0]?.outcome).toBeUndefined();
});

/** The first look at "slow" does not end by itself; each look is counted. */
function slowAndQuick(): { readonly tool: Tool; readonly looks: string[] } {
  const looks: string[] = [];
  const tool = safeTool(async (input, { signal }) => {
    const { at } = input as { readonly at: string };
    looks.push(at);
    if (at === 'slow' && looks.filter((each) => each === 'slow').length === 1)
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    return { content: `seen ${at}` };
  });
  return { tool, looks };
}

const both = reply([toolUse('look', { at: 'slow' }), toolUse('look', { at: 'quick' })]);

test('one that ended behind another that had not keeps its outcome, and is not made again (L35 L37)', async () => {
  const { tool, looks } = slowAndQuick();
  const { deps } = await benchDeps({ script: [both, reply('Done.')], tools: [tool] });
  const { entries } = await memoryLoop(deps, { session: SESSION, text: 'Look.', options: { cwd: tempDir() } });
  const outcomes = entries.flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
  expect(outcomes.map(({ content }) => content)).toEqual(['seen slow', 'seen quick']);
  expect(looks).toEqual(['slow', 'quick', 'slow']);
});

test('that outcome is known to the loop with the reply, so that an interrupt cannot call it not run (L37 L48)', async () => {
  const { tool } = slowAndQuick();
  const bench = await benchDeps({ script: [both], tools: [tool] });
  const result = await bench.call();
  expect(result).toMatchObject({ kind: 'message', calls: [{ name: 'look' }, { name: 'look', ran: {} }] });
  expect(result.kind === 'message' && result.calls[0]?.ran).toBeUndefined();
});

const GIVEN_UP = 'Given up: it was stopped after it had started, and what came of it is not known.';

test('one that was given up is known to have started, and is not called "not run" when it does not start again (L37 L48)', async () => {
  const { tool, looks } = slowAndQuick();
  const bench = await benchDeps({ script: [both], tools: [tool] });
  const result = await bench.call();
  expect(result).toMatchObject({ kind: 'message', calls: [{ givenUp: true }, { ran: {} }] });
  if (result.kind !== 'message') return;
  expect(result.calls[1]).not.toHaveProperty('givenUp');
  const { head } = result;
  const input = { head, config: bench.opened.config, step: 9, iteration: 1, index: 0, safe: true } as const;
  await runTool(bench.deps)(fakeAttempt(), { ...input, givenUp: true, stopped: true });
  const recorded = await readOutcome(bench.deps.store, { session: SESSION, key: callKey('chain', head, 0) });
  expect(recorded?.outcome).toMatchObject({ content: GIVEN_UP, log: { decision: 'allowed', outcome: 'cancelled' } });
  expect(looks).toEqual(['slow', 'quick']);
});

test('where the budget is spent with the reply, those that ended keep their outcomes, and another was given up (L37 L51)', async () => {
  const { tool } = slowAndQuick();
  const { deps } = await benchDeps({ script: [both], tools: [tool] });
  const options = { cwd: tempDir(), maxTokens: 1 };
  const { entries } = await memoryLoop(deps, { session: SESSION, text: 'Look.', options });
  const outcomes = entries.flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
  expect(outcomes.map(({ content }) => content)).toEqual([GIVEN_UP, 'seen quick']);
});
