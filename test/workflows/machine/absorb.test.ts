import { expect, test } from 'vitest';
import { absorb } from '../../../workflows/machine/absorb.ts';
import type { CallResult } from '../../../workflows/machine/events.ts';
import { call, hash, rules, state, toolsRan, usd } from '../../support/machine.ts';

test('a call that never ran neither fails nor interrupts a row of failures (L34)', () => {
  const failing = { signature: 'read:0', times: 3 };
  const event = toolsRan([call(0), call(1)], { facts: [{ error: true }, { error: true }] });
  const notRun: CallResult = { item: { index: 1, note: 'Not run.' }, facts: { error: true } };
  if (event.kind !== 'tools_ran') throw new Error(event.kind);
  const results = [event.results[0]!, notRun];
  expect(absorb(state({ failing }), rules, { ...event, results }).failing).toEqual({ signature: 'read:0', times: 4 });
  const never = { ...event, results: [notRun, notRun] };
  expect(absorb(state(), rules, never).failing).toBeNull();
});

test('a call whose outcome nobody knows has failed (L34 L40)', () => {
  const failing = { signature: 'read:0', times: 3 };
  const event = toolsRan([call(0)]);
  const unknown: CallResult = { item: { index: 0, note: 'Outcome unknown.', unknown: true }, facts: { error: true } };
  if (event.kind !== 'tools_ran') throw new Error(event.kind);
  const { failing: counted } = absorb(state({ failing }), rules, { ...event, results: [unknown] });
  expect(counted).toEqual({ signature: 'read:0', times: 4 });
});

test('a summary that was made while the next calls ran is told after their outcomes, and paid for (L42 L51)', () => {
  const pendingSummary = { head: hash('batch'), append: [], iteration: 1 };
  const event = toolsRan([call(0)], { summary: { text: 'It read.', spend: usd(0.01) } });
  const { pending, spend, pendingSummary: left } = absorb(state({ pendingSummary }), rules, event);
  expect(pending).toMatchObject([{ kind: 'outcomes' }, { notice: { kind: 'batch_summary', text: 'It read.' } }]);
  expect([spend.usd, left]).toEqual([0.01, null]);
});

test('the same call failing for ever is counted on when a sibling is cancelled with it (L34)', () => {
  const event = toolsRan([call(0), call(1)], { facts: [{ error: true, cancelsSiblings: true }, { cancelled: true }] });
  const counts = Array.from({ length: 5 }).reduce(
    (before: ReturnType<typeof state>) => absorb(before, rules, event),
    state(),
  );
  expect(counts.failing).toEqual({ signature: 'read:0', times: 5 });
});

test('a reply that makes the same call six times counts once: the model has not seen it fail (L34)', () => {
  const same = Array.from({ length: 6 }, (_, index) => call(index, { signature: 'bash:x' }));
  const event = toolsRan(same, { facts: same.map(() => ({ error: true as const })) });
  const once = absorb(state(), rules, event);
  expect(once.failing).toEqual({ signature: 'bash:x', times: 1 });
  expect(absorb(once, rules, event).failing).toEqual({ signature: 'bash:x', times: 2 });
});

test('what a call took of the small model counts in its run, once (L86 L51)', () => {
  const event = toolsRan([call(0), call(1)], { facts: [{ spend: usd(0.02) }, {}] });
  expect(absorb(state({ spend: usd(1) }), rules, event).spend.usd).toBeCloseTo(1.02);
});
