import { describe, expect, it } from 'vitest';
import { noSpend, type Rules } from '../../workflows/contract/loop.ts';
import { absorb } from '../../workflows/machine/absorb.ts';
import { decide } from '../../workflows/machine/decide.ts';
import type { Event } from '../../workflows/machine/events.ts';
import { loop } from '../../workflows/machine/loop.ts';
import { initialState, type RunState } from '../../workflows/machine/state.ts';
import { wrappingUp } from '../../workflows/machine/wrap-up.ts';
import { call, cutOff, hash, modelEvent, output, replied, rules, state, toolsRan, usd } from '../support/machine.ts';

const wanted = { ...rules, wrapUp: true };

function next(event: Event, from: Partial<RunState> = {}, limits: Partial<Rules> = {}) {
  const all = { ...wanted, ...limits };
  return decide(absorb(state(from), all, event), all, event);
}

describe('a limit that is near', () => {
  it('L51 asks for a wrap-up while two calls like the last one still fit, one of them the wrap-up', () => {
    const after = (spent: number) => next(toolsRan([call(0)]), { spend: output(spent), lastCall: output(100) }, tokens);
    const tokens = { maxTokens: 1_000 };
    expect(after(799)).toMatchObject({ do: 'go_round' });
    expect(after(800)).toEqual({ do: 'wrap_up', limit: 'tokens' });
    expect(after(999)).toEqual({ do: 'wrap_up', limit: 'tokens' });
    expect(after(1_000)).toMatchObject({ do: 'end', terminal: { reason: 'budget_exceeded' } });
    expect(next(toolsRan([]), { spend: usd(0.6), lastCall: usd(0.2) }, { maxBudgetUsd: 1 })).toEqual({
      do: 'wrap_up',
      limit: 'cost',
    });
  });

  it('L51 what the last call took is known from its reply, also from one that was cut', () => {
    const reply = modelEvent(replied([], { spend: output(70) }));
    expect(absorb(state(), wanted, reply).lastCall).toEqual(output(70));
    const lost = modelEvent({ kind: 'failed', detail: '', spend: output(9) });
    expect(absorb(state({ lastCall: output(70) }), wanted, lost).lastCall).toEqual(output(70));
    expect(absorb(state({ lastCall: output(70) }), wanted, modelEvent(cutOff())).lastCall).toEqual(noSpend);
  });

  it('L51 a recovery is not begun when what it takes belongs to the wrap-up', () => {
    const near = { spend: output(900), lastCall: output(100) };
    expect(next({ kind: 'ready' }, near, { maxTokens: 1_000 })).toEqual({ do: 'wrap_up', limit: 'tokens' });
  });

  it('L45 L51 the last turn is followed by one, which is no turn', () => {
    const limits = { maxTurns: 3 };
    expect(next(toolsRan([call(0)]), { turn: 2 }, limits)).toMatchObject({ do: 'go_round' });
    expect(next(toolsRan([call(0)]), { turn: 3 }, limits)).toEqual({ do: 'wrap_up', limit: 'turns' });
    expect(next(toolsRan([call(0)], { stop: 'interrupt' }), { turn: 3 }, limits)).toMatchObject({
      terminal: { reason: 'aborted_tools' },
    });
  });

  it('L51 of the runtime a tenth is kept, at most a minute', () => {
    const after = (leftMs: number, timeoutMs: number) => next(toolsRan([], { leftMs }), {}, { timeoutMs });
    expect(after(1_001, 10_000)).toMatchObject({ do: 'go_round' });
    expect(after(1_000, 10_000)).toEqual({ do: 'wrap_up', limit: 'time' });
    expect(after(60_001, 7_200_000)).toMatchObject({ do: 'go_round' });
    expect(after(60_000, 7_200_000)).toEqual({ do: 'wrap_up', limit: 'time' });
  });

  it('L51 without the option no limit is seen before it is reached', () => {
    const unasked = { wrapUp: false, maxTokens: 1_000, timeoutMs: 10_000, maxTurns: 1 };
    expect(next(toolsRan([], { leftMs: 1 }), { spend: output(999), lastCall: output(999) }, unasked)).toMatchObject({
      terminal: { reason: 'max_turns' },
    });
  });
});

