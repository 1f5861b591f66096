import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { MODEL_ATTEMPT_DIED } from '../../workflows/contract/failures.ts';
import { fault, gate, reply, text, thinking, toolUse } from '../../worker/scripted-model/index.ts';
import { defineTool } from '../../activities/tools/tool.ts';
import { benchDeps, fakeAttempt, look, touching } from '../support/bench-deps.ts';
import { until } from '../support/until.ts';

/** What an attempt threw for Temporal to retry. */
async function thrown(attempt: Promise<unknown>): Promise<ApplicationFailure> {
  const error: unknown = await attempt.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApplicationFailure)) throw new Error(`expected a failure for Temporal, got ${String(error)}`);
  return error;
}

describe('a whole reply', () => {
  it('L16 is stored equal as JSON to what the API sent', async () => {
    const bench = await benchDeps({
      script: [
        reply([thinking('Let me see.'), text('Reading.'), toolUse('look', { deep: [1, { x: null }] }, 'toolu_1')]),
      ],
    });
    const result = await bench.call();
    if (result.kind !== 'message') throw new Error(result.kind);
    const stored = (await bench.entries(result.head)).find((entry) => entry.kind === 'reply');
    expect(stored).toMatchObject({
      fate: 'whole',
      message: {
        role: 'assistant',
        stop_reason: 'tool_use',
        content: [
          { type: 'thinking', thinking: 'Let me see.', signature: expect.any(String) },
          { type: 'text', text: 'Reading.' },
          { type: 'tool_use', id: 'toolu_1', name: 'look', input: { deep: [1, { x: null }] } },
        ],
      },
    });
  });

  it('L14 L16 a completion that was lost is found by the next attempt, which pays for no second call', async () => {
    const bench = await benchDeps({ script: [reply('Once.')] });
    const first = await bench.call(fakeAttempt(1));
    const second = await bench.call(fakeAttempt(2));
    expect(second).toEqual(first);
    expect(bench.model.requests).toHaveLength(1);
  });

  it('L16 watchers get the reply of an attempt that died before it could say that it was stored', async () => {
    const bench = await benchDeps({ script: [reply([text('Once.'), toolUse('look', {})])] });
    await bench.call(fakeAttempt(1));
    bench.lines.length = 0;
    await bench.call(fakeAttempt(2));
    const told = bench.lines.map((line) => (line.type === 'text_delta' ? line.text : line.type));
    expect(told).toEqual(['user', 'request_start', 'Once.', 'tool_use', 'tool_start', 'tool_end', 'reply', 'fate']);
    expect(bench.lines.at(-1)).toMatchObject({ fate: 'stored' });
  });

  it('L16 of two attempts that both finish, the first to record its step counts for both', async () => {
    const [one, two] = [gate(), gate()];
    const bench = await benchDeps({
      script: [reply('First.', { hold: one.hold }), reply('Second.', { hold: two.hold })],
    });
    const stale = bench.call(fakeAttempt(1));
    await until(() => bench.model.requests.length === 1);
    const fresh = bench.call(fakeAttempt(2));
    await until(() => bench.model.requests.length === 2);
    two.release();
    const counted = await fresh;
    one.release();
    expect(await stale).toEqual(counted);
    expect(bench.lines.at(-1)).toMatchObject({ type: 'fate', fate: 'died' });
  });
});

