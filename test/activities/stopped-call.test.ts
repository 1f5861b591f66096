// A call that was stopped and whose activity did not say what had become of it (L48): looked up,
// and never begun.
import { expect, test } from 'vitest';
import type { ModelResult } from '../../workflows/contract/activities.ts';
import { runTool } from '../../activities/run-tool.ts';
import { readOutcome } from '../../activities/calls/journal.ts';
import type { Tool } from '../../tools/tool.ts';
import { callKey } from '../../workflows/contract/ids.ts';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { benchDeps, fakeAttempt, touching, type BenchOptions } from '../support/bench-deps.ts';
import { until } from '../support/until.ts';

const { session } = fakeAttempt();

/** A reply with one call, which waits for the regular way because of a budget. */
async function waiting(tool: Tool, more: Partial<BenchOptions> = {}) {
  const script = [reply([toolUse('touch', { file: 'a' })])];
  const bench = await benchDeps({ script, tools: [tool], run: { maxTokens: 1_000_000 }, ...more });
  const { head } = (await bench.call()) as Extract<ModelResult, { kind: 'message' }>;
  const input = { head, config: bench.opened.config, step: 9, iteration: 1, index: 0 };
  return {
    ...bench,
    regular: (attempt = fakeAttempt()) => bench.tool(attempt, head, 0),
    stopped: () => runTool(bench.deps)(fakeAttempt(), { ...input, stopped: true }),
    outcome: async () => (await readOutcome(bench.deps.store, { session, key: callKey('chain', head, 0) }))?.outcome,
  };
}

test('has the outcome it came to (L39 L48)', async () => {
  const { tool, effects } = touching();
  const { regular, stopped, outcome } = await waiting(tool);
  const facts = await regular();
  expect(await stopped()).toEqual(facts);
  expect(await outcome()).toMatchObject({ content: 'touched' });
  expect(effects).toHaveLength(1);
});

test('is unknown when it was begun, and what comes late does not count (L40 L48)', async () => {
  const { tool, effects } = touching();
  const hangs = gate();
  const hanging = { ...tool, call: async () => (effects.push('begun'), await hangs.hold, { content: 'late' }) };
  const { regular, stopped, outcome } = await waiting(hanging);
  const first = regular();
  await until(() => effects.length === 1);
  await stopped();
  hangs.release();
  await first;
  expect(await outcome()).toMatchObject({
    content: expect.stringContaining('outcome unknown') as string,
    log: { decision: 'allowed', outcome: 'unknown' },
  });
});

test('was not run when it was not begun, and an attempt that is still alive cannot begin it any more (L40 L48)', async () => {
  const { tool, effects } = touching();
  const [asked, answer] = [gate(), gate()];
  const preTool = async () => (asked.release(), await answer.hold, {});
  const { regular, stopped, outcome } = await waiting(tool, { hooks: { preTool: [preTool] } });
  const frozen = { ...fakeAttempt(), fence: () => Promise.resolve(false) };
  const alive = regular(frozen);
  await asked.hold;
  await stopped();
  answer.release();
  await expect(alive).rejects.toThrow('given up');
  expect(effects).toEqual([]);
  expect(await outcome()).toMatchObject({ content: expect.stringContaining('Not run') as string });
});

test('is unknown too when it leaves no claim, for it may be repeated (L40 L48)', async () => {
  const { tool } = touching();
  const { stopped, outcome } = await waiting({ ...tool, recovery: 'rerun' });
  await stopped();
  expect(await outcome()).toMatchObject({
    content: expect.stringContaining('it is not known whether it had started') as string,
    log: { outcome: 'unknown' },
  });
});
