// L8 before L9, L10 and L12: what old results free, which only an activity can say, and the state
// that each end of a compaction leaves.
import { describe, expect, test } from 'vitest';
import type { CompactionResult } from '../../../workflows/contract/activities.ts';
import { noSpend, type Rules } from '../../../workflows/contract/loop.ts';
import { absorb } from '../../../workflows/machine/absorb.ts';
import { collapseInput, compactionInput } from '../../../workflows/machine/step-inputs.ts';
import { decide } from '../../../workflows/machine/decide.ts';
import type { Event, Move, PerformedMove } from '../../../workflows/machine/events.ts';
import { runLoop } from '../../../workflows/machine/loop.ts';
import type { RunState } from '../../../workflows/machine/state.ts';
import { hash, model, modelEvent, replied, rules, state, usd, userMessage } from '../../support/machine.ts';

const off: Partial<Rules> = { compaction: { ...rules.compaction, enabled: false } };
const tracking = state().compaction;

const shrunk = (freed: number): CompactionResult => ({ kind: 'shrunk', head: hash('marked'), freed, spend: noSpend });
const unshrunk: CompactionResult = { kind: 'unshrunk', tokens: 1_000_000, spend: noSpend };
const done: CompactionResult = {
  kind: 'compacted',
  head: hash('short'),
  before: 180_000,
  after: 20_000,
  spend: noSpend,
};
const failed: CompactionResult = { kind: 'failed', detail: 'no summary', spend: noSpend };

type Because = Extract<Move, { do: 'compact' }>['because'];

function compacted(result: CompactionResult, because: Because = null): Event {
  return { kind: 'compacted', result, move: { do: 'compact', trigger: 'auto', because }, stop: null };
}

/**
 * Runs until the model is called, or the run ends. `answers`: the results of compactions, in order.
 */
async function before(from: Partial<RunState>, answers: readonly CompactionResult[], limits: Partial<Rules> = {}) {
  const moves: unknown[] = [];
  const left = [...answers];
  let called: RunState | null = null;
  const perform = (move: PerformedMove, at: RunState): Promise<Event> => {
    if (move.do === 'call_model') {
      called = at;
      return Promise.resolve(modelEvent(replied()));
    }
    moves.push(move.do === 'compact' ? (move.unlessFreed ?? 'summary') : move.do);
    const result = left.shift();
    if (move.do !== 'compact' || !result) throw new Error(`no answer to ${JSON.stringify(move)}`);
    return Promise.resolve({ kind: 'compacted', result, move, stop: null });
  };
  const limited = { ...rules, ...limits, compaction: { ...(limits.compaction ?? rules.compaction), collapse: false } };
  const { terminal } = await runLoop(state(from), () => limited, { perform, wentRound: () => null });
  return { moves, called: called as RunState | null, reason: terminal.reason, left };
}

