// When a model is given up for the next in the list (L19), and what the next one is sent.
import { describe, expect, test } from 'vitest';
import { fault, reply, text, thinking, toolUse } from '../../scripted-model/index.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import { benchDeps, fakeAttempt, prompt, type BenchOptions } from '../support/bench-deps.ts';
import { thrown } from '../support/thrown.ts';

const [FIRST, SECOND] = ['claude-haiku-4-5', 'claude-sonnet-5-5'];
const run = { model: FIRST, fallbackModels: [SECOND] };
const bench = (script: BenchOptions['script'], more: Partial<BenchOptions> = {}) => benchDeps({ script, run, ...more });
const switched = { kind: 'fallback', from: FIRST, to: SECOND };

describe('a model that is overloaded', () => {
  test('is given up at the third 529, and the count survives attempts and their workers (L19)', async () => {
    const { call, lines } = await bench([fault({ status: 529 }, '', { times: 3 })]);
    let left: unknown;
    for (let n = 1; n <= 2; n += 1) {
      const attempt = fakeAttempt(n, left);
      await thrown(call(attempt));
      // As heartbeat details travel.
      left = JSON.parse(JSON.stringify(attempt.left));
    }
    expect(await call(fakeAttempt(7, left))).toMatchObject({
      ...switched,
      calls: [],
      detail: expect.stringMatching('529'),
    });
    expect(lines.at(-1)).toMatchObject({ type: 'fate', fate: 'died' });
  });

  test('other failures between do not count, and do not hide, its 529s (L19)', async () => {
    const statuses = [529, 500, 529, 503, 529];
    const { call } = await bench(statuses.map((status) => fault({ status })));
    let left: unknown;
    for (const n of [1, 2, 3, 4]) {
      const attempt = fakeAttempt(n, left);
      await thrown(call(attempt));
      left = attempt.left;
    }
    expect(await call(fakeAttempt(5, left))).toMatchObject(switched);
  });

  test('is counted over parkings (L14 L19)', async () => {
    const { call } = await bench([fault({ status: 529, retryAfter: 90 }), fault({ status: 529 })]);
    expect(await call()).toMatchObject({ kind: 'parked', failures: 1, overloads: 1 });
    expect(await call(fakeAttempt(), { step: 3, failures: 2, overloads: 2 })).toMatchObject(switched);
  });

  test('is tried to the end when there is no other (L14 L19)', async () => {
    const { call } = await bench([fault({ status: 529 })], { run: { model: FIRST } });
    const tries = { failures: 10, overloads: 10, empties: 0 };
    expect(await call(fakeAttempt(11, tries))).toMatchObject({ kind: 'failed', status: 529 });
  });

  test('the attempt is billed, and the calls it had begun are named, twenty at most (L16 L19 L51)', async () => {
    const calls = Array.from({ length: 30 }, () => toolUse('look', {}));
    const { call } = await bench([fault({ errorEvent: 'overloaded_error', afterEvent: 100 }, calls)]);
    const result = await call(fakeAttempt(3, { failures: 2, overloads: 2, empties: 0 }));
    expect(result).toMatchObject({ ...switched, calls: Array.from({ length: 20 }, () => 'look') });
    // Too short a prompt for this model's cache.
    expect(result.spend.usage.input).toBeGreaterThan(0);
  });
});

