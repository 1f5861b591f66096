import { describe, expect, test } from 'vitest';
import type { CollapseResult, CompactionResult } from '../../../workflows/contract/activities.ts';
import { noSpend, type Rules } from '../../../workflows/contract/loop.ts';
import { absorb } from '../../../workflows/machine/absorb.ts';
import { decide } from '../../../workflows/machine/decide.ts';
import type { Event, Move } from '../../../workflows/machine/events.ts';
import { contextAfterRun, tokensInUse } from '../../../workflows/machine/context.ts';
import { initialState, type RunState } from '../../../workflows/machine/state.ts';
import { commitCollapses } from '../../../workflows/machine/transitions.ts';
import { call, hash, model, modelEvent, replied, rules, state, toolsRan, userMessage } from '../../support/machine.ts';

test('a context that no reply has counted stays an estimate for the next run, without system prompt and tools (L10 L12)', () => {
  const aborted = state({ contextTokens: 0, newerTokens: 500 });
  const following = initialState(
    null,
    [],
    contextAfterRun(aborted, () => true),
  );
  expect(tokensInUse(following, 20_000)).toBe(20_500);
  const counted = initialState(
    null,
    [],
    contextAfterRun(state({ contextTokens: 9_000, newerTokens: 500 }), () => true),
  );
  expect(tokensInUse(counted, 20_000)).toBe(9_500);
  // Sessions of earlier releases counted so.
  expect(
    tokensInUse(
      initialState(
        null,
        [],
        contextAfterRun(aborted, () => false),
      ),
      20_000,
    ),
  ).toBe(500);
});

const ready: Event = { kind: 'ready' };
const tooLong = modelEvent({ kind: 'too_long', detail: 'big', spend: noSpend });
const tracking = state().compaction;

function after(event: Event, from: Partial<RunState> = {}, limits: Partial<Rules> = {}): RunState {
  return absorb(state(from), { ...rules, ...limits }, event);
}

function next(event: Event, from: Partial<RunState> = {}, limits: Partial<Rules> = {}): Move {
  return decide(after(event, from, limits), { ...rules, ...limits }, event);
}

function compacted(result: CompactionResult, reactive = false): Event {
  const because = reactive ? ({ reason: 'prompt_too_long', detail: 'big' } as const) : null;
  return {
    kind: 'compacted',
    result,
    move: { do: 'compact', trigger: reactive ? 'reactive' : 'auto', because },
    stop: null,
  };
}

const done = (tokens = 20_000): CompactionResult => {
  return { kind: 'compacted', head: hash('short'), before: 180_000, after: tokens, spend: noSpend };
};
const failed: CompactionResult = { kind: 'failed', detail: 'no summary', spend: noSpend };
const shrunk = (freed: number): CompactionResult => ({ kind: 'shrunk', head: hash('marked'), freed, spend: noSpend });

/** The activity is asked for old results first, and for a summary when they free too little. */
const compact = (unlessFreed: number): Move => ({ do: 'compact', trigger: 'auto', because: null, unlessFreed });

/** Rule set 2 asks what old results free before anything else; here it has asked. */
const asked = { ...tracking, shrunkIn: 1 };

