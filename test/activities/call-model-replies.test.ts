import { describe, expect, test } from 'vitest';
import { fault, gate, reply, text, thinking, toolUse } from '../../scripted-model/index.ts';
import type { Tool } from '../../tools/tool.ts';
import type { Append } from '../../workflows/contract/activities.ts';
import { benchDeps, fakeAttempt, prompt, look, touching } from '../support/bench-deps.ts';
import { thrown } from '../support/thrown.ts';
import { until } from '../support/until.ts';

describe('an empty reply', () => {
  test.each([
    ['no block', reply([], { stop_reason: 'end_turn' })],
    ['stop_reason tool_use without a call', reply('Hm.', { stop_reason: 'tool_use' })],
    ['white space only', reply(' \n')],
    ['thinking only', reply([thinking('Hm.')])],
    ['hidden thinking and white space', reply([{ type: 'redacted_thinking', data: 'x' }, text(' ')])],
  ])('%s is a failed attempt, announced as one, the third in a row an error (L15 L60)', async (_name, empty) => {
    const bench = await benchDeps({ script: [{ ...empty, times: 'any' as const }] });
    let left: unknown;
    for (let n = 1; n <= 2; n += 1) {
      const attempt = fakeAttempt(n, left);
      await thrown(bench.call(attempt));
      left = attempt.left;
    }
    expect(await bench.call(fakeAttempt(3, left))).toMatchObject({ kind: 'failed' });
    expect(bench.lines.filter(({ type }) => type === 'retry')).toMatchObject([{ failures: 1 }, { failures: 2 }]);
  });
});

describe('an empty reply where a run is to be summed up', () => {
  test('is a failure at once: what was kept back is what one call takes (L15 L51)', async () => {
    const bench = await benchDeps({ script: [reply([], { stop_reason: 'end_turn', times: 'any' })] });
    expect(await bench.call(fakeAttempt(), { wrapUp: true })).toMatchObject({ kind: 'failed' });
    expect(bench.bodies()).toHaveLength(1);
  });
});

test('watchers are told what the request no longer shows, or shows in short (L7 L9 L60)', async () => {
  const bench = await benchDeps({ script: [reply('Hi.')] });
  const append: readonly Append[] = [
    prompt('Go.'),
    { kind: 'snip', entries: [0] },
    { kind: 'collapse_committed', count: 2 },
  ];
  await bench.call(fakeAttempt(), { append });
  expect(bench.lines).toContainEqual({ type: 'snip', entries: [0] });
  expect(bench.lines).toContainEqual({ type: 'collapse_committed', count: 2 });
});

describe('a reply cut by max output tokens', () => {
  test('complete calls before a truncated one are run, and the truncated one is no call (L15)', async () => {
    const blocks = [toolUse('look', { n: 1 }, 'toolu_a'), toolUse('look', { long: 'x'.repeat(500) }, 'toolu_b')];
    const bench = await benchDeps({ script: [fault({ maxTokensAfter: { block: 1, chars: 40 } }, blocks)] });
    const result = await bench.call();
    expect(result).toMatchObject({ kind: 'message', cut: true, calls: [{ index: 0, name: 'look', outcome: {} }] });
    if (result.kind !== 'message') return;
    const stored = (await bench.entries(result.head)).find((entry) => entry.kind === 'reply');
    expect(stored).toMatchObject({ fate: 'cut', message: { content: [{ id: 'toolu_a' }] } });
  });

  test('without a complete call it is a cut reply, kept without a truncated call or trailing thinking (L26 L28)', async () => {
    const blocks = [text('I will'), thinking('so'), toolUse('look', { long: 'x'.repeat(500) })];
    const bench = await benchDeps({ script: [fault({ maxTokensAfter: { block: 2, chars: 40 } }, blocks)] });
    const result = await bench.call();
    expect(result.kind).toBe('cut_off');
    if (result.kind !== 'cut_off') return;
    const stored = (await bench.entries(result.head)).find((entry) => entry.kind === 'reply');
    expect(stored).toMatchObject({ fate: 'cut', message: { content: [{ type: 'text', text: 'I will' }] } });
  });

  test('a call whose input is not JSON, in a reply that was not cut, is answered with an error (L15)', async () => {
    const bench = await benchDeps({
      script: [reply([{ type: 'tool_use', name: 'read', inputJson: '{"path": ' }], { stop_reason: 'tool_use' })],
    });
    expect(await bench.call()).toMatchObject({ kind: 'message', calls: [{ name: 'read', safe: true }] });
  });
});

