import { describe, expect, test } from 'vitest';
import { absorb } from '../../../workflows/machine/absorb.ts';
import { decide } from '../../../workflows/machine/decide.ts';
import type { Event } from '../../../workflows/machine/events.ts';
import { noSpend } from '../../../workflows/contract/loop.ts';
import {
  call,
  cutOff,
  hash,
  modelEvent,
  replied,
  rules,
  state,
  toolsRan,
  usd,
  userMessage,
  next,
} from '../../support/machine.ts';

describe('after a reply', () => {
  test('a reply without calls completes the run (L32)', () => {
    expect(next(modelEvent(replied()))).toEqual({ do: 'end', terminal: { reason: 'completed' }, append: [] });
  });

  test('a complete call is run whatever the reply stopped for (L15)', () => {
    expect(next(modelEvent(replied([call(1)])))).toMatchObject({ do: 'run_tools', cut: false });
    expect(next(modelEvent(replied([call(1)], { cut: true })))).toMatchObject({ do: 'run_tools', cut: true });
  });

  test('an API error is shown and ends the run with model_error (L20)', () => {
    const move = next(modelEvent({ kind: 'failed', detail: '401: bad key', status: 401, spend: noSpend }));
    expect(move).toEqual({
      do: 'end',
      terminal: { reason: 'model_error', detail: '401: bad key', status: 401 },
      append: [{ kind: 'notice', notice: { kind: 'error', text: '401: bad key' } }],
    });
  });

  test('a stop wins over an error that arrives with it, which is shown all the same (L20 L47)', () => {
    const failed = modelEvent({ kind: 'failed', detail: 'damaged', spend: noSpend }, { stop: 'interrupt' });
    expect(next(failed)).toMatchObject({
      terminal: { reason: 'aborted_streaming', by: 'interrupt' },
      append: [{ notice: { kind: 'error', text: 'damaged' } }, { notice: { kind: 'interrupted' } }],
    });
  });

  test('a rate limit that outlasted its retries is model_error too (L29)', () => {
    const move = next(modelEvent({ kind: 'failed', detail: '429: slow down', status: 429, spend: noSpend }));
    expect(move).toMatchObject({ do: 'end', terminal: { reason: 'model_error', status: 429 } });
  });

  test('a prompt too long, or media too large, is shown once nothing can recover it (L25)', () => {
    const ended = (kind: 'too_long' | 'media_too_large') =>
      next(modelEvent({ kind, detail: 'big', spend: noSpend }), { compacted: true });
    expect(ended('too_long')).toMatchObject({ terminal: { reason: 'prompt_too_long', detail: 'big' } });
    expect(ended('media_too_large')).toMatchObject({ terminal: { reason: 'image_error', detail: 'big' } });
    expect(ended('too_long')).toMatchObject({ append: [{ notice: { kind: 'error', text: 'big' } }] });
  });

  test('a refusal runs nothing and ends with model_error (L15)', () => {
    const move = next(modelEvent({ kind: 'refused', detail: 'no', spend: noSpend }));
    expect(move).toMatchObject({ do: 'end', terminal: { reason: 'model_error', detail: 'no' } });
  });

  test('a long wait asked for by the provider parks the run (L14)', () => {
    const parked = { kind: 'parked', waitMs: 99, failures: 2, overloads: 1, detail: '429', spend: noSpend } as const;
    expect(next(modelEvent(parked))).toEqual({ do: 'park', waitMs: 99 });
    expect(absorb(state(), rules, modelEvent(parked))).toMatchObject({ failures: 2, overloads: 1 });
  });
});