describe('a failed attempt', () => {
  it.each([
    ['408', { status: 408 }],
    ['409', { status: 409 }],
    ['429', { status: 429 }],
    ['500', { status: 500 }],
    ['529', { status: 529 }],
    ['a cut connection', { cutAfterEvent: 3 }],
    ['a hang-up', { hangUp: true }],
    ['garbage in the stream', { garbageAfterEvent: 2 }],
    ['an overloaded error inside a 200', { errorEvent: 'overloaded_error' }],
    ['400 with x-should-retry: true', { status: 400, xShouldRetry: true }],
  ] as const)('L14 %s is tried again after a wait that holds no slot, announced before it', async (_name, what) => {
    const bench = await benchDeps({ script: [fault(what), reply('Fine.')] });
    const attempt = fakeAttempt();
    const failure = await thrown(bench.call(attempt));
    expect(failure).toMatchObject({ type: MODEL_ATTEMPT_DIED, nonRetryable: false, nextRetryDelay: 100 });
    expect(bench.lines.slice(-2)).toMatchObject([
      { type: 'retry', failures: 1, delayMs: 100 },
      { type: 'fate', fate: 'died' },
    ]);
    expect(await bench.call(fakeAttempt(2, attempt.left))).toMatchObject({ kind: 'message' });
  });

  it.each([
    ['400', { status: 400 }],
    ['401', { status: 401 }],
    ['403', { status: 403 }],
    ['404', { status: 404 }],
    ['500 with x-should-retry: false', { status: 500, xShouldRetry: false }],
  ] as const)('L14 L20 %s is not tried again', async (_name, what) => {
    const bench = await benchDeps({ script: [fault(what)] });
    expect(await bench.call()).toMatchObject({ kind: 'failed', status: what.status });
  });

  it('L14 waits double from the first to the cap, and the eleventh failure is the end', async () => {
    const bench = await benchDeps({ script: [fault({ status: 500 }, '', { times: 'any' })] });
    let left: unknown;
    const waits: unknown[] = [];
    for (let n = 1; n <= 10; n += 1) {
      const attempt = fakeAttempt(n, left);
      waits.push((await thrown(bench.call(attempt))).nextRetryDelay);
      left = attempt.left;
    }
    expect(waits).toEqual([100, 200, 400, 800, 800, 800, 800, 800, 800, 800]);
    expect(await bench.call(fakeAttempt(11, left))).toMatchObject({ kind: 'failed', status: 500 });
    expect(bench.model.requests).toHaveLength(11);
  });

  it('L14 a worker that died costs none of the retries', async () => {
    const bench = await benchDeps({ script: [fault({ status: 500 })] });
    const attempt = fakeAttempt(40);
    await thrown(bench.call(attempt));
    expect(attempt.left).toMatchObject({ failures: 1 });
  });

  it('L14 retry-after is waited in full, and over a minute the call is parked', async () => {
    const bench = await benchDeps({
      script: [fault({ status: 429, retryAfter: 7 }), fault({ status: 429, retryAfter: 61 })],
    });
    expect(await thrown(bench.call())).toMatchObject({ nextRetryDelay: 7_000 });
    const before = Date.now();
    const parked = await bench.call(fakeAttempt(2));
    expect(parked).toMatchObject({ kind: 'parked', failures: 1 });
    expect(parked.kind === 'parked' && parked.until - before).toBeGreaterThanOrEqual(61_000);
  });

  it('L14 silence is given up by a timer that pings do not reset', async () => {
    const bench = await benchDeps({
      script: [fault({ silence: true }), fault({ pingsAfterEvent: 2, pingMs: 5 })],
      defaults: { stallMs: 150 },
    });
    expect((await thrown(bench.call())).message).toContain('no event from the model');
    expect((await thrown(bench.call())).message).toContain('no event from the model');
  });

  it('L16 stores nothing, voids early outcomes, and tells watchers', async () => {
    const bench = await benchDeps({ script: [fault({ cutAfterEvent: 8 }, [toolUse('look', {}), text('and')])] });
    await thrown(bench.call());
    expect(bench.lines.map((line) => line.type)).toEqual(expect.arrayContaining(['tool_end', 'retry', 'fate']));
    const again = await benchDeps({ script: [reply('Fine.')], store: bench.deps.store });
    const result = await again.call();
    if (result.kind !== 'message') throw new Error(result.kind);
    expect((await again.entries(result.head)).map((entry) => entry.kind)).toEqual(['user', 'reply']);
  });

  it('L51 what a died attempt was billed is in the spend of the call', async () => {
    const usage = {
      input_tokens: 1_000_000,
      output_tokens: 0,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
    };
    const bench = await benchDeps({
      script: [fault({ cutAfterEvent: 3 }, 'part', { usage }), reply('Fine.', { usage })],
    });
    const attempt = fakeAttempt();
    await thrown(bench.call(attempt));
    const result = await bench.call(fakeAttempt(2, attempt.left));
    expect(result.spend).toMatchObject({ usage: { input: 2_000_000 }, usd: expect.closeTo(6, 3) });
  });
});