describe('what a model may write', () => {
  test('an input nested too deep to be stored is answered with an error, and the loop goes on (L15)', async () => {
    const inputJson = `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
    const bench = await benchDeps({ script: [reply([{ type: 'tool_use', name: 'look', inputJson }])] });
    expect(await bench.call()).toMatchObject({ kind: 'message', calls: [{ name: 'look' }] });
  });

  test('unknown stop reasons and block types are kept, and five hundred calls all run (L15 L58)', async () => {
    const many = Array.from({ length: 500 }, () => toolUse('look', {}));
    const odd = { type: 'raw', block: { type: 'novelty', value: 1 } } as const;
    const bench = await benchDeps({ script: [reply([odd, ...many], { stop_reason: 'surprise' })] });
    const result = await bench.call();
    expect(result.kind === 'message' && result.calls.filter((call) => call.outcome).length).toBe(500);
  });

  test('a call cut before the first byte of its input is no call (L15)', async () => {
    const blocks = [text('I will look.'), toolUse('look', {})];
    const bench = await benchDeps({ script: [fault({ maxTokensAfter: { block: 1, chars: 0 } }, blocks)] });
    expect(await bench.call()).toMatchObject({ kind: 'cut_off' });
    expect(bench.lines.some((line) => line.type === 'tool_start')).toBe(false);
  });

  test('missing usage counts as nothing (L51)', async () => {
    const bench = await benchDeps({ script: [reply('Hi.', { usage: null })] });
    expect(await bench.call()).toMatchObject({ kind: 'message', spend: { usd: 0 } });
  });

  test('early outcomes that together are too large for one message are previews (L6)', async () => {
    const big: Tool = { ...look, name: 'big', call: () => Promise.resolve({ content: 'x'.repeat(49_000) }) };
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
  test('are values, and nothing of them is shown (L17)', async () => {
    const bench = await benchDeps({
      script: [fault({ too_long: true }), fault({ status: 413 }), fault({ media_too_large: true })],
    });
    expect(await bench.call(fakeAttempt(), { step: 5 })).toMatchObject({ kind: 'too_long' });
    expect(await bench.call(fakeAttempt(), { step: 6 })).toMatchObject({ kind: 'too_long' });
    expect(await bench.call(fakeAttempt(), { step: 7 })).toMatchObject({ kind: 'media_too_large' });
    expect(bench.lines.some((line) => line.type === 'notice')).toBe(false);
  });

  test('a refusal is a value that runs no call (L15)', async () => {
    const bench = await benchDeps({
      script: [reply([text('I cannot.'), toolUse('touch', {})], { stop_reason: 'refusal' })],
    });
    expect(await bench.call()).toMatchObject({ kind: 'refused', detail: expect.stringContaining('I cannot.') });
  });
});

describe('early calls', () => {
  test('a safe call runs while the reply still streams, and its outcome is stored with the reply (L37)', async () => {
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
    expect(entries.map((entry) => entry.kind)).toEqual(['user', 'epoch', 'reply', 'outcomes']);
  });

  test('nothing starts early after an unsafe call (L37)', async () => {
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
    // The unsafe one ran when the reply was stored; what comes after it waits for the regular way.
    expect(effects).toHaveLength(1);
    expect(result.kind === 'message' && result.calls[2]?.ran).toBeUndefined();
  });

  test('a call that would have to ask does not start early (L37 L55)', async () => {
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
  test('keeps complete blocks and partial text, and drops what was open (L16 L47)', async () => {
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

  test('keeps what calls gave that had ended, and says which were cancelled and which never ran (L35 L37 L47)', async () => {
    const held = gate();
    const working: number[] = [];
    const slow: Tool = {
      ...look,
      call: async (input, { signal }) => {
        const { n } = input as { n: number };
        if (n === 1) return { content: 'seen 1' };
        working.push(n);
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        return { content: 'partly', stopped: true };
      },
    };
    const calls = [
      toolUse('look', { n: 1 }, 'toolu_1'),
      toolUse('peek', {}, 'toolu_2'),
      toolUse('look', { n: 3 }, 'toolu_3'),
      toolUse('peek', { last: true }, 'toolu_4'),
    ];
    const bench = await benchDeps({
      script: [reply([...calls, text('And more. '.repeat(400))], { hold: held.hold, holdAfterEvent: 24 })],
      tools: [slow, { ...look, name: 'peek' }],
      run: { permissionMode: 'default', permissions: { ask: ['peek'] } },
    });
    const attempt = fakeAttempt();
    const going = bench.call(attempt);
    await until(() => working.length === 1 && bench.lines.filter((line) => line.type === 'tool_use').length === 4);
    attempt.abort('stop');
    const result = await going;
    held.release();
    if (result.kind !== 'interrupted') throw new Error(result.kind);
    expect(result.calls.map(({ outcome }) => outcome ?? null)).toMatchObject([{}, {}, { cancelled: true }, null]);
    const stored = (await bench.entries(result.head)).flatMap((entry) =>
      entry.kind === 'outcomes' ? entry.outcomes : [],
    );
    expect(stored.map(({ content }) => content)).toEqual([
      'seen 1',
      'Not run: the reply was interrupted.',
      expect.stringContaining('(stopped: it was cancelled)'),
    ]);
    expect(stored.map(({ log }) => log.outcome)).toEqual(['ok', 'not_run', 'cancelled']);
  });

  test('a deploy is not a stop: nothing is stored and the attempt is thrown (L50)', async () => {
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

describe('a request that replaces another', () => {
  test('tells watchers its transition, and not again what the first had told (L26)', async () => {
    const bench = await benchDeps({ script: [reply('All of it.')] });
    bench.lines.length = 0;
    const again: Append = { kind: 'transition', iteration: 2, reason: 'max_output_tokens_escalate' };
    await bench.call(fakeAttempt(), { append: [prompt('Do it.'), again], iteration: 2, step: 3, supersedes: 2 });
    expect(bench.lines.map(({ type }) => type).slice(0, 2)).toEqual(['transition', 'request_start']);
  });
});

describe('post-sampling hooks', () => {
  test('are told of each stored reply, and one that throws, hangs or edits changes nothing (L21)', async () => {
    const seen: unknown[] = [];
    const bench = await benchDeps({
      script: [reply([text('Hello.'), toolUse('look', {})])],
      hooks: {
        postSampling: [
          { run: () => new Promise(() => {}), timeoutMs: 500 },
          () => {
            throw new Error('no');
          },
          ({ message }) => void (message.content.length = 0),
          ({ message, iteration }) => void seen.push([iteration, message.content.length]),
        ],
      },
    });
    const result = await bench.call();
    expect(result).toMatchObject({ kind: 'message', calls: [{ index: 1, outcome: {} }] });
    await until(() => seen.length === 1);
    expect(seen).toEqual([[1, 2]]);
    await until(() => bench.warnings.length === 2);
    expect(bench.warnings[0]).toContain('timed out');
    expect(bench.warnings[1]).toMatch(/no.* \(session .*, iteration 1\)$/);
  });
});

describe('what watchers see', () => {
  test('a request start with its attempt and model, and each retry before its wait (L60)', async () => {
    const bench = await benchDeps({ script: [fault({ status: 500 }), reply('Fine.')] });
    const attempt = fakeAttempt(1);
    await thrown(bench.call(attempt));
    await bench.call(fakeAttempt(2, attempt.left));
    expect(bench.lines.filter(({ type }) => type === 'request_start' || type === 'retry')).toMatchObject([
      { type: 'request_start', iteration: 1, attempt: 1, model: 'claude-sonnet-5-5' },
      { type: 'retry', iteration: 1, failures: 1, error: expect.stringContaining('500') },
      { type: 'request_start', iteration: 1, attempt: 2 },
    ]);
  });
});
