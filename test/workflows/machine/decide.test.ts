import { describe, expect, it } from 'vitest';
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
  it('L32 a reply without calls completes the run', () => {
    expect(next(modelEvent(replied()))).toEqual({ do: 'end', terminal: { reason: 'completed' }, append: [] });
  });

  it('L15 a complete call is run whatever the reply stopped for', () => {
    expect(next(modelEvent(replied([call(1)])))).toMatchObject({ do: 'run_tools', cut: false });
    expect(next(modelEvent(replied([call(1)], { cut: true })))).toMatchObject({ do: 'run_tools', cut: true });
  });

  it('L20 an API error is shown and ends the run with model_error', () => {
    const move = next(modelEvent({ kind: 'failed', detail: '401: bad key', status: 401, spend: noSpend }));
    expect(move).toEqual({
      do: 'end',
      terminal: { reason: 'model_error', detail: '401: bad key', status: 401 },
      append: [{ kind: 'notice', notice: { kind: 'error', text: '401: bad key' } }],
    });
  });

  it('L20 L47 a stop wins over an error that arrives with it, which is shown all the same', () => {
    const failed = modelEvent({ kind: 'failed', detail: 'damaged', spend: noSpend }, { stop: 'interrupt' });
    expect(next(failed)).toMatchObject({
      terminal: { reason: 'aborted_streaming', by: 'interrupt' },
      append: [{ notice: { kind: 'error', text: 'damaged' } }, { notice: { kind: 'interrupted' } }],
    });
  });

  it('L29 a rate limit that outlasted its retries is model_error too', () => {
    const move = next(modelEvent({ kind: 'failed', detail: '429: slow down', status: 429, spend: noSpend }));
    expect(move).toMatchObject({ do: 'end', terminal: { reason: 'model_error', status: 429 } });
  });

  it('L25 a prompt too long, or media too large, is shown once nothing can recover it', () => {
    const ended = (kind: 'too_long' | 'media_too_large') =>
      next(modelEvent({ kind, detail: 'big', spend: noSpend }), { compacted: true });
    expect(ended('too_long')).toMatchObject({ terminal: { reason: 'prompt_too_long', detail: 'big' } });
    expect(ended('media_too_large')).toMatchObject({ terminal: { reason: 'image_error', detail: 'big' } });
    expect(ended('too_long')).toMatchObject({ append: [{ notice: { kind: 'error', text: 'big' } }] });
  });

  it('L15 a refusal runs nothing and ends with model_error', () => {
    const move = next(modelEvent({ kind: 'refused', detail: 'no', spend: noSpend }));
    expect(move).toMatchObject({ do: 'end', terminal: { reason: 'model_error', detail: 'no' } });
  });

  it('L14 a long wait asked for by the provider parks the run', () => {
    const parked = { kind: 'parked', waitMs: 99, failures: 2, overloads: 1, detail: '429', spend: noSpend } as const;
    expect(next(modelEvent(parked))).toEqual({ do: 'park', waitMs: 99 });
    expect(absorb(state(), rules, modelEvent(parked))).toMatchObject({ failures: 2, overloads: 1 });
  });
});

