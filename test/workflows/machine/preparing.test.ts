// A compaction that the API makes while the run goes on (L9): when it is begun, waited for, and
// taken.
import { describe, expect, test } from 'vitest';
import type { ModelResult, PreparedCompaction } from '../../../workflows/contract/activities.ts';
import { noSpend } from '../../../workflows/contract/loop.ts';
import { absorb } from '../../../workflows/machine/absorb.ts';
import { takePrepared } from '../../../workflows/machine/compactions.ts';
import type { Event } from '../../../workflows/machine/events.ts';
import { modelInput } from '../../../workflows/machine/step-inputs.ts';
import type { RunState } from '../../../workflows/machine/state.ts';
import {
  call,
  cutOff,
  hash,
  model,
  modelEvent,
  next,
  output,
  replied,
  rules,
  state,
  toolsRan,
} from '../../support/machine.ts';

const own = { models: [{ ...model, summarizesItself: true }] } as const;
const all = { ...rules, ...own };
const ready: Event = { kind: 'ready' };
const compaction = state().compaction;
const made = { iteration: 1, made: { boundary: hash('b'), saved: 100_000 } };
const result: PreparedCompaction = {
  kind: 'prepared',
  boundary: hash('b'),
  before: 150_000,
  after: 50_000,
  spend: output(7),
};
const failed: PreparedCompaction = { kind: 'failed', detail: 'overloaded', spend: output(3) };
const tooLong = modelEvent({ kind: 'too_long', detail: 'too long', spend: noSpend });
const waited = (prepared?: PreparedCompaction): Event => ({
  kind: 'prepared',
  because: null,
  stop: null,
  ...(prepared && { prepared: { iteration: 1, result: prepared } }),
});

describe('it is begun', () => {
  test('at warning, once, and again when the context has grown (L9)', () => {
    const full = { contextTokens: 150_000 };
    expect(next(ready, full, own)).toEqual({ do: 'prepare_compaction' });
    const begun = absorb(state(full), all, { kind: 'preparing', begins: true });
    expect(begun.preparing).toEqual({ iteration: 1 });
    const keeps = output(5);
    const limited = absorb(state(full), all, { kind: 'preparing', begins: true, keeps });
    expect(limited.preparing).toEqual({ iteration: 1, keeps });
    expect(next(ready, begun, own)).toEqual({ do: 'call_model' });
    const tried = { compaction: { ...compaction, stagedAt: 150_000 } };
    expect(next(ready, { ...tried, contextTokens: 155_000 }, own)).toEqual({ do: 'call_model' });
    expect(next(ready, { ...tried, contextTokens: 160_000 }, own)).toEqual({ do: 'prepare_compaction' });
  });

  test.each([
    ['below the warning', { contextTokens: 139_000 }, own],
    ['before the first reply', { contextTokens: 150_000, head: null }, own],
    [
      'with compaction off',
      { contextTokens: 150_000 },
      { ...own, compaction: { ...rules.compaction, enabled: false } },
    ],
  ])('not %s', (_when, from, limits) => {
    expect(next(ready, from, limits)).toEqual({ do: 'call_model' });
  });

  test('in a run of an earlier release the call is made, and nothing is tried again at once', () => {
    const event: Event = { kind: 'preparing', begins: false };
    expect(next(event, { contextTokens: 150_000 }, own)).toEqual({ do: 'call_model' });
    expect(absorb(state({ contextTokens: 150_000 }), all, event).preparing).toBeUndefined();
  });
});

