// Reports that fit no open call: they are kept for calls that a reset has to make again, within
// what a handover can carry.
import { expect, test } from 'vitest';
import { Delegations } from '../../../workflows/delegated/delegations.ts';
import { LARGEST_RESULT, type AgentSpending, type DelegatedEnd } from '../../../workflows/contract/delegation.ts';
import type { CallKey, SessionId } from '../../../workflows/contract/ids.ts';
import { noUsage } from '../../../workflows/contract/loop.ts';

const keyOf = (n: number) => `chain.head.${n}` as CallKey;
const done = (n: number, result: unknown) => ({ key: keyOf(n), end: { kind: 'done', result } });
const agent = (n: number, more: object = {}) => ({
  key: keyOf(n),
  end: { kind: 'agent', session: 's-a', run: null, spend: { usage: { ...noUsage, input: 10 }, usd: 0 }, ...more },
});
const size = ({ carry }: Delegations): number => JSON.stringify(carry).length;
const tokens = (spent: readonly AgentSpending[]): readonly number[] => spent.map(({ spend }) => spend.usage.input);

/** Returns the delegations of the next workflow run. */
const handOver = ({ carry }: Delegations): Delegations =>
  new Delegations(JSON.parse(JSON.stringify(carry)) as Delegations['carry']);

/** Returns the end of a call that a reset has begun again. */
function beginAgain(delegations: Delegations, n: number): DelegatedEnd | undefined {
  delegations.begin({ key: keyOf(n), index: n, child: 'c' });
  delegations.claimEarlyReport(keyOf(n));
  return delegations.endOf(keyOf(n));
}

test('the late end of a call that was given up is passed over, and what an agent took counts (L4 L64 L69)', () => {
  const before = new Delegations();
  before.giveUp(keyOf(0));
  before.giveUp(keyOf(1));
  const after = handOver(before);
  after.report(done(0, 'x'.repeat(LARGEST_RESULT - 2)));
  expect(size(after)).toBeLessThan(1_000);
  expect(beginAgain(after, 0)).toBeUndefined();
  after.report(agent(1));
  expect(tokens(handOver(after).takeUnclaimed())).toEqual([10]);
});

test('early reports are carried within a bound: the newest whole, of older ones the beginning or what was spent (L4 L63)', () => {
  const before = new Delegations();
  const words = 'x'.repeat(10_000);
  const work = { kind: 'kept', detail: words };
  for (let n = 0; n < 150; n += 2) {
    before.report(agent(n, { worktree: work }));
    before.report(done(n + 1, words));
  }
  expect(size(before)).toBeLessThan(300_000);
  const after = handOver(before);
  expect(beginAgain(after, 149)).toEqual({ kind: 'done', result: words });
  expect(beginAgain(after, 51)).toEqual({ kind: 'done', cut: `"${words.slice(0, 499)}` });
  expect(beginAgain(after, 49)).toBeUndefined();
  expect(tokens(after.takeUnclaimed())).toEqual(Array.from({ length: 50 }, () => 10));
});

test('a report of anyone is shortened to what our own workflows send, or is none (L63)', () => {
  const ends = [
    { kind: 'done', result: 'x'.repeat(1_000_000) },
    { kind: 'done', cut: 'x'.repeat(1_000_000) },
    { kind: 'done', result: 1, more: 'x'.repeat(1_000_000) },
    { kind: 'failed', detail: 'x'.repeat(1_000_000) },
    { kind: 'stopped', ended: true, more: 'x'.repeat(1_000_000) },
    agent(0, { more: 'x'.repeat(1_000_000) }).end,
    agent(0, {
      run: { run: 1, turns: 1, head: null, terminal: { reason: 'model_error', detail: 'x'.repeat(100_000) } },
    }).end,
  ];
  for (const end of ends) {
    const delegations = new Delegations();
    delegations.report({ key: keyOf(0), end });
    expect(size(delegations)).toBeGreaterThan(50);
    expect(size(delegations)).toBeLessThan(LARGEST_RESULT + 1_000);
  }
  const none = new Delegations();
  for (const end of [
    { kind: 'failed' },
    { kind: 'stopped', ended: 'x' },
    { kind: 'done', cut: 1 },
    agent(0, { session: 'x'.repeat(2_000) }).end,
  ])
    none.report({ key: keyOf(0), end });
  none.report({ key: 'x'.repeat(1_000), end: { kind: 'stopped', ended: true } });
  expect(none.carry).toEqual({});
});

test('an agent with a long last sentence keeps its run (L67)', () => {
  const delegations = new Delegations();
  const terminal = { reason: 'model_error', detail: 'x'.repeat(100_000) };
  delegations.report(agent(0, { run: { run: 2, turns: 1, head: null, terminal } }));
  const end = beginAgain(delegations, 0) as { readonly run: object; readonly session: SessionId };
  expect(end.run).toEqual({ run: 2, turns: 1, head: null, terminal: { ...terminal, detail: 'x'.repeat(2_000) } });
});