describe('an empty reply', () => {
  it.each([
    ['no block', reply([], { stop_reason: 'end_turn' })],
    ['stop_reason tool_use without a call', reply('Hm.', { stop_reason: 'tool_use' })],
    ['white space only', reply(' \n')],
  ])('L15 %s is a failed attempt, the third in a row an error', async (_name, empty) => {
    const bench = await benchDeps({ script: [{ ...empty, times: 'any' as const }] });
    let left: unknown;
    for (let n = 1; n <= 2; n += 1) {
      const attempt = fakeAttempt(n, left);
      await thrown(bench.call(attempt));
      left = attempt.left;
    }
    expect(await bench.call(fakeAttempt(3, left))).toMatchObject({ kind: 'failed' });
  });
});

describe('a reply cut by max output tokens', () => {
  it('L15 complete calls before a truncated one are run, and the truncated one is no call', async () => {
    const blocks = [toolUse('look', { n: 1 }, 'toolu_a'), toolUse('look', { long: 'x'.repeat(500) }, 'toolu_b')];
    const bench = await benchDeps({ script: [fault({ maxTokensAfter: { block: 1, chars: 40 } }, blocks)] });
    const result = await bench.call();
    expect(result).toMatchObject({ kind: 'message', cut: true, calls: [{ index: 0, name: 'look', outcome: {} }] });
    if (result.kind !== 'message') return;
    const stored = (await bench.entries(result.head)).find((entry) => entry.kind === 'reply');
    expect(stored).toMatchObject({ fate: 'cut', message: { content: [{ id: 'toolu_a' }] } });
  });

  it('L26 L28 without a complete call it is a cut reply, kept without a truncated call or trailing thinking', async () => {
    const blocks = [text('I will'), thinking('so'), toolUse('look', { long: 'x'.repeat(500) })];
    const bench = await benchDeps({ script: [fault({ maxTokensAfter: { block: 2, chars: 40 } }, blocks)] });
    const result = await bench.call();
    expect(result.kind).toBe('cut_off');
    if (result.kind !== 'cut_off') return;
    const stored = (await bench.entries(result.head)).find((entry) => entry.kind === 'reply');
    expect(stored).toMatchObject({ fate: 'cut', message: { content: [{ type: 'text', text: 'I will' }] } });
  });

  it('L15 a call whose input is not JSON, in a reply that was not cut, is answered with an error', async () => {
    const bench = await benchDeps({
      script: [reply([{ type: 'tool_use', name: 'read', inputJson: '{"path": ' }], { stop_reason: 'tool_use' })],
    });
    expect(await bench.call()).toMatchObject({ kind: 'message', calls: [{ name: 'read', safe: true }] });
  });
});