describe('it is taken', () => {
  test.each([
    ['a reply', modelEvent(replied([call(0)], { contextTokens: 150_000 }))],
    ['the tools', toolsRan([call(0)])],
  ])('by the first request after it, when it ended beside %s', (_what, event) => {
    const begun = state({ contextTokens: 150_000, preparing: { iteration: 1 } });
    const after = absorb(begun, all, { ...event, prepared: { iteration: 1, result } } as Event);
    expect(after).toMatchObject({ preparing: made, spend: { usage: { output: 7 } } });
    expect(next(ready, after, own)).toEqual({ do: 'take_prepared' });
  });

  test('with what is pending before it, and counts as a compaction (L10 L11)', () => {
    const pending: RunState['pending'] = [{ kind: 'outcomes', items: [] }];
    const limits = { ...all, taskBudget: 400_000 };
    const taken = takePrepared(
      state({ pending, contextTokens: 150_000, turn: 4, iteration: 9, preparing: made }),
      limits,
    );
    expect(taken).toMatchObject({
      pending: [...pending, { kind: 'prepared_boundary', boundary: hash('b') }],
      contextTokens: 50_000,
      compaction: { close: 1, lastTurn: 4, triedIn: 9, stagedAt: null },
      taskRemaining: 250_000,
    });
    expect(taken.preparing).toBeUndefined();
  });

  test('not where another boundary has come meanwhile; it is paid for', () => {
    const after = absorb(state({ preparing: { iteration: 5 } }), all, {
      ...modelEvent(replied()),
      prepared: { iteration: 1, result },
    } as Event);
    expect(after).toMatchObject({ preparing: { iteration: 5 }, spend: { usage: { output: 7 } } });
  });

  test('one that is left out, for what it sums up has changed, counts as none (L10 L11)', () => {
    const limits = { ...all, taskBudget: 400_000 };
    const from = state({ contextTokens: 150_000, turn: 4, taskRemaining: 300_000, staged: [50], preparing: made });
    const taken = takePrepared(from, limits);
    expect(modelInput(taken, limits).taskRemaining, 'nothing is sent beside a summary').toBe(300_000);
    const answered = modelEvent({ ...replied([call(0)], { contextTokens: 151_000 }), leftOut: true } as ModelResult);
    const after = absorb(taken, limits, answered);
    const { staged, compaction: tracked, taskRemaining } = from;
    expect(after).toMatchObject({ staged, compaction: tracked, taskRemaining, contextTokens: 151_000, pending: [] });
    expect([after.preparing, after.beforePrepared]).toEqual([undefined, undefined]);
    const stored = absorb(taken, limits, modelEvent(replied([call(0)], { contextTokens: 51_000 })));
    expect(stored).toMatchObject({ taskRemaining: 150_000, compaction: { close: 1 } });
    expect(stored.beforePrepared).toBeUndefined();
    const move = { do: 'compact', trigger: 'auto', because: null } as const;
    const summed = { kind: 'compacted', head: hash('c'), before: 150_000, after: 9_000, spend: noSpend } as const;
    const compacted: Event = { kind: 'compacted', result: { ...summed, leftOut: true }, move, stop: null };
    expect(absorb(taken, limits, compacted)).toMatchObject({ taskRemaining: 150_000, compaction: { close: 1 } });
  });

  test('one that is left out of a reply that is asked for again counts as none at once (L26)', () => {
    const limits = { ...all, taskBudget: 400_000 };
    const taken = takePrepared(state({ contextTokens: 150_000, preparing: made }), limits);
    const cutShort = modelEvent({ ...cutOff(), leftOut: true } as ModelResult);
    expect(absorb(taken, limits, cutShort)).toMatchObject({ taskRemaining: null, pending: taken.pending });
    expect(absorb(taken, limits, modelEvent(cutOff()))).toMatchObject({ beforePrepared: { taskRemaining: null } });
  });

  test('a session of an earlier release counts one that is left out, as it did (L3)', () => {
    const limits = { ...all, taskBudget: 400_000 };
    const taken = takePrepared(state({ contextTokens: 150_000, preparing: made }), limits);
    const answered = modelEvent({ ...replied(), leftOut: true } as ModelResult);
    expect(absorb(taken, limits, answered, () => false)).toMatchObject({ taskRemaining: 250_000 });
  });

  test('its hooks that failed are said (L41)', () => {
    const hooks = [{ hook: 'preCompact', detail: 'boom' }];
    const after = absorb(state({ preparing: { iteration: 1 } }), all, waited({ ...failed, hooks }));
    expect(after.pending).toEqual([{ kind: 'notice', notice: { kind: 'hook_failed', ...hooks[0] } }]);
  });
});

describe('where there is no room, it is waited for', () => {
  const full = { contextTokens: 171_000, preparing: { iteration: 1 } };

  test('at critical, and taken (L10)', () => {
    expect(next(ready, full, own)).toEqual({ do: 'await_compaction', because: null });
    expect(next(waited(result), full, own)).toEqual({ do: 'take_prepared' });
  });

  test('at critical, and when it has failed another is made', () => {
    expect(next(waited(failed), full, own)).toMatchObject({ do: 'compact', trigger: 'auto' });
    expect(next(waited(), full, own)).toMatchObject({ do: 'compact', trigger: 'auto' });
  });

  test('when the request is too long: the same request goes with it (L23)', () => {
    const because = { reason: 'prompt_too_long', detail: 'too long' } as const;
    expect(next(tooLong, full, own)).toEqual({ do: 'await_compaction', because });
    const drained = { do: 'go_round', transition: { reason: 'collapse_drain_retry', append: [] } };
    expect(next({ ...waited(result), because } as Event, full, own)).toEqual(drained);
    expect(next({ ...tooLong, prepared: { iteration: 1, result } } as Event, full, own)).toEqual(drained);
    const compact = { do: 'compact', trigger: 'reactive', because };
    expect(next({ ...waited(failed), because } as Event, full, own)).toMatchObject(compact);
  });

  test('while its bill may be all that is left of a limit, no call is made beside it (L51)', () => {
    const limits = { ...own, maxTokens: 1_000 };
    const beside = { contextTokens: 150_000, preparing: { iteration: 1, keeps: output(100) } };
    expect(next(ready, { ...beside, spend: output(899) }, limits)).toEqual({ do: 'call_model' });
    const spent = { ...beside, spend: output(900) };
    expect(next(ready, spent, limits)).toEqual({ do: 'await_compaction', because: null });
    expect(next(waited(result), spent, limits)).toEqual({ do: 'take_prepared' });
    const tried = { ...spent, compaction: { ...compaction, stagedAt: 150_000 } };
    expect(next(waited(failed), tried, limits)).toEqual({ do: 'call_model' });
    const billed = waited({ ...failed, spend: output(100) });
    expect(next(billed, tried, limits)).toMatchObject({ do: 'end', terminal: { reason: 'budget_exceeded' } });
  });

  test('a stop ends the wait and the run (L47)', () => {
    const event: Event = { ...waited(), stop: 'interrupt' } as Event;
    expect(next(event, full, own)).toMatchObject({
      do: 'end',
      terminal: { reason: 'aborted_streaming', by: 'interrupt' },
    });
  });
});