describe('after the tools', () => {
  test('goes round with the messages that wait (L46)', () => {
    const queued = [userMessage('a'), userMessage('b')];
    expect(next(toolsRan([call(0)], { queued }))).toEqual({
      do: 'go_round',
      transition: { reason: 'next_turn', messages: queued, snips: [], summarize: false },
    });
  });

  test('the turn that would be one too many is not taken, and a notice says so (L45)', () => {
    const reached = { limit: 2, turnNotTaken: 3 };
    expect(next(toolsRan([call(0)]), { turn: 2 }, { maxTurns: 2 })).toEqual({
      do: 'end',
      terminal: { reason: 'max_turns', ...reached },
      append: [{ kind: 'notice', notice: { kind: 'max_turns_reached', ...reached } }],
    });
    expect(next(toolsRan([call(0)]), { turn: 1 }, { maxTurns: 2 })).toMatchObject({ do: 'go_round' });
  });

  test('after an abort the turn limit is only a notice (L45)', () => {
    const move = next(toolsRan([call(0)], { stop: 'interrupt' }), { turn: 2 }, { maxTurns: 2 });
    expect(move).toMatchObject({
      terminal: { reason: 'aborted_tools' },
      append: [{ notice: { kind: 'interrupted' } }, { notice: { kind: 'max_turns_reached' } }],
    });
  });

  test('a hook that ends the run comes before the limits, and a fatal outcome before the hook (L41 L46)', () => {
    const limits = { maxTurns: 2, maxBudgetUsd: 1, wrapUp: true };
    const over = { turn: 2, spend: usd(2) };
    const stop = { stop: 'enough' };
    expect(next(toolsRan([call(0)], { facts: [stop] }), over, limits)).toMatchObject({
      terminal: { reason: 'hook_stopped', detail: 'enough' },
    });
    const fatal = { reason: 'permission_denied', detail: 'never' } as const;
    const both = toolsRan([call(0), call(1)], { facts: [stop, { error: true, fatal }] });
    expect(next(both, over, limits)).toMatchObject({ terminal: fatal });
  });

  test('a fatal outcome ends the run (L34)', () => {
    const fatal = { reason: 'permission_denied', detail: 'never' } as const;
    expect(next(toolsRan([call(0)], { facts: [{ error: true, fatal }] }))).toMatchObject({ terminal: fatal });
  });

  test('the same call failing five times in a row ends the run, a success in between does not (L34)', () => {
    const same = call(0, { signature: 'bash:x', name: 'bash' });
    const fail = toolsRan([same], { facts: [{ error: true }] });
    let failing = state();
    for (let n = 0; n < 4; n += 1) failing = absorb(failing, rules, fail);
    expect(decide(failing, rules, fail)).toMatchObject({ do: 'go_round' });
    expect(next(fail, { failing: failing.failing })).toMatchObject({ terminal: { reason: 'fatal_tool_error' } });
    // Failures of calls that ran with the reply count as well (L37).
    const early = { ...fail, results: [{ item: null, facts: { error: true } }] } as Event;
    expect(next(early, { failing: failing.failing })).toMatchObject({ terminal: { reason: 'fatal_tool_error' } });
    const rescued = absorb(failing, rules, toolsRan([same]));
    expect(next(fail, { failing: rescued.failing })).toMatchObject({ do: 'go_round' });
  });

  test('a call that was cut is told to the model after the outcomes (L15)', () => {
    const after = absorb(state(), rules, toolsRan([call(0)], { cut: true }));
    expect(after.pending.map((item) => item.kind)).toEqual(['outcomes', 'notice']);
  });
});

describe('budgets', () => {
  const spent = { spend: usd(1) };

  test('is checked before each call (L51)', () => {
    expect(next({ kind: 'ready' }, spent, { maxBudgetUsd: 1 })).toMatchObject({
      terminal: { reason: 'budget_exceeded', limitUsd: 1, spentUsd: 1 },
    });
    expect(next({ kind: 'ready' }, spent, { maxBudgetUsd: 1.01 })).toEqual({ do: 'call_model' });
  });

  test('a call that spent it on failed attempts ends the run for that, and says why it failed (L51)', () => {
    const failed = modelEvent({ kind: 'failed', detail: 'cut off', spend: usd(2) });
    expect(next(failed, {}, { maxBudgetUsd: 1 })).toMatchObject({
      terminal: { reason: 'budget_exceeded', spentUsd: 2 },
      append: [{ notice: { kind: 'error', text: 'cut off' } }],
    });
  });

  test('is checked after each reply, whose unstarted calls are not run (L51)', () => {
    const reply = replied([call(0, { outcome: {} }), call(1)], { spend: usd(2) });
    expect(next(modelEvent(reply), {}, { maxBudgetUsd: 1 })).toMatchObject({
      terminal: { reason: 'budget_exceeded', spentUsd: 2 },
      append: [{ kind: 'outcomes', items: [{ index: 1, note: expect.stringContaining('budget') }] }],
    });
  });
});

describe('a stop from outside', () => {
  test('during streaming answers open calls and leaves a notice (L47)', () => {
    const result = { ...replied([call(0), call(2, { outcome: {} })]), kind: 'interrupted' } as const;
    const move = next(modelEvent(result as never, { stop: 'interrupt' }));
    expect(move).toMatchObject({
      terminal: { reason: 'aborted_streaming', by: 'interrupt' },
      append: [
        { items: [{ index: 0, note: expect.stringContaining('interrupted') }] },
        { notice: { kind: 'interrupted' } },
      ],
    });
  });

  test('for a new user message leaves no notice (L47)', () => {
    expect(next({ kind: 'stopped', stop: 'message' })).toEqual({
      do: 'end',
      terminal: { reason: 'aborted_streaming', by: 'message' },
      append: [],
    });
  });

  test('during tools is aborted_tools (L48)', () => {
    expect(next(toolsRan([call(0)], { stop: 'cancel' }))).toMatchObject({
      terminal: { reason: 'aborted_tools', by: 'cancel' },
    });
  });

  test('by the runtime limit is timeout (L51)', () => {
    const limits = { timeoutMs: 5_000 };
    expect(next({ kind: 'stopped', stop: 'timeout' }, {}, limits)).toMatchObject({
      terminal: { reason: 'timeout', limitMs: 5_000 },
    });
    expect(next(toolsRan([call(0)], { stop: 'timeout' }), {}, limits)).toMatchObject({
      terminal: { reason: 'timeout' },
    });
  });

  test('too late for the stream keeps what was said (L47)', () => {
    expect(next(modelEvent(cutOff(), { stop: 'interrupt' }))).toMatchObject({
      terminal: { reason: 'aborted_streaming' },
      keep: { head: hash('cut'), contextTokens: 100 },
    });
  });
});