describe('old results are shrunk before anything else is done', () => {
  test('what they free can make a summary unnecessary: it is no compaction, and the call follows (L8 L10)', async () => {
    const pending = [{ kind: 'user', ...userMessage('p'), body: { kind: 'text', text: 'x'.repeat(8_000) } }] as const;
    const compaction = { ...tracking, failures: 1, close: 2, lastTurn: 1 };
    const from = { contextTokens: 190_000, newerTokens: 1_000, pending, compaction, taskRemaining: 70_000 };
    const { moves, called } = await before(from, [shrunk(40_000)], { taskBudget: 100_000 });
    expect(moves).toEqual([23_000]);
    expect(called).toMatchObject({ head: hash('marked'), contextTokens: 150_000, newerTokens: 3_000, pending: [] });
    expect(called).toMatchObject({ compaction: { ...compaction, shrunkIn: 1 }, taskRemaining: 70_000 });
  });

  test.each<[string, Partial<RunState>, readonly CompactionResult[], readonly unknown[], number]>([
    ['alone they do', { staged: [9_000] }, [shrunk(30_000)], [11_000], 0],
    ['with what is staged', { staged: [9_000, 9_000] }, [shrunk(5_000)], [2_000], 2],
    ['what is staged does alone', { staged: [30_000] }, [unshrunk], [-10_000], 1],
    ['neither does', { staged: [9_000] }, [done], [11_000], 0],
    ['a summary fails: what is staged is committed', { staged: [9_000] }, [failed], [11_000], 1],
  ])('what is staged is committed after them, and only then: %s (L8 L9)', async (_, from, answers, moves, count) => {
    const walked = await before({ contextTokens: 190_000, ...from }, answers);
    const committed = walked.called?.pending.flatMap((append) =>
      append.kind === 'collapse_committed' ? [append.count] : [],
    );
    expect([walked.moves, walked.reason]).toEqual([moves, 'completed']);
    expect(committed).toEqual(count > 0 ? [count] : []);
  });

  test('with compaction off they are asked once before the limit, which comes when they free too little (L8 L12)', async () => {
    const full = { contextTokens: 205_000 };
    expect(await before(full, [shrunk(21_000)], off)).toMatchObject({ moves: [-1], reason: 'completed' });
    for (const answer of [shrunk(1_000), unshrunk, failed]) {
      expect(await before(full, [answer], off)).toMatchObject({ moves: [-1], reason: 'blocking_limit' });
    }
    expect(await before({ contextTokens: 199_000 }, [], off)).toMatchObject({ moves: [], reason: 'completed' });
  });

  test('and so they are when compaction is spent (L8 L12)', async () => {
    const spent = { contextTokens: 205_000, compaction: { ...tracking, failures: 3 } };
    expect(await before(spent, [shrunk(21_000)])).toMatchObject({ moves: [-1], reason: 'completed' });
    expect(await before(spent, [unshrunk])).toMatchObject({ moves: [-1], reason: 'blocking_limit' });
  });

  test('a summary that fails may leave them shrunk, which can be room enough (L8 L10)', async () => {
    const marked: CompactionResult = { ...failed, head: hash('marked'), freed: 21_000 };
    const { moves, called } = await before({ contextTokens: 205_000 }, [marked]);
    expect(moves).toEqual([35_000]);
    expect(called).toMatchObject({ head: hash('marked'), contextTokens: 184_000, compaction: { failures: 1 } });
    expect(called?.pending).toMatchObject([{ notice: { kind: 'compaction_failed' } }]);
  });

  test('each iteration asks once: in a full window failures lead on to the limit (L10 L12)', async () => {
    const { moves, reason } = await before({ contextTokens: 205_000 }, [failed, failed, failed]);
    expect([moves, reason]).toEqual([[35_000, 'summary', 'summary'], 'blocking_limit']);
  });

  test('what they free can make staging unnecessary (L8 L9)', () => {
    const event: Event = {
      kind: 'collapsed',
      result: shrunk(20_000) as Extract<CompactionResult, { kind: 'shrunk' }>,
      stop: null,
    };
    const next = absorb(state({ contextTokens: 150_000 }), rules, event);
    expect(next).toMatchObject({ head: hash('marked'), contextTokens: 130_000, staged: [] });
    expect(decide(next, rules, event)).toEqual({ do: 'call_model' });
  });

  test('what was pending is stored with what is staged, and still counted (L9)', () => {
    const pending = [{ kind: 'user', ...userMessage('p'), body: { kind: 'text', text: 'x'.repeat(8_000) } }] as const;
    const result = { kind: 'staged', head: hash('s'), savings: [5_000], freed: 20_000, spend: noSpend } as const;
    const from = state({ contextTokens: 160_000, newerTokens: 1_000, pending });
    const next = absorb(from, rules, { kind: 'collapsed', result, stop: null });
    expect(next).toMatchObject({ contextTokens: 140_000, newerTokens: 3_000, pending: [], staged: [5_000] });
  });
});

describe('what is newer than all that a reply has counted', () => {
  const from = { contextTokens: 0, newerTokens: 1_300_000 };
  const small = (kind: 'unshrunk' | 'as_is'): CompactionResult => ({ kind, tokens: 5_000, spend: noSpend });

  test.each([
    ['with compaction', {}, [small('unshrunk')], [1_133_000]],
    ['with compaction that summarises nothing', {}, [small('as_is')], [1_133_000]],
    ['without', off, [small('unshrunk')], [-1]],
  ])(
    'is counted as it is shown: a message that was too large is shown in part (L6 L12), %s',
    async (_, limits, answers, moves) => {
      const walked = await before(from, answers, limits);
      expect([walked.moves, walked.reason]).toEqual([moves, 'completed']);
      expect(walked.called).toMatchObject({ contextTokens: 0, newerTokens: 2_000 });
    },
  );

  test('in a session of an earlier release it blocks, as it did (L3)', () => {
    const event = compacted(small('as_is'));
    const after = absorb(state(from), rules, event, () => false);
    expect(after).toMatchObject(from);
    const fits = absorb(state({ ...from, newerTokens: 1_000 }), rules, event, () => {
      throw new Error('nothing is noted where it makes no difference');
    });
    expect(fits).toMatchObject({ newerTokens: 1_000 });
  });
});

