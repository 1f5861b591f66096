// A compaction that the API makes while the run goes on (L9): what the model sees when it is taken,
// and when it is not.
import { expect, test } from 'vitest';
import { prepareCompaction } from '../../../activities/compaction/prepare-compaction.ts';
import { fault, type ParsedRequest } from '../../../scripted-model/index.ts';
import type { PreparedCompaction } from '../../../workflows/contract/activities.ts';
import { fakeAttempt, prompt } from '../../support/bench-deps.ts';
import { lookingBench } from '../../support/looking-bench.ts';

/** Tokens: the turns of the bench are more than a fifth of it. */
const WINDOW = 1_000;

async function preparing(turns = 9) {
  const h = await lookingBench(turns);
  const head = h.head();
  const input = { head, config: h.opened.config, step: 500, iteration: 500, window: WINDOW };
  const prepare = (attempt = fakeAttempt()): Promise<PreparedCompaction> => prepareCompaction(h.deps())(attempt, input);
  const take = (made: PreparedCompaction) => {
    if (made.kind !== 'prepared') throw new Error(JSON.stringify(made));
    return { kind: 'prepared_boundary', boundary: made.boundary } as const;
  };
  return { ...h, head: h.head, prepare, take };
}

const plain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (key, part: unknown) => (key === 'cache_control' ? undefined : part)));

type Sent = { readonly role: string; readonly content: readonly { readonly type: string; readonly text?: string }[] };

test('what came while it was made stands behind it, with its thinking (L9 L10 L59)', async () => {
  const h = await preparing();
  const made = await h.prepare();
  await h.call();
  await h.call();
  expect(await h.call([h.take(made)])).not.toHaveProperty('leftOut');
  const [block, ...kept] = h.last().messages as readonly Sent[];
  expect(block).toMatchObject({ role: 'assistant', content: [{ type: 'compaction', content: 'They looked.' }] });
  const thoughts = kept.flatMap(({ content }) => content.filter(({ type }) => type === 'thinking'));
  expect(thoughts.length).toBeGreaterThanOrEqual(3);
  expect(JSON.stringify(kept.at(-1))).toContain('Look.');
  expect(await h.summaries()).toEqual(['signed']);
  expect(await h.epochs()).toEqual(['first']);
  expect(await h.dropped()).toEqual([]);
  expect(h.model.problems).toEqual([]);
});

test('it is asked with what the model was sent for an earlier reply, and read from the cache (L22)', async () => {
  const h = await preparing();
  await h.prepare();
  const asked = h.last();
  const before = (h.bodies() as readonly ParsedRequest[]).find(
    ({ messages }) => messages.length === asked.messages.length,
  );
  for (const part of ['system', 'tools', 'messages', 'model'] as const)
    expect(plain(asked[part])).toEqual(plain(before?.[part]));
});

test('a worker that reads no further back than it sends the same (L5)', async () => {
  const h = await preparing();
  const made = await h.prepare();
  await h.call();
  await h.call([h.take(made)]);
  await h.call();
  const sent = h.last();
  h.restart();
  await h.call();
  expect(plain(h.last().messages.slice(0, sent.messages.length))).toEqual(plain(sent.messages));
  expect(h.model.problems).toEqual([]);
});

test.each([['a snip', { kind: 'snip', entries: [2] }]] as const)(
  '%s of what it sums up leaves it out (L7)',
  async (_what, append) => {
    const h = await preparing();
    const made = await h.prepare();
    expect(await h.call([append, h.take(made)])).toMatchObject({ kind: 'message', leftOut: true });
    expect(await h.summaries()).toEqual([]);
    expect(JSON.stringify(h.last().messages)).not.toContain('They looked.');
  },
);

test('another boundary leaves it out (L10)', async () => {
  const h = await preparing();
  const made = await h.prepare();
  expect(await h.sumUp()).toMatchObject({ kind: 'compacted' });
  await h.call([h.take(made), prompt('And now?')]);
  expect(await h.summaries()).toEqual(['signed']);
  expect(h.model.problems).toEqual([]);
});

test('a compaction that leaves it out says so, and so does its second attempt (L10 L16)', async () => {
  const h = await preparing();
  const made = await h.prepare();
  const append = [{ kind: 'snip', entries: [2] } as const, h.take(made)];
  expect(await h.sumUp({ append, step: 600 })).toMatchObject({ kind: 'compacted', leftOut: true });
  expect(await h.sumUp({ append: [], step: 601 })).not.toHaveProperty('leftOut');
});

test('an attempt that was made already is found, and paid for once (L16)', async () => {
  const h = await preparing();
  const made = await h.prepare();
  const asked = h.model.requests.length;
  expect(await h.prepare(fakeAttempt(2))).toEqual(made);
  expect(h.model.requests).toHaveLength(asked);
});

test('a server that is too busy, or knows of no summaries, costs nothing but the try', async () => {
  const h = await preparing();
  h.next.push(fault({ status: 529 }));
  expect(await h.prepare()).toMatchObject({ kind: 'failed' });
  await h.call();
  expect(await h.summaries()).toEqual([]);
  expect(h.model.problems).toEqual([]);
});

test('a short conversation has nothing to sum up', async () => {
  const h = await preparing(1);
  expect(await h.prepare()).toMatchObject({ kind: 'failed', detail: 'there was nothing to sum up' });
});
