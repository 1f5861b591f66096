// A summary that the API refuses for a part of the request is asked for again without that part:
// one of ours would cost all thinking.
import { expect, test } from 'vitest';
import { fault, type ParsedRequest, type Reply } from '../../../scripted-model/index.ts';
import type { MessageId } from '../../../workflows/contract/ids.ts';
import { noHooksBut } from '../../support/no-hooks.ts';
import { look } from '../../support/bench-deps.ts';
import { aim, lookingBench } from '../../support/looking-bench.ts';

const TURNS = 10;
const MODEL = 'claude-sonnet-5-5';
const refusal = (message: string): Reply => fault({ status: 400, message });

/** Refuses summaries once, with `message`. */
function once(message: string): (request: ParsedRequest) => Reply | undefined {
  let left = 1;
  return ({ compaction }) => (compaction && left-- > 0 ? refusal(message) : undefined);
}

test('with less room for its answer where the server gives less (L26)', async () => {
  const h = await lookingBench(TURNS, {
    hear: ({ compaction, max_tokens: cap }) =>
      compaction && cap > 8_192
        ? refusal(`max_tokens: ${cap} > 8192, which is the maximum allowed number of output tokens for ${MODEL}`)
        : undefined,
  });
  await h.sumUp();
  expect(await h.summaries()).toEqual(['signed']);
  // What the run has learned is not asked for again.
  for (let n = 0; n < TURNS; n += 1) await h.call();
  await h.sumUp({ maxOutput: 8_192 });
  const asked = h.bodies().flatMap((body) => {
    const { compaction, max_tokens: cap } = body as ParsedRequest;
    return compaction ? [cap] : [];
  });
  expect([await h.summaries(), asked]).toEqual([
    ['signed', 'signed'],
    [32_000, 8_192, 8_192],
  ]);
});

test('without messages of the role system, by a worker that has only begun, where the server takes none (L58)', async () => {
  const hear = ({ messages }: ParsedRequest): Reply | undefined =>
    messages.some(({ role }) => role === 'system')
      ? refusal("messages.3: role 'system' is not supported on this model")
      : undefined;
  const h = await lookingBench(TURNS, { hear, first: [look, aim] });
  h.restart();
  h.setTools([look]);
  await h.sumUp();
  expect(await h.summaries()).toEqual(['signed']);
});

test.each([
  [
    'a beta that is named',
    'Unexpected value(s) `thinking-binding-controls-2026-08-01` for the `anthropic-beta` header.',
  ],
  ['a field that is not known', 'thinking.adaptive.block_binding: Extra inputs are not permitted'],
  ['a beta that is not named', 'invalid beta flag'],
])('without %s, and the server is asked for summaries from then on too (L10)', async (_, message) => {
  const h = await lookingBench(TURNS, { hear: once(message) });
  await h.sumUp();
  expect(await h.summaries()).toEqual(['signed']);
  expect(h.deps().models.isRefused(MODEL, 'compaction')).toBe(false);
});

test('instructions of hooks are cut between two characters, never within one (L58)', async () => {
  for (const pad of ['', 'a']) {
    const h = await lookingBench(TURNS);
    const told = { instructions: [{ hook: 'x', text: pad + '😀'.repeat(9_000) }], failed: [] };
    Object.assign(h.deps(), {
      hooks: noHooksBut({ has: (event: string) => event === 'preCompact', preCompact: () => Promise.resolve(told) }),
    });
    await h.sumUp();
    expect(await h.summaries()).toEqual(['signed']);
  }
});

test('it goes on with its images where the request was too long, and without where these were refused (L24)', async () => {
  const png = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  );
  for (const [because, made] of [
    ['prompt_too_long', 'signed'],
    ['image_error', 'plain'],
  ] as const) {
    const h = await lookingBench(1);
    const hash = await h.deps().store.put(png);
    const media = [{ at: 0, hash, bytes: png.length, mediaType: 'image/png', characters: 10 }] as const;
    await h.call([{ kind: 'user', id: 'm-1' as MessageId, body: { kind: 'text', text: 'Look at this.', media } }]);
    for (let n = 0; n < TURNS; n += 1) await h.call();
    await h.sumUp({ because });
    expect(await h.summaries()).toEqual([made]);
    await h.call();
    expect([await h.dropped(), h.model.problems]).toEqual([[], []]);
  }
});

test('one that the API does not make is said, for it costs what the model has thought (L59)', async () => {
  const h = await lookingBench(TURNS, { hear: once('messages: something else') });
  await h.sumUp();
  expect(await h.summaries()).toEqual(['plain']);
  expect(h.warnings).toEqual([expect.stringMatching(/claude-sonnet-5-5 made no summary: .*something else/)]);
});
