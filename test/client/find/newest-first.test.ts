// The order of lists: by the session's own start, read from two streams with other orders.
import { expect, test } from 'vitest';
import { newestFirst, type Placed, type OrderPlace } from '../../../client/sessions/find/stream-sessions.ts';
import { random } from '../../support/random.ts';

type Row = Placed<string>;

async function* inPages(rows: readonly Row[], size: number): AsyncGenerator<readonly Row[], void> {
  const ordered = rows.toSorted((one, other) => other.bound - one.bound);
  for (let at = 0; at < ordered.length; at += size) yield ordered.slice(at, at + size);
}

async function pageAfter(
  open: readonly Row[],
  closed: readonly Row[],
  size: number,
  from?: OrderPlace,
): Promise<Row[]> {
  const found: Row[] = [];
  for await (const { items } of newestFirst([inPages(open, 3), inPages(closed, 3)], from)) {
    found.push(...items);
    if (found.length >= size) break;
  }
  return found.slice(0, size);
}

test('sessions come by their own start however often they handed over or when they closed, in pages without loss (O3)', async () => {
  const { nat: whole } = random(7);
  for (let round = 0; round < 50; round += 1) {
    const rows = Array.from({ length: whole(40) }, (_, n): Row => {
      const key = whole(30);
      return { id: `s-${n}`, key, bound: key + whole(30), item: `s-${n}` };
    });
    const open = rows.filter((_, n) => n % 2 === 0);
    const closed = rows.filter((_, n) => n % 2 === 1);
    const expected = rows.toSorted((one, other) => other.key - one.key || (one.id < other.id ? -1 : 1));
    const seen: Row[] = [];
    for (let from: OrderPlace | undefined; ;) {
      const page = await pageAfter(open, closed, 4, from);
      seen.push(...page);
      const last = page.at(-1);
      if (!last) break;
      from = { at: last.key, id: last.id };
    }
    expect(seen.map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
  }
});

test('a list that is in order already is read only as far as it is shown (O3)', async () => {
  let pages = 0;
  async function* young(): AsyncGenerator<readonly Row[], void> {
    for (let at = 1_000; at > 0; at -= 1) {
      pages += 1;
      yield [{ id: `s-${at}`, key: at, bound: at, item: '' }];
    }
  }
  expect(await pageAfterOf([young()], 2)).toEqual(['s-1000', 's-999']);
  expect(pages).toBeLessThan(5);
});

async function pageAfterOf(streams: readonly AsyncGenerator<readonly Row[], void>[], size: number): Promise<string[]> {
  const found: string[] = [];
  for await (const { items } of newestFirst(streams)) {
    found.push(...items.map(({ id }) => id));
    if (found.length >= size) break;
  }
  return found;
}