describe('what a model may write', () => {
  it('L15 an input nested too deep to be stored is answered with an error, and the loop goes on', async () => {
    const inputJson = `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
    const bench = await benchDeps({ script: [reply([{ type: 'tool_use', name: 'look', inputJson }])] });
    expect(await bench.call()).toMatchObject({ kind: 'message', calls: [{ name: 'look' }] });
  });

  it('L15 L58 unknown stop reasons and block types are kept, and five hundred calls all run', async () => {
    const many = Array.from({ length: 500 }, () => toolUse('look', {}));
    const odd = { type: 'raw', block: { type: 'novelty', value: 1 } } as const;
    const bench = await benchDeps({ script: [reply([odd, ...many], { stop_reason: 'surprise' })] });
    const result = await bench.call();
    expect(result.kind === 'message' && result.calls.filter((call) => call.outcome).length).toBe(500);
  });

  it('L51 missing usage counts as nothing', async () => {
    const bench = await benchDeps({ script: [reply('Hi.', { usage: null })] });
    expect(await bench.call()).toMatchObject({ kind: 'message', spend: { usd: 0 } });
  });

  it('L6 early outcomes that together are too large for one message are previews', async () => {
    const big = defineTool({ ...look, name: 'big', call: () => Promise.resolve({ content: 'x'.repeat(49_000) }) });
    const bench = await benchDeps({
      script: [reply(Array.from({ length: 6 }, () => toolUse('big', {})))],
      tools: [big],
    });
    const result = await bench.call();
    if (result.kind !== 'message') throw new Error(result.kind);
    const entry = (await bench.entries(result.head)).find((each) => each.kind === 'outcomes');
    const outcomes = entry?.kind === 'outcomes' ? entry.outcomes : [];
    expect(outcomes.reduce((sum, { content }) => sum + content.length, 0)).toBeLessThanOrEqual(200_000);
    expect(outcomes.some(({ whole }) => whole !== undefined)).toBe(true);
  });
});

describe('recoverable errors', () => {
  it('L17 are values, and nothing of them is shown', async () => {
    const bench = await benchDeps({
      script: [fault({ too_long: true }), fault({ status: 413 }), fault({ media_too_large: true })],
    });
    expect(await bench.call(fakeAttempt(), { step: 5 })).toMatchObject({ kind: 'too_long' });
    expect(await bench.call(fakeAttempt(), { step: 6 })).toMatchObject({ kind: 'too_long' });
    expect(await bench.call(fakeAttempt(), { step: 7 })).toMatchObject({ kind: 'media_too_large' });
    expect(bench.lines.some((line) => line.type === 'notice')).toBe(false);
  });

  it('L15 a refusal is a value that runs no call', async () => {
    const bench = await benchDeps({
      script: [reply([text('I cannot.'), toolUse('touch', {})], { stop_reason: 'refusal' })],
    });
    expect(await bench.call()).toMatchObject({ kind: 'refused', detail: expect.stringContaining('I cannot.') });
  });
});

describe('early calls', () => {
  it('L37 a safe call runs while the reply still streams, and its outcome is stored with the reply', async () => {
    const held = gate();
    const blocks = [toolUse('look', {}, 'toolu_1'), text('tail')];
    const bench = await benchDeps({ script: [reply(blocks, { hold: held.hold, holdAfterEvent: 6 })] });
    const going = bench.call();
    await until(() => bench.lines.some((line) => line.type === 'tool_end'));
    held.release();
    const result = await going;
    expect(result).toMatchObject({ kind: 'message', calls: [{ index: 0, outcome: {} }] });
    if (result.kind !== 'message') return;
    const entries = await bench.entries(result.head);
    expect(entries.map((entry) => entry.kind)).toEqual(['user', 'reply', 'outcomes']);
  });

  it('L37 nothing starts early after an unsafe call', async () => {
    const { tool, effects } = touching();
    const bench = await benchDeps({
      script: [reply([toolUse('look', {}), toolUse('touch', {}), toolUse('look', {})])],
      tools: [look, tool],
    });
    const result = await bench.call();
    expect(result.kind === 'message' && result.calls.map((call) => [call.safe, call.outcome !== undefined])).toEqual([
      [true, true],
      [false, false],
      [true, false],
    ]);
    expect(effects).toEqual([]);
  });

  it('L37 L55 a call that would have to ask does not start early', async () => {
    const { tool } = touching();
    const bench = await benchDeps({
      script: [reply([toolUse('touch', {})])],
      tools: [tool],
      run: { permissionMode: 'default' },
    });
    expect(await bench.call()).toMatchObject({ calls: [{ safe: false }] });
  });
});

describe('an interrupt', () => {
  it('L16 L47 keeps complete blocks and partial text, and drops what was open', async () => {
    const held = gate();
    const blocks = [text('I will look. '), toolUse('look', { n: 1 }, 'toolu_1'), toolUse('look', { n: 2 }, 'toolu_2')];
    const bench = await benchDeps({ script: [reply(blocks, { hold: held.hold, holdAfterEvent: 11 })] });
    const attempt = fakeAttempt();
    const going = bench.call(attempt);
    await until(() => bench.lines.some((line) => line.type === 'tool_use'));
    attempt.abort('stop');
    const result = await going;
    held.release();
    expect(result).toMatchObject({ kind: 'interrupted', calls: [{ index: 1 }] });
    if (result.kind !== 'interrupted') return;
    const stored = (await bench.entries(result.head)).find((entry) => entry.kind === 'reply');
    expect(stored).toMatchObject({ fate: 'interrupted', message: { content: [{ type: 'text' }, { id: 'toolu_1' }] } });
  });

  it('L50 a deploy is not a stop: nothing is stored and the attempt is thrown', async () => {
    const held = gate();
    const bench = await benchDeps({
      script: [reply('Going on', { hold: held.hold, holdAfterEvent: 4 }), reply('Done.')],
    });
    const attempt = fakeAttempt();
    const going = bench.call(attempt);
    await until(() => bench.lines.some((line) => line.type === 'text_delta'));
    attempt.abort('deploy');
    await expect(going).rejects.toThrow('deploy');
    held.release();
    expect(await bench.call(fakeAttempt(2))).toMatchObject({ kind: 'message' });
  });
});
