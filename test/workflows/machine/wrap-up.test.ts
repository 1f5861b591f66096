import { describe, expect, test } from 'vitest';
import { noSpend, type Rules } from '../../../workflows/contract/loop.ts';
import { absorb } from '../../../workflows/machine/absorb.ts';
import { decide } from '../../../workflows/machine/decide.ts';
import type { Event } from '../../../workflows/machine/events.ts';
import { runLoop } from '../../../workflows/machine/loop.ts';
import { initialState, type RunState } from '../../../workflows/machine/state.ts';
import { beginWrapUp } from '../../../workflows/machine/wrap-up.ts';
import { call, cutOff, hash, modelEvent, output, replied, rules, state, toolsRan, usd } from '../../support/machine.ts';

const wanted = { ...rules, wrapUp: true };

function next(event: Event, from: Partial<RunState> = {}, limits: Partial<Rules> = {}) {
  const all = { ...wanted, ...limits };
  return decide(absorb(state(from), all, event), all, event);
}

describe('a limit that is near', () => {
  const tokens = { maxTokens: 100_000 };
  const spent = (amount: number): Partial<RunState> => ({ spend: output(amount), contextTokens: 10_000 });

  test('asks for a wrap-up while two more calls fit, one of them the wrap-up (L51)', () => {
    const after = (amount: number) => next(toolsRan([call(0)]), spent(amount), tokens);
    expect(after(77_999)).toMatchObject({ do: 'go_round' });
    expect(after(78_000)).toEqual({ do: 'wrap_up', limit: 'tokens' });
    expect(after(99_999)).toEqual({ do: 'wrap_up', limit: 'tokens' });
    expect(after(100_000)).toMatchObject({ do: 'end', terminal: { reason: 'budget_exceeded' } });
  });

  test('takes what was in view for cached, and only what is newer for written, at the prices of the model (L51)', () => {
    const after = (usdSpent: number, newerTokens: number) =>
      next(
        toolsRan([]),
        { spend: { ...output(1), usd: usdSpent }, contextTokens: 100_000, newerTokens },
        { maxBudgetUsd: 1 },
      );
    // 0.03 read, 0.015 written by the model, twice.
    expect(after(0.909, 0)).toMatchObject({ do: 'go_round' });
    expect(after(0.911, 0)).toEqual({ do: 'wrap_up', limit: 'cost' });
    // And 0.0375 for what is newer, twice.
    expect(after(0.834, 10_000)).toMatchObject({ do: 'go_round' });
    expect(after(0.836, 10_000)).toEqual({ do: 'wrap_up', limit: 'cost' });
  });

  test('a run says something before it is asked to sum up, however small its limit (L51)', () => {
    expect(next({ kind: 'ready' }, { contextTokens: 10_000 }, { maxTokens: 1_000 })).toEqual({ do: 'call_model' });
  });

  test('where it would not fit the window, the run goes on as without (L10 L51)', () => {
    const full = { spend: output(90_000), contextTokens: 200_000 };
    expect(next({ kind: 'ready' }, full, tokens)).toMatchObject({ do: 'compact' });
    expect(next(toolsRan([]), { ...full, turn: 3 }, { maxTurns: 3 })).toMatchObject({
      terminal: { reason: 'max_turns' },
    });
  });

  test('a recovery is not begun when what it takes belongs to the wrap-up (L51)', () => {
    expect(next({ kind: 'ready' }, spent(90_000), tokens)).toEqual({ do: 'wrap_up', limit: 'tokens' });
  });

  test('the last turn is followed by one, which is no turn (L45 L51)', () => {
    const limits = { maxTurns: 3 };
    expect(next(toolsRan([call(0)]), { turn: 2 }, limits)).toMatchObject({ do: 'go_round' });
    expect(next(toolsRan([call(0)]), { turn: 3 }, limits)).toEqual({ do: 'wrap_up', limit: 'turns' });
    expect(next(toolsRan([call(0)], { stop: 'interrupt' }), { turn: 3 }, limits)).toMatchObject({
      terminal: { reason: 'aborted_tools' },
    });
  });

  test('of the runtime a tenth is kept, at most a minute (L51)', () => {
    const after = (leftMs: number, timeoutMs: number) => next(toolsRan([], { leftMs }), {}, { timeoutMs });
    expect(after(1_001, 10_000)).toMatchObject({ do: 'go_round' });
    expect(after(1_000, 10_000)).toEqual({ do: 'wrap_up', limit: 'time' });
    expect(after(60_001, 7_200_000)).toMatchObject({ do: 'go_round' });
    expect(after(60_000, 7_200_000)).toEqual({ do: 'wrap_up', limit: 'time' });
  });

  test('without the option no limit is seen before it is reached (L51)', () => {
    const unasked = { wrapUp: false, maxTokens: 1_000, timeoutMs: 10_000, maxTurns: 1 };
    expect(next(toolsRan([], { leftMs: 1 }), { spend: output(999) }, unasked)).toMatchObject({
      terminal: { reason: 'max_turns' },
    });
  });
});

