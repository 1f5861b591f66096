// A call that asks the small model: in an activity of its own, whose attempts together pay once for
// what each was billed.
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createSmallModelFactory } from '../../activities/compaction/small-model.ts';
import { runTool } from '../../activities/run-tool.ts';
import { readOutcome } from '../../activities/calls/journal.ts';
import { createCallRunner } from '../../activities/calls/call-runner.ts';
import { createRegistry } from '../../tools/registry.ts';
import { defineTool } from '../../tools/tool.ts';
import { fault, reply, toolUse, type ParsedRequest, type Reply } from '../../scripted-model/index.ts';
import { callKey } from '../../workflows/contract/ids.ts';
import { noUsage, totalTokens } from '../../workflows/contract/loop.ts';
import { benchDeps, fakeAttempt, SESSION } from '../support/bench-deps.ts';
import { noHooks } from '../support/no-hooks.ts';

const oracle = defineTool({
  name: 'oracle',
  description: 'Asks.',
  inputSchema: z.strictObject({ plain: z.boolean().optional() }),
  risk: 'external',
  recovery: 'rerun',
  asksModel: ({ plain }) => plain !== true,
  async call(_input, { askModel }) {
    const answer = await askModel?.({ system: 'Say.', text: 'What?', maxTokens: 100 });
    return { content: answer === undefined ? 'nobody' : (answer.text ?? answer.problem) };
  },
});

async function asked(answer: Reply, input = {}) {
  const script = ({ model }: ParsedRequest): Reply =>
    model.startsWith('claude-haiku') ? answer : reply([toolUse('oracle', input)]);
  const bench = await benchDeps({ script, tools: [oracle] });
  const small = createSmallModelFactory({ ...bench.deps, observe: () => undefined, redact: (text) => text });
  const deps = {
    ...bench.deps,
    tools: createCallRunner(bench.deps.store, createRegistry([oracle]), noHooks, { small }),
  };
  const result = await bench.call();
  if (result.kind !== 'message') throw new Error(result.kind);
  const { head, calls } = result;
  const run = (attempt = fakeAttempt(), more = {}) =>
    runTool(deps)(attempt, { head, config: bench.opened.config, step: 3, iteration: 1, index: 0, ...more });
  const content = async () =>
    (await readOutcome(deps.store, { session: SESSION, key: callKey('chain', head, 0) }))?.outcome.content;
  return { calls, run, content };
}

const billed = reply('Yes.', { usage: { input_tokens: 900, output_tokens: 100 } });

test('it does not run with its reply, and what it was billed is among its facts, also when they are asked for again (L86 L51)', async () => {
  const { calls, run, content } = await asked(billed);
  expect(calls[0]).not.toHaveProperty('ran');
  const facts = await run();
  if (!('spend' in facts) || !facts.spend) throw new Error(JSON.stringify(facts));
  expect(totalTokens(facts.spend.usage)).toBe(1_000);
  expect(await content()).toBe('Yes.');
  expect(await run(fakeAttempt(2, { spend: facts.spend }))).toEqual(facts);
});

test('an attempt that died has left its bill to the next (L86 L51)', async () => {
  const { run } = await asked(billed);
  const before = { usage: { ...noUsage, input: 500 }, usd: 1 };
  const facts = await run(fakeAttempt(2, { spend: before }));
  if (!('spend' in facts) || !facts.spend) throw new Error(JSON.stringify(facts));
  expect(totalTokens(facts.spend.usage)).toBe(1_500);
});

test('it is not asked when the budget is spent, and a failure of it is an answer (L86 L51)', async () => {
  const spent = await asked(billed);
  expect(await spent.run(fakeAttempt(), { left: { tokens: 0 } })).toEqual({ result: expect.any(String) });
  expect(await spent.content()).toBe('the budget of the run is spent');
  const failed = await asked(fault({ status: 400, message: 'no' }));
  await failed.run();
  expect(await failed.content()).toContain('no');
});

test('a call whose tool did not say so is given no model (L86)', async () => {
  const { calls } = await asked(billed, { plain: true });
  expect(calls[0]).toMatchObject({ ran: {} });
});
