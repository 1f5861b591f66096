// Replies that arrive whole and say odd things: they are stored as they came, and what is made of them can be sent again.
import { describe, expect, it } from 'vitest';
import { reply, text, toolUse, type ReplyUsage } from '../../worker/scripted-model/index.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import { benchDeps, fakeAttempt, prompt } from '../support/bench-deps.ts';

describe('a reply', () => {
  it.each([
    ['one id for several calls', [toolUse('look', { n: 1 }, 'same'), toolUse('look', { n: 2 }, 'same')], [0]],
    ['an empty id', [toolUse('look', { n: 1 }, ''), text('and')], [0]],
    ['an id that the API would not take back', [toolUse('look', {}, 'call:1/x'), toolUse('look', {}, 'b')], [0, 1]],
    ['a call of a tool that is not there', [toolUse('no such tool!', {}, 'a')], [0]],
  ])('L15 L39 L58 with %s is stored, and the next request is one that the API takes', async (_name, blocks, run) => {
    const { call, model, entries } = await benchDeps({ script: [reply(blocks), reply('Done.')] });
    const result = await call();
    expect(result.kind === 'message' && result.calls.map(({ index }) => index)).toEqual(run);
    const { head } = result as { head: Hash };
    const stored = (await entries(head)).find((entry) => entry.kind === 'reply');
    expect(stored?.kind === 'reply' && stored.message.content.length).toBe(blocks.length);
    const outcomes = run.map((index) => ({ index, note: 'not run' }));
    await call(fakeAttempt(), { head, append: [{ kind: 'outcomes', items: outcomes }, prompt('On.')], step: 3 });
    expect(model.problems).toEqual([]);
  });

  it.each<[string, ReplyUsage | null]>([
    ['no usage', null],
    ['more tokens than numbers can be added', { input_tokens: 1e308, output_tokens: 1e308 }],
    ['fewer tokens than none', { input_tokens: -5, output_tokens: -1e308 }],
    ['tokens in words', { input_tokens: 'many' } as unknown as ReplyUsage],
  ])('L51 with %s counts what can be counted', async (_name, usage) => {
    const { call } = await benchDeps({ script: [reply('Hi.', { usage })] });
    const result = await call();
    if (result.kind !== 'message') throw new Error(result.kind);
    const numbers = [...Object.values(result.spend.usage), result.spend.usd, result.contextTokens];
    expect(numbers.every((each) => each !== null && each >= 0 && each < 1e9)).toBe(true);
  });
});
