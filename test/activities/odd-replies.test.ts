// Replies that arrive whole and say odd things: they are stored as they came, and what is made of
// them can be sent again.
import { describe, expect, test } from 'vitest';
import { reply, text, toolUse, type ReplyUsage } from '../../scripted-model/index.ts';
import type { ReplyBlock } from '../../scripted-model/script.ts';
import type { Append } from '../../workflows/contract/activities.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import { benchDeps, fakeAttempt, prompt } from '../support/bench-deps.ts';

/** A block as it is, whatever it is. */
const raw = (block: Readonly<Record<string, unknown>>): ReplyBlock => ({ type: 'raw', block });
const oneCall = { type: 'tool_use', id: 'a', name: 'look', input: { n: 1 } };

describe('a reply', () => {
  test.each<[string, ReplyBlock[], number[]]>([
    ['one id for several calls', [toolUse('look', { n: 1 }, 'same'), toolUse('look', { n: 2 }, 'same')], [0]],
    ['an empty id', [toolUse('look', { n: 1 }, ''), text('and')], [0]],
    ['an id that the API would not take back', [toolUse('look', {}, 'call:1/x'), toolUse('look', {}, 'b')], [0, 1]],
    ['a call of a tool that is not there', [toolUse('no such tool!', {}, 'a')], [0]],
    ['a block of a kind that nobody knows', [raw({ type: 'novelty', value: 1 }), text('Hi.')], []],
    ['nothing but such a block', [raw({ type: 'novelty', value: 1 })], []],
    ['such a block beside a call', [raw({ type: 'novelty' }), toolUse('look', {}, 'a')], [1]],
    ['thinking that nobody signed', [raw({ type: 'thinking', thinking: 'Hm.' }), text('Hi.')], []],
    ['thinking with an empty signature', [raw({ type: 'thinking', thinking: 'Hm.', signature: '' }), text('Hi.')], []],
    ['redacted thinking without data', [raw({ type: 'redacted_thinking' }), toolUse('look', {}, 'a')], [1]],
    ['a tool_result', [raw({ type: 'tool_result', tool_use_id: 'zz', content: 'x' }), text('Hi.')], []],
    [
      'an image',
      [raw({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: '' } }), text('Hi.')],
      [],
    ],
    ['a text with a field more', [raw({ type: 'text', text: 'Hi.', novelty: 1 })], []],
    ['a call with a field more', [raw({ ...oneCall, novelty: 1 })], [0]],
    ['a call without input', [raw({ type: 'tool_use', id: 'a', name: 'look' })], [0]],
  ])(
    'with %s is stored, and the next requests are ones that the API takes (L15 L39 L58)',
    async (_name, blocks, run) => {
      const done = { ...reply('Done.'), times: 'any' } as const;
      const { call, model, entries } = await benchDeps({ script: [reply(blocks), done] });
      const result = await call();
      expect(result.kind === 'message' && result.calls.map(({ index }) => index)).toEqual(run);
      const { head } = result as { head: Hash };
      const stored = (await entries(head)).find((entry) => entry.kind === 'reply');
      expect(stored?.kind === 'reply' && stored.message.content.length).toBe(blocks.length);
      const items = run.map((index) => ({ index, note: 'not run' }));
      const outcomes: Append[] = items.length > 0 ? [{ kind: 'outcomes', items }] : [];
      const second = await call(fakeAttempt(), { head, append: [...outcomes, prompt('On.')], step: 3 });
      expect(second.kind).toBe('message');
      const third = await call(fakeAttempt(), {
        head: (second as { head: Hash }).head,
        append: [prompt('And?')],
        step: 4,
      });
      expect(third.kind).toBe('message');
      expect(model.problems).toEqual([]);
    },
  );

  test.each<[string, ReplyUsage | null]>([
    ['no usage', null],
    ['more tokens than numbers can be added', { input_tokens: 1e308, output_tokens: 1e308 }],
    ['fewer tokens than none', { input_tokens: -5, output_tokens: -1e308 }],
    ['tokens in words', { input_tokens: 'many' } as unknown as ReplyUsage],
  ])('with %s counts what can be counted (L51)', async (_name, usage) => {
    const { call } = await benchDeps({ script: [reply('Hi.', { usage })] });
    const result = await call();
    if (result.kind !== 'message') throw new Error(result.kind);
    const numbers = [...Object.values(result.spend.usage), result.spend.usd, result.contextTokens];
    expect(numbers.every((each) => each !== null && each >= 0 && each < 1e9)).toBe(true);
  });
});
