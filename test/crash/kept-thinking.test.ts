// A long conversation with a model that binds its thinking to all that stood before it, in a window
// that fills up: through handovers and dead workers it is only added to, and nothing that the model
// thought is ever refused or dropped.
import { expect, test } from 'vitest';
import { reply, text, thinking, toolUse, type ParsedRequest, type Reply } from '../../scripted-model/index.ts';
import { defaultHandover } from '../../workflows/contract/session.ts';
import { asksForSummary } from '../support/asks-for-summary.ts';
import { continuationProblem } from '../support/continuation.ts';
import { crashHarness, replays } from '../support/crash-harness.ts';
import { fillWorkspace } from '../support/scenarios.ts';
import { until } from '../support/until.ts';

/** Turns of each run, the last of which says that it is done. */
const TURNS = 20;
const RUNS = 2;

test('is only added to, through handovers, dead workers and summaries (L3 L4 L5 L22 L58 L59)', async () => {
  let turn = 0;
  const script = (request: ParsedRequest): Reply => {
    if (asksForSummary(request)) return reply('Files were read.');
    turn += 1;
    const thought = thinking(`Thought ${turn}. ${'More of it. '.repeat(20)}`);
    return turn % TURNS === 0
      ? reply([thought, text('Done.')])
      : reply([thought, toolUse('read', { path: 'large.txt' })]);
  };
  const h = await crashHarness({
    script,
    handover: { ...defaultHandover, iterations: 3 },
    config: { models: { 'claude-sonnet-5-5': { window: 30_000, maxOutput: 8_000, price: null } } },
  });
  fillWorkspace(h.cwd);
  const session = await h.open('Read it.', { model: 'claude-sonnet-5-5' });
  for (let run = 1; run <= RUNS; run += 1) {
    if (run > 1) await session.send('Read it again.');
    // Two of its workers die, each where the run is by then.
    for (const share of [0.3, 0.7]) {
      const worker = await h.worker();
      await until(() => turn >= (run - 1 + share) * TURNS);
      await worker.kill();
    }
    const last = await h.worker();
    expect(await session.ended(run)).toMatchObject({ terminal: { reason: 'completed' } });
    await last.kill();
  }
  const bodies = h.bodies().filter((body) => !asksForSummary(body));
  for (const [n, body] of bodies.entries()) if (n > 0) expect(continuationProblem(bodies[n - 1], body)).toBeUndefined();
  const entries = await session.entries();
  const signed = entries.flatMap((entry) => (entry.kind === 'boundary' ? [entry.signed?.type] : []));
  expect(signed.length).toBeGreaterThan(1);
  expect(new Set(signed)).toEqual(new Set(['compaction']));
  expect(entries.filter(({ kind }) => kind === 'epoch')).toHaveLength(1);
  expect(h.model.problems).toEqual([]);
  await replays(h.client, session);
});