describe('before a call', () => {
  test('below the warning nothing is done, at critical the context is compacted (L10)', () => {
    expect(next(ready, { contextTokens: 139_000 })).toEqual({ do: 'call_model' });
    expect(next(ready, { contextTokens: 170_000 })).toEqual(compact(0));
  });

  test('the estimate counts outcomes and messages that came since the last reply (L10)', () => {
    const ran = toolsRan([call(0)], { facts: [{ tokens: 30_000 }] });
    const full = after(ran, { contextTokens: 141_000 });
    expect(decide(full, rules, ready)).toMatchObject({ do: 'compact' });
    const early = modelEvent(replied([call(0, { outcome: { tokens: 30_000 } })], { contextTokens: 141_000 }));
    expect(decide(after(early), rules, ready)).toMatchObject({ do: 'compact' });
    const prompt = { kind: 'user', ...userMessage('p'), body: { kind: 'text', text: 'x'.repeat(120_000) } } as const;
    expect(next(ready, { contextTokens: 141_000, pending: [prompt] })).toMatchObject({ do: 'compact' });
  });

  test('at warning old stretches are staged, and again only when the context has grown (L9)', () => {
    expect(next(ready, { contextTokens: 140_000 })).toEqual({ do: 'collapse', unlessFreed: 0 });
    const staged = { ...tracking, stagedAt: 140_000 };
    expect(next(ready, { contextTokens: 149_000, compaction: staged })).toEqual({ do: 'call_model' });
    expect(next(ready, { contextTokens: 150_000, compaction: staged })).toEqual({
      do: 'collapse',
      unlessFreed: 10_000,
    });
  });

  test('what is committed, or shrunk, does not count as context that has not grown (L9)', () => {
    const result: CollapseResult = { kind: 'staged', head: hash('s'), savings: [15_000, 15_000], spend: noSpend };
    const staged = after({ kind: 'collapsed', result, stop: null }, { contextTokens: 166_000 });
    expect(staged).toMatchObject({ staged: [15_000, 15_000], compaction: { stagedAt: 136_000 } });
    const shorter = commitCollapses({ ...staged, contextTokens: 172_000 }, 1);
    expect(shorter).toMatchObject({ contextTokens: 157_000, staged: [15_000] });
    expect(decide(shorter, rules, ready)).toEqual({ do: 'call_model' });
    expect(decide({ ...shorter, contextTokens: 161_000 }, rules, ready)).toMatchObject({ do: 'collapse' });
    const marked = absorb({ ...staged, contextTokens: 190_000 }, rules, compacted(shrunk(40_000)));
    expect(marked).toMatchObject({ contextTokens: 150_000, compaction: { stagedAt: 96_000 } });
  });

  test('at critical the oldest staged are committed first, as many as it takes (L9)', () => {
    const full = { contextTokens: 175_000, staged: [3_000, 4_000, 5_000], compaction: asked };
    expect(next(ready, full)).toEqual({ do: 'commit_collapses', count: 2 });
    const shorter = commitCollapses(state(full), 2);
    expect(shorter).toMatchObject({ contextTokens: 168_000, staged: [5_000] });
    expect(shorter.pending).toEqual([{ kind: 'collapse_committed', count: 2 }]);
    expect(decide(shorter, rules, ready)).toEqual({ do: 'collapse', unlessFreed: 28_000 });
  });

  test('a staging that failed does not hold up the call (L9)', () => {
    const event: Event = { kind: 'collapsed', result: { kind: 'failed', detail: 'x', spend: noSpend }, stop: null };
    expect(next(event, { contextTokens: 140_000 })).toEqual({ do: 'call_model' });
  });

  test('a compaction that worked is followed by the call, whatever it left (L10)', () => {
    expect(next(compacted(done(180_000)), { contextTokens: 190_000 })).toEqual({ do: 'call_model' });
    expect(after(compacted(done()), { contextTokens: 190_000 })).toMatchObject({
      head: hash('short'),
      contextTokens: 20_000,
      pending: [],
    });
  });

  test('three failures in a row stop autocompact for the run, and it says so (L10)', () => {
    const once = after(compacted(failed), { contextTokens: 180_000 });
    expect(once.pending).toMatchObject([{ notice: { kind: 'compaction_failed', spent: false } }]);
    expect(decide(once, rules, ready)).toEqual({ do: 'call_model' });
    const thrice = after(compacted(failed), { contextTokens: 180_000, compaction: { ...tracking, failures: 2 } });
    expect(thrice.pending).toMatchObject([{ notice: { kind: 'compaction_failed', spent: true } }]);
    expect(decide({ ...thrice, iteration: 9 }, rules, ready)).toEqual({ do: 'call_model' });
  });

  test('three compactions within two turns of each other end the run with blocking_limit (L10)', () => {
    const close = { ...tracking, close: 2, lastTurn: 5 };
    const from = { contextTokens: 180_000, compaction: close };
    expect(next(compacted(done()), { ...from, turn: 7 })).toMatchObject({ terminal: { reason: 'blocking_limit' } });
    expect(next(compacted(done()), { ...from, turn: 8 })).toEqual({ do: 'call_model' });
  });

  test('with compaction off a full window ends the run with blocking_limit, before the call (L12)', () => {
    const off = { compaction: { ...rules.compaction, enabled: false } };
    expect(next(ready, { contextTokens: 190_000 }, off)).toEqual({ do: 'call_model' });
    const full = { contextTokens: 200_000, compaction: asked };
    expect(next(ready, full, off)).toMatchObject({ terminal: { reason: 'blocking_limit' } });
  });

  test('a full window is compacted again after a failure, until compaction is spent (L12)', () => {
    const full = { contextTokens: 210_000, iteration: 4 };
    expect(next(compacted(failed), full)).toMatchObject({ do: 'compact' });
    const spent = { ...full, compaction: { ...tracking, failures: 2 } };
    expect(next(compacted(failed), spent)).toMatchObject({ terminal: { reason: 'blocking_limit' } });
  });

  test('a newest message that no window holds ends the run, compaction or not (L12)', () => {
    const prompt = {
      kind: 'user',
      ...userMessage('p'),
      body: { kind: 'stored', hash: hash('b'), bytes: 900_000 },
    } as const;
    expect(next(ready, { pending: [prompt] })).toMatchObject({ terminal: { reason: 'blocking_limit' } });
  });

  test('the system prompt and the tools count with the newest message (L12)', () => {
    const body = { kind: 'stored', hash: hash('b'), bytes: 790_000 } as const;
    const pending = [{ kind: 'user', ...userMessage('p'), body }] as const;
    const detail = expect.stringContaining('about 200500 tokens');
    expect(next(ready, { pending })).toMatchObject({ terminal: { reason: 'blocking_limit', detail } });
    expect(next(ready, { pending }, { fixedTokens: 2_500 })).toMatchObject({ do: 'compact' });
  });

  test('the task budget is unset until the first compaction, then goes down by what was in context (L11)', () => {
    const limits = { taskBudget: 500_000 };
    const first = after(compacted(done()), { contextTokens: 180_000 }, limits);
    expect(first.taskRemaining).toBe(320_000);
    const second = absorb({ ...first, contextTokens: 400_000 }, { ...rules, ...limits }, compacted(done()));
    expect(second.taskRemaining).toBe(0);
    expect(after(compacted(done()), { contextTokens: 180_000 }).taskRemaining).toBeNull();
  });
});