describe('after the tools', () => {
  it('L46 goes round with the messages that wait', () => {
    const queued = [userMessage('a'), userMessage('b')];
    expect(next(toolsRan([call(0)], { queued }))).toEqual({
      do: 'go_round',
      transition: { reason: 'next_turn', messages: queued, snips: [], summarize: false },
    });
  });

  it('L45 the turn that would be one too many is not taken, and a notice says so', () => {
    const reached = { limit: 2, turnNotTaken: 3 };
    expect(next(toolsRan([call(0)]), { turn: 2 }, { maxTurns: 2 })).toEqual({
      do: 'end',
      terminal: { reason: 'max_turns', ...reached },
      append: [{ kind: 'notice', notice: { kind: 'max_turns_reached', ...reached } }],
    });
    expect(next(toolsRan([call(0)]), { turn: 1 }, { maxTurns: 2 })).toMatchObject({ do: 'go_round' });
  });

  it('L45 after an abort the turn limit is only a notice', () => {
    const move = next(toolsRan([call(0)], { stop: 'interrupt' }), { turn: 2 }, { maxTurns: 2 });
    expect(move).toMatchObject({
      terminal: { reason: 'aborted_tools' },
      append: [{ notice: { kind: 'interrupted' } }, { notice: { kind: 'max_turns_reached' } }],
    });
  });

  it('L41 L46 a hook that ends the run comes before the limits, and a fatal outcome before the hook', () => {
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

  it('L34 a fatal outcome ends the run', () => {
    const fatal = { reason: 'permission_denied', detail: 'never' } as const;
    expect(next(toolsRan([call(0)], { facts: [{ error: true, fatal }] }))).toMatchObject({ terminal: fatal });
  });

  it('L34 the same call failing five times in a row ends the run, a success in between does not', () => {
    const same = call(0, { signature: 'bash:x', name: 'bash' });
    const fail = toolsRan([same], { facts: [{ error: true }] });
    let failing = state();
    for (let n = 0; n < 4; n += 1) failing = absorb(failing, rules, fail);
    expect(decide(failing, rules, fail)).toMatchObject({ do: 'go_round' });
    expect(next(fail, { failing: failing.failing })).toMatchObject({ terminal: { reason: 'fatal_tool_error' } });
    // Those of calls that ran with the reply count as well (L37).
    const early = { ...fail, results: [{ item: null, facts: { error: true } }] } as Event;
    expect(next(early, { failing: failing.failing })).toMatchObject({ terminal: { reason: 'fatal_tool_error' } });
    const rescued = absorb(failing, rules, toolsRan([same]));
    expect(next(fail, { failing: rescued.failing })).toMatchObject({ do: 'go_round' });
  });

  it('L15 a call that was cut is told to the model after the outcomes', () => {
    const after = absorb(state(), rules, toolsRan([call(0)], { cut: true }));
    expect(after.pending.map((item) => item.kind)).toEqual(['outcomes', 'notice']);
  });
});

describe('budgets', () => {
  const spent = { spend: usd(1) };

  it('L51 is checked before each call', () => {
    expect(next({ kind: 'ready' }, spent, { maxBudgetUsd: 1 })).toMatchObject({
      terminal: { reason: 'budget_exceeded', limitUsd: 1, spentUsd: 1 },
    });
    expect(next({ kind: 'ready' }, spent, { maxBudgetUsd: 1.01 })).toEqual({ do: 'call_model' });
  });

  it('L51 a call that spent it on failed attempts ends the run for that, and says why it failed', () => {
    const failed = modelEvent({ kind: 'failed', detail: 'cut off', spend: usd(2) });
    expect(next(failed, {}, { maxBudgetUsd: 1 })).toMatchObject({
      terminal: { reason: 'budget_exceeded', spentUsd: 2 },
      append: [{ notice: { kind: 'error', text: 'cut off' } }],
    });
  });

  it('L51 is checked after each reply, whose unstarted calls are not run', () => {
    const reply = replied([call(0, { outcome: {} }), call(1)], { spend: usd(2) });
    expect(next(modelEvent(reply), {}, { maxBudgetUsd: 1 })).toMatchObject({
      terminal: { reason: 'budget_exceeded', spentUsd: 2 },
      append: [{ kind: 'outcomes', items: [{ index: 1, note: expect.stringContaining('budget') }] }],
    });
  });
});

describe('a stop from outside', () => {
  it('L47 during streaming answers open calls and leaves a notice', () => {
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

  it('L47 for a new user message leaves no notice', () => {
    expect(next({ kind: 'stopped', stop: 'message' })).toEqual({
      do: 'end',
      terminal: { reason: 'aborted_streaming', by: 'message' },
      append: [],
    });
  });

  it('L48 during tools is aborted_tools', () => {
    expect(next(toolsRan([call(0)], { stop: 'cancel' }))).toMatchObject({
      terminal: { reason: 'aborted_tools', by: 'cancel' },
    });
  });

  it('L51 by the runtime limit is timeout', () => {
    const limits = { timeoutMs: 5_000 };
    expect(next({ kind: 'stopped', stop: 'timeout' }, {}, limits)).toMatchObject({
      terminal: { reason: 'timeout', limitMs: 5_000 },
    });
    expect(next(toolsRan([call(0)], { stop: 'timeout' }), {}, limits)).toMatchObject({
      terminal: { reason: 'timeout' },
    });
  });

  it('L47 too late for the stream keeps what was said', () => {
    expect(next(modelEvent(cutOff(), { stop: 'interrupt' }))).toMatchObject({
      terminal: { reason: 'aborted_streaming' },
      keep: { head: hash('cut'), contextTokens: 100 },
    });
  });
});
