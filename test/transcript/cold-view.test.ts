// What a worker reads of a transcript that it does not know: back to a boundary, and with the same result as a whole read.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { seenFiles } from '../../activities/transcript/view/seen-files.ts';
import { chooseKept, scaleOf } from '../../activities/compaction/choose-kept.ts';
import { oldStretches } from '../../activities/compaction/collapse.ts';
import type { RunConfig, RunModel } from '../../activities/configuration.ts';
import { behindOf } from '../../activities/transcript/view/behind.ts';
import type { Behind, Entry, Segment } from '../../activities/transcript/log/entries.ts';
import { finalText } from '../../activities/transcript/view/result.ts';
import { hashOf, type Store } from '../../activities/transcript/store/store.ts';
import { inView } from '../../activities/transcript/view/in-view.ts';
import { memoryStore } from '../../activities/transcript/store/memory-store.ts';
import { microcompact } from '../../activities/transcript/view/microcompact.ts';
import { project } from '../../activities/transcript/view/project.ts';
import { nextSegment } from '../../activities/transcript/view/next-segment.ts';
import { partialView } from '../../activities/transcript/view/shared-view.ts';
import { createTranscripts } from '../../activities/transcript/transcripts.ts';
import {
  createViewCache,
  emptyView,
  lastReply,
  loadView,
  loadWorkingView,
  type View,
} from '../../activities/transcript/view/view.ts';
import {
  type Step,
  type AnyMark,
  counted,
  nextBoundary,
  plainEntries,
  share,
  steps,
  transcriptOf,
  withCost,
} from '../support/any-transcript.ts';
import {
  appendSegment,
  boundary,
  reply,
  session,
  snip,
  stored,
  textBlock,
  transition,
  user,
} from '../support/transcript.ts';

function counting(store: Store): { store: Store; reads(): number } {
  let reads = 0;
  return { reads: () => reads, store: { ...store, get: (hash) => (reads++, store.get(hash)) } };
}

const said = (n: number): Entry[] => [reply([textBlock(`reply ${n}`)], { spend: counted })];
const turns = (count: number): Entry[][] => Array.from({ length: count }, (_, n) => said(n));

/** `before` turns, a boundary, and 100 more. */
async function bounded(before: number): Promise<{ store: Store; view: View; reads(): number }> {
  const { store, reads } = counting(memoryStore());
  const from = before - 10;
  const view = await stored(store, [user('go')], ...turns(before), [boundary('so far', from, [0])], ...turns(100));
  return { store, view, reads };
}

test('a cold view reads as much of 5,000 turns as of 500 when a boundary lies at the same distance (L5, L10)', async () => {
  const read = await Promise.all(
    [500, 5_000].map(async (before) => {
      const { store, view, reads } = await bounded(before - (before % 64));
      await loadWorkingView(store, session, view.head);
      return reads();
    }),
  );
  expect(read[1]).toBe(read[0]);
  expect(read[1]).toBeLessThan(300);
});

test('a cold view of a transcript whose boundaries keep nothing reads all of it, and shows the same', async () => {
  const { store, reads } = counting(memoryStore());
  const old: Store = { ...store, put: (bytes) => store.put(bytes) };
  let view = emptyView(session);
  for (const entries of [[user('go')], ...turns(150), [boundary('so far', 140, [0])], ...turns(150)]) {
    const { behind: _, ...segment } = JSON.parse(Buffer.from(nextSegment(view, entries).bytes).toString()) as Record<
      string,
      unknown
    >;
    const bytes = Buffer.from(JSON.stringify(segment));
    view = view.grow({ hash: await old.put(bytes), bytes: bytes.length, entries });
  }
  const read = await loadWorkingView(store, session, view.head);
  expect(reads()).toBe(302);
  expect(read.begin).toBe(0);
  expect(read.entries).toEqual(view.entries);
});

test('a whole view of a long session is still to be had from what a worker works with (L56)', async () => {
  const { store, view } = await bounded(640);
  const transcripts = createTranscripts(store, async () => null);
  expect((await transcripts.view(session, view.head)).begin).toBeGreaterThan(0);
  expect((await transcripts.whole(session, view.head)).entries).toEqual(view.entries);
});

