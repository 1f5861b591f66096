// The segment of a boundary keeps of earlier entries all that a worker makes of them.
import { known } from '../../support/known.ts';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Behind, Entry, Segment } from '../../../store/log/entries.ts';
import { hashOf } from '../../../store/values/store.ts';
import { nextSegment } from '../../../store/view/append.ts';
import { viewBehind } from '../../../store/view/shared-view.ts';
import { emptyView, type View } from '../../../store/view/view.ts';
import { type AnyMark, plainEntries, share, steps, transcriptOf, withCost } from '../../support/any-transcript.ts';
import { boundary, reply, runEnded, session, snip, textBlock, transition, user } from '../../support/transcript.ts';

test('the segment of a boundary keeps all that counts of what comes before it (L5 L6 L7 L8 L9 L27 L43 L59 L74)', async () => {
  const bound: AnyMark = { kind: 'boundary', at: 0.8, to: 0, count: 3 };
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(steps(0, 30), share, fc.nat(4), steps(0, 10), steps(0, 8)),
      fc.array(plainEntries, { maxLength: 5 }),
      async ([before, at, count, between, after], added) => {
        const old = transcriptOf(before);
        const entries = transcriptOf([...old, { mark: { ...bound, at, count } }, ...between, withCost, ...after]);
        const { partial, whole } = bothWays(old, entries.slice(old.length));
        expect(await known(partial, added)).toEqual(await known(whole, added));
      },
    ),
    { numRuns: 500 },
  );
});

/**
 * `rest` begins with the boundary. Read from where its segment says, with what it keeps; and all of
 * it.
 */
function bothWays(old: readonly Entry[], rest: readonly Entry[]): { readonly partial: View; readonly whole: View } {
  const { bytes } = nextSegment(wholeOf(old), rest.slice(0, 1));
  const written = JSON.parse(Buffer.from(bytes).toString()) as Segment;
  const behind = written.behind as Behind;
  const entries = [...old, ...rest];
  const read = { hash: hashOf(Buffer.from('head')), bytes: 1, entries: entries.slice(behind.from) };
  const segment = {
    ...written,
    n: 1,
    first: behind.from,
    parent: hashOf(Buffer.from('parent')),
    entries: read.entries,
  };
  return {
    partial: viewBehind([{ ...read, segment }], behind),
    whole: wholeOf(entries.slice(0, behind.from)).grow(read),
  };
}

test.each<[string, Entry[], Entry[]]>([
  [
    'a stretch that is staged, and committed first (L9)',
    [
      user('go'),
      reply([textBlock('a')]),
      { kind: 'collapse_staged', from: 1, to: 2, short: 'a' },
      reply([textBlock('b')]),
      reply([textBlock('c')]),
      { kind: 'collapse_staged', from: 3, to: 4, short: 'b' },
      { kind: 'collapse_committed', count: 1 },
    ],
    [boundary('so far', 3, [0])],
  ],
  [
    'a snip of a prompt (L7)',
    [user('go'), snip(0), reply([textBlock('a')]), reply([textBlock('b')])],
    [boundary('so far', 3, [0])],
  ],
  [
    'the first piece of an answer that goes on after it (L27)',
    [user('go'), reply([textBlock('a')], { fate: 'cut' }), transition(1, 'max_output_tokens_recovery')],
    [boundary('so far', 3, [0]), transition(2, 'reactive_compact_retry')],
  ],
  [
    'with whom a prompt was too large for its run, and no prompt of a later one (L6)',
    [
      user('too large'),
      runEnded(1, { reason: 'prompt_too_long', detail: 'x' }),
      reply([textBlock('a')]),
      ...['b', 'c', 'd'].map((text) => user(text)),
      reply([textBlock('e')]),
      reply([textBlock('f')]),
    ],
    [boundary('so far', 8, [0, 3, 4, 5])],
  ],
])('a boundary keeps %s', async (_what, old, rest) => {
  const { partial, whole } = bothWays(old, [...rest, withCost]);
  expect(await known(partial, [])).toEqual(await known(whole, []));
});

/** One segment of a chain. */
function wholeOf(entries: readonly Entry[]): View {
  return emptyView(session).grow({ hash: hashOf(Buffer.from('parent')), bytes: 1, entries });
}