describe('other reasons to give a model up', () => {
  test.each([
    ['500', { status: 500 }],
    ['a cut connection', { cutAfterEvent: 3 }],
  ] as const)('%s, when its retries are spent (L19)', async (_name, what) => {
    const { call } = await bench([fault(what, [text('Hm'), toolUse('look', {})])]);
    expect(await call(fakeAttempt(11, { failures: 10 }))).toMatchObject(switched);
  });

  test('404, at once (L19)', async () => {
    const { call } = await bench([fault({ status: 404 })]);
    expect(await call()).toMatchObject(switched);
  });

  test('a refusal, whose calls are not run (L15 L19)', async () => {
    const { call } = await bench([reply([text('I cannot.'), toolUse('look', {})], { stop_reason: 'refusal' })]);
    expect(await call()).toMatchObject({ ...switched, calls: ['look'], detail: expect.stringContaining('I cannot.') });
  });

  test('never 429, however often (L19)', async () => {
    const { call } = await bench([fault({ status: 429 }, '', { times: 'any' })]);
    await thrown(call(fakeAttempt(4, { failures: 3, overloads: 2, empties: 0 })));
    expect(await call(fakeAttempt(11, { failures: 10 }))).toMatchObject({ kind: 'failed', status: 429 });
  });

  test.each([400, 401, 403])('never %i: another model would be refused as well (L19 L20)', async (status) => {
    const { call } = await bench([fault({ status })]);
    expect(await call()).toMatchObject({ kind: 'failed', status });
  });

  test('the last in the list has none after it (L19)', async () => {
    const { call } = await bench([fault({ status: 404 }, '', { times: 2 })]);
    expect(await call(fakeAttempt(), { model: 1 })).toMatchObject({ kind: 'failed', status: 404 });
  });
});

describe('after the switch', () => {
  test('the model of the position is asked, named to watchers, and paid at its own price (L19 L51 L60)', async () => {
    const usage = { input_tokens: 1_000_000, output_tokens: 0 };
    const { call, lines, model } = await bench([reply('Yes.', { usage, expect: { model: SECOND } })]);
    expect(await call(fakeAttempt(), { model: 1 })).toMatchObject({
      kind: 'message',
      spend: { usd: expect.closeTo(2, 2) },
    });
    expect(lines.find(({ type }) => type === 'request_start')).toMatchObject({ model: SECOND });
    expect(model.problems).toEqual([]);
  });

  test('thinking of another of its kin is sent on, and the new one thinks as it does by itself (L19 L59)', async () => {
    const script = [
      reply([thinking('Let me see.'), text('Looking.'), toolUse('look', {}, 'toolu_1')]),
      reply('Done.', { expect: { model: SECOND } }),
    ];
    const { call, bodies, model } = await bench(script, { run: { ...run, thinkingTokens: 2_000 } });
    const first = await call();
    const { head } = first as { head: Hash };
    expect(await call(fakeAttempt(), { head, append: [], step: 3, model: 1 })).toMatchObject({ kind: 'message' });
    expect(bodies()[0]).toMatchObject({ thinking: { type: 'enabled', budget_tokens: 2_000 }, max_tokens: 34_000 });
    expect(bodies()[1]).toMatchObject({ thinking: { type: 'adaptive', display: 'summarized' } });
    expect(JSON.stringify(bodies()[1])).toContain('Let me see.');
    expect(model.problems).toEqual([]);
  });

  test('thinking that another maker’s model signed is not sent (L19 L59)', async () => {
    const script = [
      reply([thinking('Let me see.'), text('Looking.'), toolUse('look', {}, 'toolu_1')]),
      reply('Done.', { expect: { model: SECOND } }),
    ];
    const { call, bodies, model } = await bench(script, { run: { model: 'other-1', fallbackModels: [SECOND] } });
    const { head } = (await call()) as { head: Hash };
    await call(fakeAttempt(), { head, append: [], step: 3, model: 1 });
    expect(JSON.stringify(bodies()[1])).not.toContain('Let me see.');
    expect(model.problems).toEqual([]);
  });

  test('the next prompt, on the primary, sends its thinking back unchanged and thinks again (L59)', async () => {
    const script = [reply([thinking('Let me see.'), text('Yes.')]), reply('Again.', { expect: { model: FIRST } })];
    const { call, bodies, model } = await bench(script, { run: { ...run, thinkingTokens: 2_000 } });
    const { head } = (await call()) as { head: Hash };
    await call(fakeAttempt(), { head, append: [prompt('And now?')], step: 3 });
    expect(JSON.stringify(bodies()[1])).toContain('Let me see.');
    expect(bodies()[1]).toHaveProperty('thinking');
    expect(model.problems).toEqual([]);
  });
});