describe('a prompt that is too long', () => {
  test('commits all staged collapses, once until the next turn (L23)', () => {
    expect(next(tooLong, { staged: [10, 20] })).toEqual({
      do: 'go_round',
      transition: { reason: 'collapse_drain_retry', append: [{ kind: 'collapse_committed', count: 2 }] },
    });
    expect(next(tooLong, { staged: [10], drained: true })).toMatchObject({ do: 'compact', trigger: 'reactive' });
  });

  test('is compacted at once, and media too large likewise (L24)', () => {
    expect(next(tooLong)).toMatchObject({ do: 'compact', trigger: 'reactive', because: { reason: 'prompt_too_long' } });
    const media = modelEvent({ kind: 'media_too_large', detail: 'big', spend: noSpend });
    expect(next(media, { staged: [10] })).toMatchObject({ do: 'compact', because: { reason: 'image_error' } });
    expect(next(compacted(done(), true))).toEqual({
      do: 'go_round',
      transition: { reason: 'reactive_compact_retry', append: [] },
    });
  });

  test('is shown when the compaction failed, is off, or did not help (L25)', () => {
    const shown = { terminal: { reason: 'prompt_too_long', detail: 'big' }, append: [{ notice: { kind: 'error' } }] };
    expect(next(compacted(failed, true))).toMatchObject(shown);
    expect(next(tooLong, { compacted: true })).toMatchObject(shown);
    expect(next(tooLong, {}, { compaction: { ...rules.compaction, enabled: false } })).toMatchObject(shown);
  });

  test('a stop during a compaction discards it whole (L47)', () => {
    const event: Event = { ...(compacted({ kind: 'nothing', spend: noSpend }) as object), stop: 'interrupt' } as Event;
    expect(next(event)).toMatchObject({ terminal: { reason: 'aborted_streaming', by: 'interrupt' } });
    expect(after(event).head).toBe(state().head);
  });
});

test('of a fallback model it is the window of that model that counts (L10)', () => {
  const limits = { models: [model, { ...model, window: 100_000 }] as const };
  expect(next(ready, { contextTokens: 90_000 }, limits)).toEqual({ do: 'call_model' });
  expect(next(ready, { contextTokens: 90_000, modelPosition: 1 }, limits)).toMatchObject({ do: 'compact' });
});
