// What tools may give back, however odd: an outcome the model can read, JSON that can be stored,
// nothing that hangs or crashes.
import { expect, test } from 'vitest';
import { readOutcome } from '../../activities/calls/journal.ts';
import { type ToolOutput, ToolFailure, FatalToolFailure } from '../../tools/tool.ts';
import { pngOf } from '../support/images.ts';
import { executeCall, bench, callRun, done, request, simpleTool } from './support.ts';

async function outcomeOf(output: unknown) {
  const shared = bench([simpleTool({ call: async () => output as ToolOutput })]);
  const { outcome, facts } = done(await executeCall(shared, request('simple'), callRun()));
  // What is recorded is what was returned, as JSON.
  expect(await readOutcome(shared.store, { session: shared.session, key: callRun().key })).toEqual({ outcome, facts });
  return { ...outcome, facts };
}

const deep = '['.repeat(10_000) + ']'.repeat(10_000);

test.each([
  ['NUL', 'a\0b', 'a\0b'],
  ['ANSI', '\u001b[31mred\u001b[0m', '\u001b[31mred\u001b[0m'],
  ['U+2028', 'a\u2028b', 'a\u2028b'],
  ['lone surrogates', '\udc00a\ud800', '\ufffda\ufffd'],
  ['JSON 10,000 deep', deep, deep],
  ['__proto__', '{"__proto__":{"isError":true}}', '{"__proto__":{"isError":true}}'],
])('an output with %s is an outcome', async (_, content, expected) => {
  expect(await outcomeOf({ content })).toMatchObject({ content: expected, isError: false });
});

test.each([
  ['null', null],
  ['a text', 'text'],
  ['a number as content', { content: 7 }],
  ['a list as content', { content: [{ type: 'text', text: 'x' }] }],
  ['its content in the prototype', Object.create({ content: 5 })],
])('an output that is %s is a failure of the tool', async (_, output) => {
  expect(await outcomeOf(output)).toMatchObject({
    content: 'simple failed: it returned no text (a defect of the tool).',
    isError: true,
  });
});

test('an output changes no prototype and carries nothing it should not', async () => {
  const outcome = await outcomeOf(JSON.parse('{"content":"x","__proto__":{"polluted":1},"facts":{"fatal":1}}'));
  expect(outcome).toMatchObject({ content: 'x', facts: {} });
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
});

test('the text of a fatal failure, and why a run ends, stay within 2,000 characters (L34)', async () => {
  const throws = (error: Error) => simpleTool({ call: () => Promise.reject(error) });
  const fatal = done(
    await executeCall(bench([throws(new FatalToolFailure('k'.repeat(9_000)))]), request('simple'), callRun()),
  );
  expect(fatal.facts.fatal?.detail).toHaveLength(2_000);
  expect(fatal.outcome.content).toHaveLength(2_000);
  expect((await outcomeOf({ content: 'x', stopRun: 's'.repeat(9_000) })).facts.stop).toHaveLength(2_000);
  const denying = simpleTool({ canUse: () => ({ kind: 'deny', why: 'w'.repeat(9_000), fatal: true }) });
  const denied = done(await executeCall(bench([denying]), request('simple'), callRun()));
  expect(denied.facts.fatal?.detail.length).toBeLessThanOrEqual(2_000);
});

test('an outcome of 100 tokens or more says how many, by estimate (L10)', async () => {
  expect((await outcomeOf({ content: 'x'.repeat(396) })).facts.tokens).toBeUndefined();
  expect((await outcomeOf({ content: 'x'.repeat(397) })).facts).toMatchObject({ tokens: 100 });
  const failing = simpleTool({ call: () => Promise.reject(new ToolFailure('y'.repeat(4_000))) });
  const failed = done(await executeCall(bench([failing]), request('simple'), callRun()));
  expect(failed.facts).toMatchObject({ error: true, tokens: 1_000 });
});

test('images of an output are stored and named; what is none is said to be none, and an error shows none (L85)', async () => {
  const media = [pngOf(3, 4), Buffer.from('no image'), 'text', pngOf(9_000, 1)] as const;
  const shown = await outcomeOf({ content: 'seen', media });
  expect(shown.media).toMatchObject([{ mediaType: 'image/png', bytes: pngOf(3, 4).length, characters: 6_400 }]);
  expect(shown.facts.tokens).toBeGreaterThan(1_600);
  expect(shown.content.split('\n')).toEqual([
    'seen',
    expect.stringContaining('[image/png, 3 × 4 pixels,'),
    expect.stringContaining('neither an image that the model takes'),
    expect.stringContaining('neither an image that the model takes'),
    expect.stringContaining('9000 × 1 pixels'),
  ]);
  const failed = await outcomeOf({ content: 'no', media: [pngOf(3, 4)], isError: true });
  expect(failed).toMatchObject({ content: expect.stringContaining('(not shown: the call failed)') as string });
  expect(failed).not.toHaveProperty('media');
});

test.each([[7], ['mcp__shop__refund'], [{ length: 1 }]])(
  'a list of what was found, or seen, that is %j is none, and of a list only the names count (L43 L74)',
  async (odd) => {
    const { found, seen } = await outcomeOf({ content: 'x', found: odd, seen: odd });
    expect([found, seen]).toEqual([undefined, undefined]);
    expect(await outcomeOf({ content: 'x', found: [odd, 'mcp__a__b', null] })).toMatchObject({
      found: typeof odd === 'string' ? [odd, 'mcp__a__b'] : ['mcp__a__b'],
    });
  },
);
