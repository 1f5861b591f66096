// A worker reads an unknown transcript back to a boundary, with the same result as a whole read.
import { known } from '../../support/known.ts';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Entry, PAGE } from '../../../store/log/entries.ts';
import { readChain } from '../../../store/log/read-chain.ts';
import { encodeSegment } from '../../../store/log/segments.ts';
import { type Store } from '../../../store/values/store.ts';
import type { Hash } from '../../../workflows/contract/ids.ts';
import { inView } from '../../../store/view/in-view.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { nextSegment } from '../../../store/view/append.ts';
import { createTranscripts } from '../../../store/transcript/transcripts.ts';
import { createViewCache, emptyView, loadView, loadWorkingView, type View } from '../../../store/view/view.ts';
import { type Step, counted, plainEntries, steps, transcriptOf, withCost } from '../../support/any-transcript.ts';
import { appendSegment, boundary, reply, session, stored, textBlock, user } from '../../support/transcript.ts';

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

test('a cold view reads as much of 5,000 turns as of 500 when a boundary lies at the same distance (L5 L10)', async () => {
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

/** How often the store was waited for: reads that run together count once. */
function inWaves(store: Store): { store: Store; waves(): number; reads(): number } {
  let [open, waves, reads] = [0, 0, 0];
  const get: Store['get'] = async (hash) => {
    if (open === 0) waves += 1;
    [open, reads] = [open + 1, reads + 1];
    await new Promise(setImmediate);
    open -= 1;
    return store.get(hash);
  };
  return { store: { ...store, get }, waves: () => waves, reads: () => reads };
}

/** Each segment as a release before 0.2 wrote it. */
async function withoutNear(store: Store, view: View): Promise<Hash> {
  let parent: Hash | null = null;
  const written: Hash[] = [];
  for (const [n, { segment }] of (await readChain(store, session, view.head as Hash)).entries()) {
    const { near: _, ...old } = segment;
    const page = segment.page ? { page: written.slice(n - PAGE, n) } : {};
    written.push(await store.put(encodeSegment({ ...old, parent, ...page })));
    parent = written.at(-1) ?? null;
  }
  return parent as Hash;
}

test.each([250, 255, 256, 257, 264, 311])(
  'a cold view of %i segments waits for the store a few times, not once a segment (W2)',
  async (count) => {
    const store = memoryStore();
    const view = await stored(store, ...turns(count));
    const cold = inWaves(store);
    expect((await loadView(cold.store, session, view.head)).entries).toEqual(view.entries);
    expect(cold.reads()).toBe(count);
    // One by one to the nearest eighth, those since the last page together, a page at a time.
    expect(cold.waves()).toBeLessThanOrEqual(8 + 1 + Math.ceil(count / PAGE));
    const old = await withoutNear(store, view);
    expect((await loadView(store, session, old)).entries).toEqual(view.entries);
  },
);

test('of segments that one lists together, those alone are read that come after a view which is known (W2)', async () => {
  const store = memoryStore();
  const cache = createViewCache();
  const [before, after] = [turns(110), turns(11)];
  let view = await stored(store, ...before);
  cache.keep(view);
  for (const entries of after) view = await appendSegment(store, view, entries);
  const { store: seen, reads } = inWaves(store);
  expect((await loadView(seen, session, view.head, cache)).entries).toEqual(view.entries);
  expect(reads()).toBe(after.length);
});

test('a segment that lists others than those before it is refused, and one that lists too few (F7)', async () => {
  const store = memoryStore();
  const view = await stored(store, ...turns(9));
  const chain = await readChain(store, session, view.head as Hash);
  const [last] = chain.slice(-1);
  const near = last?.segment.near ?? [];
  if (!last) throw new Error('there is a last one');
  expect(near).toEqual(chain.slice(0, 8).map(({ hash }) => hash));
  const swapped = await store.put(encodeSegment({ ...last.segment, near: near.toReversed() }));
  await expect(loadView(store, session, swapped)).rejects.toMatchObject({ problem: 'corrupt' });
  const short = await store.put(encodeSegment({ ...last.segment, near: near.slice(1) }));
  await expect(loadView(store, session, short)).rejects.toThrow(/its list of hashes near it is not whole/);
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

test('a cold view is as good as a whole one for all that a worker makes of it, and so is what it writes', async () => {
  let partial = 0;
  const at = (part: number): Step => ({ mark: { kind: 'boundary', at: part, to: 0, count: 3 } });
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(steps(90, 200), fc.constantFrom(0.6, 1), steps(0, 70), steps(0, 70)),
      fc.array(fc.nat(5), { minLength: 20, maxLength: 40 }),
      fc.array(plainEntries, { maxLength: 4 }),
      async ([before, end, between, after], sizes, added) => {
        const bounds = [...before, at(end), withCost, ...between, at(0.6), withCost];
        const { store, whole } = await writtenByMany(transcriptOf([...bounds, ...after, withCost]), sizes);
        const cold = await loadWorkingView(store, session, whole.head);
        if (cold.begin > 0) partial += 1;
        const facts = ({ length, recent, segments }: View): unknown => ({ length, recent, segments });
        expect(facts(cold)).toEqual(facts(whole));
        expect(await known(cold, added)).toEqual(await known(whole, added));
      },
    ),
    { numRuns: 40 },
  );
  // It compares two different things.
  expect(partial).toBeGreaterThan(0);
});

/**
 * In segments of `sizes`; a size of 0 stands for a worker that begins cold, and for one entry. All
 * write what one that knows the whole does.
 */
async function writtenByMany(
  entries: readonly Entry[],
  sizes: readonly number[],
): Promise<{ store: Store; whole: View }> {
  const store = memoryStore();
  let [whole, cache] = [emptyView(session), createViewCache()];
  for (let turn = 0; whole.length < entries.length; turn += 1) {
    // A page's worth of the first ones is small, so that there is something that a cold worker need
    // not read.
    const size = turn <= PAGE ? 1 : (sizes[turn % sizes.length] as number);
    if (size === 0) cache = createViewCache();
    const part = entries.slice(whole.length, whole.length + Math.max(1, size));
    const next = nextSegment(await loadWorkingView(store, session, whole.head, cache), part);
    expect(next.hash).toBe(nextSegment(whole, part).hash);
    await store.put(next.bytes);
    cache.keep(next.view);
    whole = nextSegment(whole, part).view;
  }
  return { store, whole };
}

test.each([10, 20, 40, 80])(
  'a cold view begins with a boundary also where there is one every %i turns',
  async (every) => {
    const TURNS = 600;
    const entries: Entry[] = [user('go')];
    for (let turn = 1; turn <= TURNS; turn += 1) {
      entries.push(withCost);
      if (turn % every === 0) entries.push(boundary('so far', entries.length - 3, [0]));
    }
    const store = memoryStore();
    const { head, length } = await stored(store, ...[...entries, withCost].map((entry) => [entry]));
    const cold = await loadWorkingView(store, session, head);
    expect(cold.begin).toBeGreaterThan(length - 3 * (every + 3));
  },
);