describe('the wrap-up', () => {
  const summing = (limit: 'cost' | 'tokens' | 'time' | 'turns', from: Partial<RunState> = {}) =>
    beginWrapUp(state({ turn: 3, capOverride: 64_000, ...from }), wanted, limit);
  const request = (limit: string) => ({ kind: 'notice', notice: { kind: 'wrap_up', limit } }) as const;

  test('is told to the model, in the same iteration and under the usual cap (L51)', () => {
    const { pending, iteration, turn, counts, capOverride } = summing('cost');
    expect(pending).toEqual([request('cost')]);
    expect({ iteration, turn, counts, capOverride }).toEqual({ iteration: 1, turn: 3, counts: {}, capOverride: null });
  });

  test('that the turns are used up is said before it, so that nothing which stops it leaves that out (L45 L51)', () => {
    expect(summing('turns').pending).toMatchObject([{ notice: { kind: 'max_turns_reached' } }, request('turns')]);
  });

  test('stands for the continuation of a cut reply (L27 L51)', () => {
    const pending = [{ kind: 'notice', notice: { kind: 'continue' } }] as const;
    expect(summing('tokens', { pending }).pending).toEqual([request('tokens')]);
  });

  test('is not compacted for (L51)', () => {
    expect(next({ kind: 'ready' }, summing('turns', { contextTokens: 190_000 }))).toEqual({ do: 'call_model' });
  });

  test.each([
    ['cost', { reason: 'budget_exceeded', limitUsd: 1, spentUsd: 0.9 }],
    ['tokens', { reason: 'budget_exceeded', limitTokens: 1_000, spentTokens: 0 }],
    ['time', { reason: 'timeout', limitMs: 10_000 }],
    ['turns', { reason: 'max_turns', limit: 3, turnNotTaken: 4 }],
  ] as const)('ends the run for the limit of %s, with what it took counted (L51)', (limit, terminal) => {
    const limits = { maxBudgetUsd: 1, maxTokens: 1_000, timeoutMs: 10_000, maxTurns: 3 };
    const reply = modelEvent(replied([], { spend: usd(0.5) }));
    expect(next(reply, summing(limit, { spend: usd(0.4) }), limits)).toMatchObject({ do: 'end', terminal });
  });

  test('calls in it are answered and not run (L39 L51)', () => {
    const reply = modelEvent(replied([call(0), call(1, { outcome: {} })]));
    expect(next(reply, summing('turns'), { maxTurns: 3 })).toMatchObject({
      do: 'end',
      append: [{ kind: 'outcomes', items: [{ index: 0, note: 'Not run: the run ends here.' }] }],
    });
  });

  test('no recovery follows: cut, it is kept; failed, it is told, and the run ends as it would have (L51)', () => {
    expect(next(modelEvent(cutOff()), summing('turns'))).toMatchObject({
      do: 'end',
      keep: { head: hash('cut'), contextTokens: 100 },
    });
    for (const kind of ['too_long', 'media_too_large', 'refused', 'failed', 'hook_stopped'] as const) {
      const move = next(modelEvent({ kind, detail: 'no', spend: noSpend }), summing('turns'));
      expect(move).toMatchObject({ terminal: { reason: 'max_turns' }, append: [{ notice: { kind: 'error' } }] });
    }
  });

  test('an interrupt stops it, and a parking is waited for (L47 L51)', () => {
    const interrupted = { kind: 'interrupted', head: hash('i'), contextTokens: 1, spend: noSpend, calls: [] } as const;
    expect(next(modelEvent(interrupted, { stop: 'interrupt' }), summing('turns'))).toMatchObject({
      terminal: { reason: 'aborted_streaming' },
    });
    const parked = modelEvent({ kind: 'parked', waitMs: 9, failures: 1, detail: '', spend: noSpend });
    expect(next(parked, summing('turns'))).toEqual({ do: 'park', waitMs: 9 });
    expect(next({ kind: 'ready' }, summing('turns'))).toEqual({ do: 'call_model' });
  });

  const whole = (last: Event, asked: (string | null)[] = []) =>
    runLoop(initialState(hash('start'), []), () => ({ ...wanted, maxTurns: 1 }), {
      perform: (move, { wrapUp }) => {
        if (move.do !== 'call_model') return Promise.resolve(toolsRan([call(0)]));
        asked.push(wrapUp);
        return Promise.resolve(wrapUp === null ? modelEvent(replied([call(0)])) : last);
      },
      wentRound: () => null,
    });

  test('a whole run asks for it once (L51)', async () => {
    const asked: (string | null)[] = [];
    const end = await whole(modelEvent(replied([call(0)])), asked);
    expect(asked).toEqual([null, 'turns']);
    expect(end).toMatchObject({ terminal: { reason: 'max_turns' }, state: { turn: 1, iteration: 1 } });
  });

  test('a request that no reply has answered is not left standing for the next prompt (L51)', async () => {
    const { state: left } = await whole(modelEvent({ kind: 'failed', detail: '400', spend: noSpend }));
    const notices = left.pending.flatMap((each) => (each.kind === 'notice' ? [each.notice.kind] : []));
    expect(notices).toEqual(['max_turns_reached']);
  });
});
