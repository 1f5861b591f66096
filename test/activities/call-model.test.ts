import { describe, expect, test, vi } from 'vitest';
import { MODEL_ATTEMPT_DIED } from '../../workflows/contract/failures.ts';
import { fault, gate, reply, text, thinking, toolUse } from '../../scripted-model/index.ts';
import { callModel } from '../../activities/call-model.ts';
import { benchDeps, fakeAttempt } from '../support/bench-deps.ts';
import { thrown } from '../support/thrown.ts';
import { until } from '../support/until.ts';

describe('a whole reply', () => {
  test('is stored equal as JSON to what the API sent (L16)', async () => {
    const bench = await benchDeps({
      script: [
        reply([thinking('Let me see.'), text('Reading.'), toolUse('look', { deep: [1, { x: null }] }, 'toolu_1')]),
      ],
      run: { model: 'claude-a' },
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

  test('a completion that was lost is found by the next attempt, which pays for no second call (L14 L16)', async () => {
    const bench = await benchDeps({ script: [reply('Once.')] });
    const first = await bench.call(fakeAttempt(1));
    const second = await bench.call(fakeAttempt(2));
    expect(second).toEqual(first);
    expect(bench.model.requests).toHaveLength(1);
  });

  test('watchers get the reply of an attempt that died before it could say that it was stored (L16)', async () => {
    const bench = await benchDeps({ script: [reply([text('Once.'), toolUse('look', {})])] });
    await bench.call(fakeAttempt(1));
    bench.lines.length = 0;
    const open = vi.spyOn(bench.deps.live, 'open');
    await bench.call(fakeAttempt(2));
    expect(open).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ retells: bench.input().step }));
    const told = bench.lines.map((line) => (line.type === 'text_delta' ? line.text : line.type));
    expect(told).toEqual(['user', 'request_start', 'Once.', 'tool_use', 'tool_start', 'tool_end', 'reply', 'fate']);
    expect(bench.lines.at(-1)).toMatchObject({ fate: 'stored' });
  });

  test('of two attempts that both finish, the first to record its step counts for both (L16)', async () => {
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

describe('a worker without a real model', () => {
  test('leaves a run that was begun with one to others', async () => {
    const bench = await benchDeps({ script: [reply('Hi.')], scripted: false });
    const scripted = { ...bench.deps, scripted: true };
    expect(await thrown(callModel(scripted)(fakeAttempt(), bench.input()))).toMatchObject({ nonRetryable: false });
    expect(bench.model.requests).toHaveLength(0);
    expect(await bench.call(fakeAttempt(2))).toMatchObject({ kind: 'message' });
  });
});

describe('a failed attempt', () => {
  test.each([
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
  ] as const)('%s is tried again after a wait that holds no slot, announced before it (L14)', async (_name, what) => {
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

  test.each([
    ['400', { status: 400 }],
    ['401', { status: 401 }],
    ['403', { status: 403 }],
    ['404', { status: 404 }],
    ['500 with x-should-retry: false', { status: 500, xShouldRetry: false }],
  ] as const)('%s is not tried again (L14 L20)', async (_name, what) => {
    const bench = await benchDeps({ script: [fault(what)] });
    expect(await bench.call()).toMatchObject({ kind: 'failed', status: what.status });
  });

  test('waits double from the first to the cap, and the eleventh failure is the end (L14)', async () => {
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

  test('a worker that died costs none of the retries (L14)', async () => {
    const bench = await benchDeps({ script: [fault({ status: 500 })] });
    const attempt = fakeAttempt(40);
    await thrown(bench.call(attempt));
    expect(attempt.left).toMatchObject({ failures: 1 });
  });

  test('retry-after is waited in full, and over a minute the call is parked (L14)', async () => {
    const short = await benchDeps({ script: [fault({ status: 429, retryAfter: 7 })] });
    expect(await thrown(short.call())).toMatchObject({ nextRetryDelay: 7_000 });
    const long = await benchDeps({ script: [fault({ status: 429, retryAfter: 61 })] });
    expect(await long.call()).toMatchObject({ kind: 'parked', failures: 1, waitMs: 61_000 });
  });

  test('a parking is announced to watchers before its wait, as every retry is (L14)', async () => {
    const bench = await benchDeps({ script: [fault({ status: 429, retryAfter: 90 })] });
    await bench.call();
    const [announced] = bench.lines.filter((line) => line.type === 'retry');
    expect(announced).toMatchObject({ iteration: 1, failures: 1, error: expect.stringContaining('429') });
    expect(announced?.type === 'retry' && announced.delayMs).toBeGreaterThan(60_000);
  });

  test('silence is given up with the name of the setting that says how long it is waited for (X4 L14)', async () => {
    const silent = await benchDeps({ script: [fault({ silence: true })], defaults: { firstByteMs: 150 } });
    expect((await thrown(silent.call())).message).toMatch(/sent nothing for 0.15 s \(`firstByteMs`/);
    const stalled = await benchDeps({ script: [fault({ silenceAfterEvent: 2 })], defaults: { stallMs: 150 } });
    expect((await thrown(stalled.call())).message).toMatch(/no byte from the model for 0.15 s .*\(`stallMs`/);
  });

  test('a request that takes longer than its time is made again, and watchers are told why (L14 L60)', async () => {
    const slow = fault({ pingsAfterEvent: 3, pingMs: 20 });
    const bench = await benchDeps({ script: [slow, reply('Done.')], defaults: { requestMs: 4_000 } });
    expect((await thrown(bench.call())).message).toMatch(/not whole within 4 s \(`requestMs` of the configuration\)/);
    expect(bench.lines.find(({ type }) => type === 'retry')).toMatchObject({
      error: expect.stringContaining('`requestMs`') as string,
    });
    expect(await bench.call()).toMatchObject({ kind: 'message' });
  });

  test('stores nothing, voids early outcomes, and tells watchers (L16)', async () => {
    const bench = await benchDeps({ script: [fault({ cutAfterEvent: 8 }, [toolUse('look', {}), text('and')])] });
    await thrown(bench.call());
    expect(bench.lines.map((line) => line.type)).toEqual(expect.arrayContaining(['tool_end', 'retry', 'fate']));
    const again = await benchDeps({ script: [reply('Fine.')], store: bench.deps.store });
    const result = await again.call();
    if (result.kind !== 'message') throw new Error(result.kind);
    expect((await again.entries(result.head)).map((entry) => entry.kind)).toEqual(['user', 'epoch', 'reply']);
  });

  test('what a died attempt was billed is in the spend of the call (L51)', async () => {
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
    expect(result.spend).toMatchObject({ usage: { input: 2_000_000 }, usd: expect.closeTo(4, 3) });
  });

  test.each([
    ['tokens', { tokens: 2_000_000 }],
    ['US dollars', { usd: 4 }],
  ] as const)(
    'no further attempt is made when those before it have spent what was left in %s (L51)',
    async (_unit, left) => {
      const usage = {
        input_tokens: 1_000_000,
        output_tokens: 0,
        cache_read_input_tokens: 0,
        cache_creation_input_tokens: 0,
      };
      const cut = fault({ cutAfterEvent: 3 }, 'part', { usage });
      const bench = await benchDeps({ script: [cut, cut, reply('Never.')] });
      const attempt = fakeAttempt();
      await thrown(bench.call(attempt, { left }));
      expect(await bench.call(fakeAttempt(2, attempt.left), { left })).toMatchObject({
        kind: 'failed',
        detail: expect.stringContaining('the budget of the run is spent'),
        spend: { usage: { input: 2_000_000 } },
      });
    },
  );

  test('nor when a killed worker was billed what was left (L51 L69)', async () => {
    const usage = { input_tokens: 2_000, output_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
    const bench = await benchDeps({
      script: [reply('Never stored.', { usage, hold: new Promise(() => {}), holdAfterEvent: 2 }), reply('Once more.')],
    });
    const [dying, left] = [fakeAttempt(), { tokens: 1_500 }];
    void bench.call(dying, { left }).catch(() => {});
    await until(() => dying.left !== undefined);
    expect(await bench.call(fakeAttempt(2, dying.left), { left })).toMatchObject({
      kind: 'failed',
      detail: 'its worker ended while the model answered; not tried again, for the budget of the run is spent',
      spend: { usage: { input: 2_000 } },
    });
    expect(bench.model.requests).toHaveLength(1);
    expect(await bench.call(fakeAttempt(2, dying.left), { left: { tokens: 2_500 } })).toMatchObject({
      kind: 'message',
    });
  });
});
