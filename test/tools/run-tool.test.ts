// The tool activity on a real stored reply: asked, decided, modified.
import { expect, test } from 'vitest';
import { runTool } from '../../activities/run-tool.ts';
import { hashInput, readOutcome } from '../../activities/calls/journal.ts';
import { callKey } from '../../workflows/contract/ids.ts';
import type { RunTool } from '../../workflows/contract/activities.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { benchDeps, fakeAttempt, SESSION, touching } from '../support/bench-deps.ts';

test('the activity returns what must be asked and leaves no outcome; with the decision it runs (L55)', async () => {
  const { tool, effects } = touching();
  const script = [reply([toolUse('touch', { n: 1 })])];
  const { deps, opened, call, lines } = await benchDeps({ script, tools: [tool], run: { permissionMode: 'default' } });
  const result = await call();
  if (result.kind !== 'message') throw new Error(result.kind);
  const run = (more: Partial<RunTool> = {}) =>
    runTool(deps)(fakeAttempt(), {
      head: result.head,
      config: opened.config,
      step: 3,
      iteration: 1,
      index: 0,
      ...more,
    });
  const hash = hashInput({ n: 1 });
  expect(await run()).toEqual({
    ask: {
      tool: 'touch',
      reason: 'touch would change files. Default mode asks first.',
      inputHash: hash,
    },
  });
  expect(await readOutcome(deps.store, { session: SESSION, key: callKey('chain', result.head, 0) })).toBeNull();
  expect(lines.some(({ type }) => type === 'tool_start')).toBe(false);
  expect(lines.at(-1)).toEqual({ type: 'fate', fate: 'done' });
  expect(await run({ decision: { kind: 'allow', inputHash: hash } })).toEqual({ result: expect.any(String) });
  expect(effects).toEqual([{ n: 1 }]);
});

test('the activity keeps to what earlier calls left (L38)', async () => {
  const { tool, effects } = touching();
  const script = [reply([toolUse('touch', {})])];
  // A budget keeps the call from running with its reply.
  const { deps, opened, call } = await benchDeps({ script, tools: [tool], run: { maxTokens: 1_000_000 } });
  const result = await call();
  if (result.kind !== 'message') throw new Error(result.kind);
  const context = { allowedTools: ['look'] };
  const input = { head: result.head, config: opened.config, step: 3, iteration: 1, index: 0, context };
  expect(await runTool(deps)(fakeAttempt(), input)).toEqual({ error: true, result: expect.any(String) });
  expect(effects).toEqual([]);
});