describe('the end of a compaction', () => {
  test('one that worked leaves nothing of what was before (L10)', () => {
    const from = {
      failures: 4,
      newerTokens: 9_000,
      staged: [1_000],
      pending: [{ kind: 'snip', entries: [1] }],
    } as const;
    const compaction = { ...tracking, failures: 2, stagedAt: 150_000 };
    const after = absorb(state({ contextTokens: 180_000, ...from, compaction }), rules, compacted(done));
    expect(after).toMatchObject({ contextTokens: 20_000, newerTokens: 0, staged: [], pending: [], failures: 0 });
    expect(after.compaction).toEqual({ failures: 0, close: 1, lastTurn: 1, triedIn: 1, shrunkIn: 1, stagedAt: null });
  });

  test('three close ones end the run, also when the API asked for the third (L10 L24)', () => {
    const because = { reason: 'prompt_too_long', detail: 'big' } as const;
    const compaction = { ...tracking, close: 2, lastTurn: 5 };
    const next = (turn: number) => {
      const event = compacted(done, because);
      return decide(absorb(state({ turn, compaction }), rules, event), rules, event);
    };
    expect(next(7)).toMatchObject({ terminal: { reason: 'blocking_limit' } });
    expect(next(8)).toMatchObject({ transition: { reason: 'reactive_compact_retry' } });
  });

  test('a long wait of the small model parks the run, is no failure, and its count goes into the next attempt (L14)', () => {
    const parked: CompactionResult = { kind: 'parked', waitMs: 90_000, failures: 2, detail: '429', spend: usd(1) };
    const event = compacted(parked);
    const waiting = absorb(state({ contextTokens: 205_000 }), rules, event);
    expect(decide(waiting, rules, event)).toEqual({ do: 'park', waitMs: 90_000 });
    expect(waiting).toMatchObject({ pending: [], compaction: { failures: 0 }, spend: { usd: 1 } });
    const again = decide(waiting, rules, { kind: 'ready' });
    if (again.do !== 'compact') throw new Error(again.do);
    expect(compactionInput(waiting, rules, again)).toMatchObject({ trigger: 'auto', failures: 2, unlessFreed: 35_000 });
    expect(absorb(waiting, rules, compacted(failed)).failures).toBe(0);
  });

  test('it is made for the window of the model in use (L9 L10 L19)', () => {
    const limits = { ...rules, models: [model, { ...model, window: 100_000 }] as const };
    const move = decide(state({ contextTokens: 75_000, modelPosition: 1 }), limits, { kind: 'ready' });
    if (move.do !== 'collapse') throw new Error(move.do);
    expect(collapseInput(state({ modelPosition: 1 }), rules, move)).toEqual({ model: 1, unlessFreed: 5_000 });
  });
});

test.each([
  ['made', done],
  ['not made', failed],
  ['not needed', { kind: 'as_is', tokens: 1_000, spend: noSpend } satisfies CompactionResult],
])('one that was asked for is all that its run does, also when it is %s (L10)', async (_, result) => {
  const demand = { instructions: 'Keep names.' };
  const moves: unknown[] = [];
  const { terminal } = await runLoop(state({ demand, turn: 0 }), () => rules, {
    perform: (move, at) => {
      if (move.do !== 'compact') throw new Error(`no answer to ${JSON.stringify(move)}`);
      moves.push(compactionInput(at, rules, move));
      return Promise.resolve({ kind: 'compacted', result, move, stop: null });
    },
    wentRound: () => null,
  });
  expect(terminal).toEqual({ reason: 'completed' });
  expect(moves).toMatchObject([{ trigger: 'manual', instructions: 'Keep names.' }]);
});
