import { describe, expect, test } from 'vitest';
import type { Rules } from '../../../workflows/contract/loop.ts';
import { absorb } from '../../../workflows/machine/absorb.ts';
import { tokensInUse } from '../../../workflows/machine/context.ts';
import { decide } from '../../../workflows/machine/decide.ts';
import type { Event } from '../../../workflows/machine/events.ts';
import { isSpendableUsed, spendableLeft } from '../../../workflows/machine/limits.ts';
import type { RunState } from '../../../workflows/machine/state.ts';
import { modelInput, sideInput } from '../../../workflows/machine/step-inputs.ts';
import { call, cutOff, hash, modelEvent, replied, rules, state, toolsRan, usd } from '../../support/machine.ts';

const budget = { waitAtUsd: 1 };
const spent = { spend: usd(1) };

function next(event: Event, from: Partial<RunState> = {}, limits: Partial<Rules> = budget) {
  const all = { ...rules, ...limits };
  return decide(absorb(state(from), all, event), all, event);
}

describe('a session’s budget', () => {
  test('is waited at before a call of the model, and the run goes on as soon as more is left (G69)', () => {
    expect(next({ kind: 'ready' }, spent)).toEqual({ do: 'wait_at_budget' });
    expect(next({ kind: 'ready' }, spent, { waitAtUsd: 1.01 })).toEqual({ do: 'call_model' });
    expect(next({ kind: 'ready' }, {}, { waitAtUsd: 0 })).toEqual({ do: 'wait_at_budget' });
    const demanded = { ...spent, demand: {} };
    expect(next({ kind: 'ready' }, demanded)).toEqual({ do: 'wait_at_budget' });
  });

  test('leaves what has begun: calls of the reply that reached it run, and a last answer ends the run (G69)', () => {
    const reply = replied([call(0)], { spend: usd(2) });
    expect(next(modelEvent(reply))).toMatchObject({ do: 'run_tools' });
    expect(next(toolsRan([call(0)]), spent)).toMatchObject({ do: 'go_round' });
    expect(next(modelEvent(replied([], { spend: usd(2) })))).toMatchObject({ terminal: { reason: 'completed' } });
  });

  test('comes after a limit of the run, which ends it (G69 L51)', () => {
    expect(next({ kind: 'ready' }, spent, { ...budget, maxBudgetUsd: 1 })).toMatchObject({
      terminal: { reason: 'budget_exceeded' },
    });
  });

  test('keeps a cut reply rather than to ask for it anew: what is replaced cannot wait (G69 L26)', () => {
    const cut = (limits: Partial<Rules>) => next({ ...modelEvent(cutOff()), step: 1 } as Event, spent, limits);
    expect(cut({})).toMatchObject({ transition: { reason: 'max_output_tokens_escalate' } });
    expect(cut(budget)).toMatchObject({ transition: { reason: 'max_output_tokens_recovery' } });
  });

  test('bounds what asks a model beside the run, and not the step that the run waits for (G69)', () => {
    const all = { ...rules, ...budget };
    const half = state({ spend: usd(0.4) });
    expect(spendableLeft(half, all)).toEqual({ usd: 0.6 });
    expect(spendableLeft(half, { ...all, maxBudgetUsd: 0.5, maxTokens: 10 })).toEqual({
      usd: expect.closeTo(0.1, 9),
      tokens: 10,
    });
    expect(spendableLeft(half, rules)).toBeNull();
    expect(isSpendableUsed(half, all, usd(0.6))).toBe(true);
    expect(sideInput(half, all)).toEqual({ left: { usd: 0.6 } });
    expect(modelInput(half, all)).not.toHaveProperty('left');
  });

  test('once left, stored entries are no longer pending, and count as in view (G69 L10)', () => {
    const user = { kind: 'user', id: 'm' as never, body: { kind: 'text', text: 'x'.repeat(4_000) } } as const;
    const before = state({ pending: [user], isAtBudget: true });
    const raised = { kind: 'notice', notice: { kind: 'interrupted' } } as const;
    const left = { kind: 'waited_at_budget', head: hash('waited'), append: [raised], stop: null } as const;
    const after = absorb(before, rules, left);
    expect(after).toMatchObject({ head: hash('waited'), pending: [raised] });
    expect(after).not.toHaveProperty('isAtBudget');
    expect(tokensInUse(after, 0)).toBe(tokensInUse(before, 0));
    expect(next(left, spent, { waitAtUsd: 2 })).toEqual({ do: 'call_model' });
    expect(next({ ...left, stop: 'interrupt' }, spent)).toMatchObject({
      terminal: { reason: 'aborted_streaming', by: 'interrupt' },
    });
  });
});
