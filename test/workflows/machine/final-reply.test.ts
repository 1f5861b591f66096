import { describe, expect, test } from 'vitest';
import type { StopHooksRan } from '../../../workflows/contract/activities.ts';
import { noSpend } from '../../../workflows/contract/loop.ts';
import { absorb } from '../../../workflows/machine/absorb.ts';
import type { Event } from '../../../workflows/machine/events.ts';
import type { RunState } from '../../../workflows/machine/state.ts';
import { decide } from '../../../workflows/machine/decide.ts';
import { apply } from '../../../workflows/machine/transitions.ts';
import { call, model, modelEvent, output, replied, rules, state, toolsRan, next } from '../../support/machine.ts';

const answer = modelEvent(replied());
const hooks = (verdict: StopHooksRan['verdict'], failed: StopHooksRan['failed'] = []): Event => {
  return { kind: 'hooks_ran', ran: { verdict, failed }, stop: null };
};

describe('structured output', () => {
  const structured = { structured: true };
  const bad = modelEvent(replied([], { problem: 'name: missing' }));

  test('a bad answer goes back with the reason, five times at most (L53)', () => {
    expect(next(bad, {}, structured)).toEqual({
      do: 'go_round',
      transition: {
        reason: 'structured_output_retry',
        append: [{ kind: 'notice', notice: { kind: 'structured_output', problem: 'name: missing' } }],
      },
    });
    expect(next(bad, { structuredRetries: 5 }, structured)).toMatchObject({
      terminal: { reason: 'structured_output_failed', detail: expect.stringContaining('name: missing') },
    });
  });

  test('is checked before stop hooks (L53)', () => {
    expect(next(bad, {}, { ...structured, stopHooks: true })).toMatchObject({ do: 'go_round' });
    expect(next(answer, {}, { ...structured, stopHooks: true })).toMatchObject({ do: 'run_stop_hooks' });
  });
});

describe('a call that was written as text', () => {
  const asText = modelEvent(replied([], { textCall: 'bash' }));
  const told = { kind: 'notice', notice: { kind: 'call_as_text', name: 'bash' } };

  test('is asked for again, before anything else is made of the answer (L15)', () => {
    const move = { do: 'go_round', transition: { reason: 'call_as_text_retry', append: [told] } };
    expect(next(asText)).toEqual(move);
    expect(next(modelEvent(replied([], { textCall: 'bash', problem: 'x' })), {}, { structured: true })).toEqual(move);
    expect(next(asText, {}, { stopHooks: true })).toEqual(move);
  });

  test('is told to people when it comes once more, and the run goes on as after any answer (L15)', () => {
    const after = absorb(state({ textCallRetried: true }), rules, asText);
    expect(after.pending).toEqual([{ kind: 'notice', notice: { kind: 'call_as_text', name: 'bash', again: true } }]);
    expect(decide(after, rules, asText)).toMatchObject({ do: 'end', terminal: { reason: 'completed' } });
  });

  test('is asked for again once more after the next turn (L15)', () => {
    const asked = apply(state(), { reason: 'call_as_text_retry', append: [] });
    const turned = apply(asked, { reason: 'next_turn', messages: [], snips: [], summarize: false });
    expect(next(asText, turned)).toMatchObject({ do: 'go_round' });
  });

  test('ends the run of a session that an earlier release decided about, as it did (L3 L15)', () => {
    const without = (): boolean => false;
    expect(decide(absorb(state(), rules, asText, without), rules, asText, without)).toMatchObject({ do: 'end' });
    const again = absorb(state({ textCallRetried: true }), rules, asText, without);
    expect(again.pending).toEqual([]);
  });
});

describe('stop hooks', () => {
  test('a blocking error goes back to the model, at most eight times a run (L30)', () => {
    const blocked = hooks({ kind: 'blocked', text: 'tests fail' });
    expect(next(blocked)).toMatchObject({
      do: 'go_round',
      transition: { reason: 'stop_hook_blocking', append: [{ notice: { kind: 'stop_hook', text: 'tests fail' } }] },
    });
    expect(next(blocked, { stopHookRounds: 8 })).toMatchObject({
      terminal: { reason: 'stop_hook_prevented', detail: 'tests fail' },
    });
  });

  test('rounds are not reset by the next turn (L30)', () => {
    const round = apply(state({ stopHookRounds: 7 }), { reason: 'stop_hook_blocking', append: [] });
    const turn = apply(round, { reason: 'next_turn', messages: [], snips: [], summarize: false });
    expect(turn).toMatchObject({ stopHookRounds: 8, stopHookActive: true });
  });

  test('preventing ends the run; a hook that crashed is reported and is no block (L30)', () => {
    expect(next(hooks({ kind: 'prevented', detail: 'no' }))).toMatchObject({
      terminal: { reason: 'stop_hook_prevented', detail: 'no' },
    });
    const crashed = hooks({ kind: 'passed' }, [{ hook: 'lint', detail: 'exit 127' }]);
    expect(next(crashed)).toMatchObject({ terminal: { reason: 'completed' } });
    expect(absorb(state(), rules, crashed).pending).toEqual([
      { kind: 'notice', notice: { kind: 'hook_failed', hook: 'lint', detail: 'exit 127' } },
    ]);
  });
});