test('a boundary that reaches further back than what was read is read with all that comes before it', async () => {
  const { store, view } = await bounded(640);
  const cache = createViewCache();
  await loadWorkingView(store, session, view.head, cache);
  for (const odd of [boundary('again', 5), boundary('again', view.length, [0, 3]), boundary('again', NaN)]) {
    const next = await appendSegment(store, view, [user('x'), odd, ...said(1)]);
    const read = await loadWorkingView(store, session, next.head, cache);
    expect(inView(read.entries).shown).toEqual(inView(next.entries).shown);
  }
});

const model = { name: 'claude-test', window: 20_000 } as RunModel;
const config = { rules: { fixedTokens: 5 } } as RunConfig;

/** All that a worker makes of a view and of what comes after it. */
async function known(view: View, added: readonly Entry[]): Promise<unknown> {
  const entries = [...view.entries, ...added];
  const { shown, marks: seen } = inView(entries);
  const bodies = new Map();
  const scale = await scaleOf({ bodies: async () => bodies }, entries, model, config);
  const { boundary: last, shrunkBefore, committed, staged } = seen;
  return {
    shown,
    marks: { last, shrunkBefore, committed, staged },
    sent: project(entries, bodies),
    kept: [20_000, 2_000, 200].flatMap((characters) =>
      (['auto', 'reactive'] as const).map((trigger) => chooseKept(entries, bodies, { characters, trigger })),
    ),
    stretches: [20_000, 2_000].map((window) => oldStretches(entries, bodies, window, 4)),
    shrunk: microcompact(entries, 1e12),
    tokens: [scale.charactersPerToken, scale.tokens(entries, bodies)],
    files: [...seenFiles()(view, added).values()],
    final: [finalText(view), finalText(entries)],
    reply: lastReply(view),
    run: entries.findLast(({ kind }) => kind === 'run_started'),
    behind: behindOf([...entries, ...nextBoundary(entries)], view.begin),
  };
}

test('the segment of a boundary keeps all that counts of what comes before it, whatever the transcript (L5–L9, L27, L43, L59)', async () => {
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

/** `rest` begins with the boundary. Read from where its segment says, with what it keeps; and all of it. */
function bothWays(old: readonly Entry[], rest: readonly Entry[]): { readonly partial: View; readonly whole: View } {
  const { bytes } = nextSegment(wholeOf(old), rest.slice(0, 1));
  const written = JSON.parse(Buffer.from(bytes).toString()) as Segment;
  const behind = written.behind as Behind;
  const entries = [...old, ...rest];
  const next = { ...written, n: 1, first: behind.from, parent: hashOf(Buffer.from('parent')) };
  const read = { hash: hashOf(Buffer.from('head')), bytes: 1, entries: entries.slice(behind.from) };
  return { partial: partialView(next, behind).grow(read), whole: wholeOf(entries.slice(0, behind.from)).grow(read) };
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
])('a boundary keeps %s', async (_what, old, rest) => {
  const { partial, whole } = bothWays(old, [...rest, withCost]);
  expect(await known(partial, [])).toEqual(await known(whole, []));
});

/** Of one segment. */
function wholeOf(entries: readonly Entry[]): View {
  return emptyView(session).grow({ hash: hashOf(Buffer.from('parent')), bytes: 1, entries });
}

test('a cold view is as good as a whole one for all that a worker makes of it', async () => {
  let partial = 0;
  const last = { mark: { kind: 'boundary', at: 1, to: 0, count: 3 } } as const;
  await fc.assert(
    fc.asyncProperty(steps(130, 160), steps(70, 120), fc.boolean(), async (before, drawn, isQuiet) => {
      // Another boundary close by makes it read everything.
      const isBoundary = (step: Step): boolean => 'mark' in step && step.mark.kind === 'boundary';
      const after = isQuiet ? drawn.filter((step) => !isBoundary(step)) : drawn;
      const store = memoryStore();
      const entries = transcriptOf([...before, last, withCost, ...after]);
      const { head } = await stored(store, ...entries.map((entry) => [entry]));
      const [cold, whole] = [await loadWorkingView(store, session, head), await loadView(store, session, head)];
      if (cold.begin > 0) partial += 1;
      const facts = ({ length, recent, segments }: View): unknown => ({ length, recent, segments });
      expect(facts(cold)).toEqual(facts(whole));
      expect(await known(cold, [])).toEqual(await known(whole, []));
    }),
    { numRuns: 30 },
  );
  // It compares two different things.
  expect(partial).toBeGreaterThan(0);
});