describe('the wrap-up', () => {
  const summing = (limit: 'cost' | 'tokens' | 'time' | 'turns', from: Partial<RunState> = {}) =>
    wrappingUp(state({ turn: 3, capOverride: 64_000, ...from }), limit);

  it('L51 is told to the model, in the same iteration and under the usual cap', () => {
    const { pending, iteration, turn, counts, capOverride } = summing('turns');
    expect(pending).toEqual([{ kind: 'notice', notice: { kind: 'wrap_up', limit: 'turns' } }]);
    expect({ iteration, turn, counts, capOverride }).toEqual({ iteration: 1, turn: 3, counts: {}, capOverride: null });
  });

  it('L51 is not compacted for, and not made when it cannot fit', () => {
    const ready = { kind: 'ready' } as const;
    expect(next(ready, summing('turns', { contextTokens: 190_000 }))).toEqual({ do: 'call_model' });
    expect(next(ready, summing('turns', { contextTokens: 200_000 }))).toMatchObject({
      terminal: { reason: 'max_turns' },
    });
  });

  it.each([
    ['cost', { reason: 'budget_exceeded', limitUsd: 1, spentUsd: 0.9 }],
    ['tokens', { reason: 'budget_exceeded', limitTokens: 1_000, spentTokens: 0 }],
    ['time', { reason: 'timeout', limitMs: 10_000 }],
    ['turns', { reason: 'max_turns', limit: 3, turnNotTaken: 4 }],
  ] as const)('L51 ends the run for the limit of %s, with what it took counted', (limit, terminal) => {
    const limits = { maxBudgetUsd: 1, maxTokens: 1_000, timeoutMs: 10_000, maxTurns: 3 };
    const reply = modelEvent(replied([], { spend: usd(0.5) }));
    expect(next(reply, summing(limit, { spend: usd(0.4) }), limits)).toMatchObject({ do: 'end', terminal });
  });

  it('L39 L51 calls in it are answered and not run', () => {
    const reply = modelEvent(replied([call(0), call(1, { outcome: {} })]));
    expect(next(reply, summing('turns'), { maxTurns: 3 })).toMatchObject({
      do: 'end',
      append: [
        { kind: 'outcomes', items: [{ index: 0, note: 'Not run: the run ends here.' }] },
        { kind: 'notice', notice: { kind: 'max_turns_reached' } },
      ],
    });
  });

  it('L51 no recovery follows: cut, it is kept; failed, it is told, and the run ends as it would have', () => {
    expect(next(modelEvent(cutOff()), summing('turns'))).toMatchObject({ do: 'end', keep: hash('cut') });
    for (const kind of ['too_long', 'media_too_large', 'refused', 'failed', 'hook_stopped'] as const) {
      const move = next(modelEvent({ kind, detail: 'no', spend: noSpend }), summing('turns'));
      expect(move).toMatchObject({ terminal: { reason: 'max_turns' }, append: [{ notice: { kind: 'error' } }, {}] });
    }
  });

  it('L47 L51 an interrupt stops it, and a parking is waited for', () => {
    const interrupted = { kind: 'interrupted', head: hash('i'), contextTokens: 1, spend: noSpend, calls: [] } as const;
    expect(next(modelEvent(interrupted, { stop: 'interrupt' }), summing('turns'))).toMatchObject({
      terminal: { reason: 'aborted_streaming' },
    });
    const parked = modelEvent({ kind: 'parked', until: 9, failures: 1, detail: '', spend: noSpend });
    expect(next(parked, summing('turns'))).toEqual({ do: 'park', until: 9 });
    expect(next({ kind: 'ready' }, summing('turns'))).toEqual({ do: 'call_model' });
  });

  it('L51 a whole run asks for it once', async () => {
    const asked: (string | null)[] = [];
    const end = await loop(
      initialState(hash('start'), []),
      { ...wanted, maxTurns: 1 },
      {
        perform: (move, { wrapUp }) => {
          if (move.do !== 'call_model') return Promise.resolve(toolsRan([call(0)]));
          asked.push(wrapUp);
          return Promise.resolve(modelEvent(replied([call(0)])));
        },
        wentRound: () => null,
      },
    );
    expect(asked).toEqual([null, 'turns']);
    expect(end).toMatchObject({ terminal: { reason: 'max_turns' }, state: { turn: 1, iteration: 1 } });
  });
});