describe('token budget', () => {
  const budget = { tokenBudget: 10_000 };
  const spent = (tokens: number, tracker: Partial<RunState['tokenBudget']> = {}): Partial<RunState> => {
    return { spend: output(tokens), tokenBudget: { continuations: 0, lastDelta: 0, lastTotal: 0, ...tracker } };
  };

  test('below ninety per cent the run continues (L31)', () => {
    expect(next(answer, spent(100), budget)).toMatchObject({
      transition: {
        reason: 'token_budget_continuation',
        append: [{ notice: { kind: 'token_budget', spent: 100, budget: 10_000 } }],
      },
    });
    expect(next(answer, spent(9_000), budget)).toMatchObject({ terminal: { reason: 'completed' } });
  });

  test('stops when three continuations and two small deltas show no progress (L31)', () => {
    const idle = { continuations: 3, lastTotal: 4_000, lastDelta: 499 };
    expect(next(answer, spent(4_499, idle), budget)).toMatchObject({ terminal: { reason: 'completed' } });
    expect(next(answer, spent(4_500, idle), budget)).toMatchObject({ do: 'go_round' });
    expect(next(answer, spent(4_499, { ...idle, lastDelta: 500 }), budget)).toMatchObject({ do: 'go_round' });
    expect(next(answer, spent(4_499, { ...idle, continuations: 2 }), budget)).toMatchObject({ do: 'go_round' });
  });

  test('the tracker follows each continuation (L2 L31)', () => {
    const after = apply(state(spent(4_500, { continuations: 1, lastTotal: 4_000, lastDelta: 9 })), {
      reason: 'token_budget_continuation',
      append: [],
    });
    expect(after.tokenBudget).toEqual({ continuations: 2, lastDelta: 500, lastTotal: 4_500 });
  });
});

describe('fallback', () => {
  const fallback = modelEvent({ kind: 'fallback', from: 'a', to: 'b', calls: ['read'], detail: '529', spend: noSpend });

  test('goes round on the next model with a notice that lists the calls that are not sent (L19)', () => {
    const limits = { models: [model, model] as const };
    const notice = { kind: 'model_switched', from: 'a', to: 'b', calls: ['read'], detail: '529' };
    expect(next(fallback, {}, limits)).toMatchObject({
      transition: { reason: 'model_fallback', append: [{ kind: 'notice', notice }] },
    });
    expect(next(fallback, { modelPosition: 1 }, limits)).toMatchObject({ terminal: { reason: 'model_error' } });
  });
});

describe('what ends or changes a run after its tools', () => {
  test('a hook or a tool ends the run after its result (L41)', () => {
    const event = toolsRan([call(0), call(1)], { facts: [{}, { stop: 'enough' }] });
    expect(next(event)).toMatchObject({ terminal: { reason: 'hook_stopped', detail: 'enough' } });
    expect(next({ ...(event as object), stop: 'interrupt' } as Event)).toMatchObject({
      terminal: { reason: 'aborted_tools' },
    });
  });

  test('a prompt hook ends the run before the model is called (L41)', () => {
    const event = modelEvent({ kind: 'hook_stopped', detail: 'no such task', spend: noSpend });
    expect(next(event)).toMatchObject({ terminal: { reason: 'hook_stopped', detail: 'no such task' } });
  });

  test('context modifiers take effect in the order of the model (L38)', () => {
    const facts = [{ modify: { cwd: '/w/a' } }, { modify: { cwd: '/w/b', allowedTools: ['read'] } }, {}];
    const after = absorb(state(), rules, toolsRan([call(0), call(1), call(2)], { facts }));
    expect(after.toolContext).toEqual({ cwd: '/w/b', allowedTools: ['read'] });
  });

  test('the summary of a batch joins what comes next, and its failure changes nothing (L42)', () => {
    const pendingSummary = { head: state().head!, append: [], iteration: 1 };
    const made = { ...answer, summary: { text: 'read two files', spend: output(7) } } as Event;
    const after = absorb(state({ pendingSummary }), rules, made);
    expect(after.pending).toEqual([{ kind: 'notice', notice: { kind: 'batch_summary', text: 'read two files' } }]);
    expect(after).toMatchObject({ pendingSummary: null, spend: { usage: { output: 7 } } });
    const failed = { ...answer, summary: { text: null, spend: noSpend } } as Event;
    expect(absorb(state({ pendingSummary }), rules, failed)).toMatchObject({ pending: [], pendingSummary: null });
    expect(absorb(state({ pendingSummary }), rules, answer)).toMatchObject({ pendingSummary });
  });

  test('entries to be snipped leave with the next turn (L7)', () => {
    const move = next(toolsRan([call(0)], { snips: [3, 4] }));
    if (move.do !== 'go_round') throw new Error(move.do);
    expect(apply(state(), move.transition).pending).toContainEqual({ kind: 'snip', entries: [3, 4] });
  });

  test('a limit of tokens ends the run like one of money (L51)', () => {
    expect(next({ kind: 'ready' }, { spend: output(500) }, { maxTokens: 500 })).toMatchObject({
      terminal: { reason: 'budget_exceeded', limitTokens: 500, spentTokens: 500 },
    });
  });
});
