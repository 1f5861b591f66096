// Views: what was appended is there, whatever the cache holds; the price of an append is what is
// new.
import { performance } from 'node:perf_hooks';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Entry } from '../../../store/log/entries.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { nextSegment } from '../../../store/view/append.ts';
import type { Store } from '../../../store/values/store.ts';
import { createViewCache, emptyView, loadView, type View } from '../../../store/view/view.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { appendSegment, reply, session, stored, textBlock, user } from '../../support/transcript.ts';

const numbered = (count: number): Entry[][] => Array.from({ length: count }, (_, n) => [user(`message ${n}`)]);

function counting(store: Store): { store: Store; reads(): number } {
  let reads = 0;
  return { reads: () => reads, store: { ...store, get: (hash) => (reads++, store.get(hash)) } };
}

test.each([1, 2, 63, 64, 65, 128, 129, 200])(
  'a transcript of %d segments reads back whole and in order',
  async (count) => {
    const store = memoryStore();
    const written = await stored(store, ...numbered(count));
    const read = await loadView(store, session, written.head);
    expect(read.entries).toEqual(numbered(count).flat());
    expect({ ...read, entries: null }).toMatchObject({ segments: count, length: count, recent: written.recent });
    expect(nextSegment(read, [user('next')]).hash).toBe(nextSegment(written, [user('next')]).hash);
  },
);

test('the same entries after the same head make the same head, others another', async () => {
  const [one, two] = [memoryStore(), memoryStore()];
  const segments = [[user('a')], [reply([textBlock('b')]), user('c')]];
  expect((await stored(one, ...segments)).head).toBe((await stored(two, ...segments)).head);
  expect((await stored(one, [user('a'), reply([textBlock('b')]), user('c')])).head).not.toBe(
    (await stored(two, ...segments)).head,
  );
});

test('a reply reads back equal as JSON, with its fields in the order they came in', async () => {
  const store = memoryStore();
  const input = JSON.parse('{"z":1,"a":{"__proto__":{"b":"\\ud800"},"2":0},"":"\\u2028"}') as object;
  const entry = reply([{ type: 'tool_use', id: 't', name: 'n', input, caller: { type: 'direct' } }]);
  const { head } = await stored(store, [user('hi')], [entry]);
  expect(JSON.stringify((await loadView(store, session, head)).entries[1])).toBe(JSON.stringify(entry));
});

test('an older view stays as it was, whatever is appended to it and after it', () => {
  const grow = fc.array(fc.tuple(fc.nat(), fc.nat(4)), { maxLength: 40 });
  fc.assert(
    fc.property(grow, (appends) => {
      const known: { view: View; entries: readonly Entry[] }[] = [{ view: emptyView(session), entries: [] }];
      for (const [pick, count] of appends) {
        const from = known[pick % known.length] as (typeof known)[number];
        const added = Array.from({ length: count + 1 }, (_, n) => user(`${known.length}.${n}`));
        known.push({ view: nextSegment(from.view, added).view, entries: [...from.entries, ...added] });
      }
      for (const { view, entries } of known) expect(view.entries).toEqual(entries);
    }),
  );
});

test('a cached head costs no read, and a head after a cached one only what is new', async () => {
  const { store, reads } = counting(memoryStore());
  const cache = createViewCache();
  const old = await stored(store, ...numbered(150));
  await loadView(store, session, old.head, cache);
  expect(reads()).toBe(150);
  await loadView(store, session, old.head, cache);
  expect(reads()).toBe(150);
  let newer = old;
  for (const text of ['x', 'y', 'z']) newer = await appendSegment(store, newer, [user(text)]);
  const read = await loadView(store, session, newer.head, cache);
  expect(reads()).toBe(153);
  expect(read.entries).toEqual([...old.entries, user('x'), user('y'), user('z')]);
});

test('the cache forgets the session used longest ago when it is full, never the one in use', async () => {
  const cache = createViewCache({ maxBytes: 1 });
  const view = (name: string): View => nextSegment(emptyView(name as SessionId), [user('hello')]).view;
  const [one, two] = [view('s-1'), view('s-2')];
  cache.keep(one);
  expect(cache.find(one.session, one.head ?? ('' as never))).toBe(one);
  cache.keep(two);
  expect(cache.find(two.session, two.head ?? ('' as never))).toBe(two);
  expect(cache.find(one.session, one.head ?? ('' as never))).toBeUndefined();
});

/**
 * The least of some times of `run`, in milliseconds: a busy machine makes a time longer and never
 * shorter.
 */
function leastTime(times: number, run: () => void): number {
  const taken = Array.from({ length: times }, () => {
    const before = performance.now();
    run();
    return performance.now() - before;
  });
  return Math.min(...taken);
}

test('an append at the 5,000th turn costs what it costs at the 10th', () => {
  const turn = [reply([textBlock('x'.repeat(500))]), user('go on'), user('and on')];
  let view = emptyView(session);
  const append = (): void => void (view = nextSegment(view, turn).view);
  leastTime(10, append);
  const early = leastTime(300, append);
  while (view.length < 15_000) append();
  const late = leastTime(300, append);
  expect(late).toBeLessThan(early * 3 + 0.05);
});
