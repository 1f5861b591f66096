import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { eventId, formatMicros, isId, newId } from '../../managed/ids.ts';
import { cursors, type ListRequest, pageOf, pageOfChosen, placeOf, sortByCreation } from '../../managed/pages.ts';

const sealing = cursors(Buffer.alloc(32, 7));
const list: ListRequest = { list: 'things', order: 'asc', filter: { a: 1 } };
const placeOfNumber = (n: number): string => String(n).padStart(6, '0');

/** Follows the pages of one direction to their end. */
function walk(items: readonly number[], request: ListRequest, to: 'next' | 'prev'): readonly (readonly number[])[] {
  const pages: (readonly number[])[] = [];
  for (let page: string | null = request.page ?? null, isFirst = true; isFirst || page !== null; isFirst = false) {
    const found = pageOf(sealing, { ...request, page }, items, placeOfNumber);
    pages.push(found.items);
    page = found[to];
  }
  return pages;
}

describe('pages', () => {
  test('each item is listed once, in order, whatever the size of a page, and no page is empty (G8)', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.nat(99_999), { maxLength: 60 }),
        fc.integer({ min: 1, max: 20 }),
        fc.constantFrom('asc', 'desc'),
        (numbers, limit, order) => {
          const items = numbers.toSorted((a, b) => (order === 'asc' ? a - b : b - a));
          const pages = walk(items, { ...list, order, limit }, 'next');
          expect(pages.flat()).toEqual(items);
          expect(pages.slice(1).every((page) => page.length > 0)).toBe(true);
        },
      ),
    );
  });

  test('resources are sorted as their places are (G8)', () => {
    const resource = fc.tuple(fc.string(), fc.record({ createdAt: fc.nat(20) }));
    fc.assert(
      fc.property(
        fc.uniqueArray(resource, { selector: ([id]) => id }),
        fc.constantFrom('asc', 'desc'),
        (all, order) => {
          const places = all.map(placeOf).toSorted();
          expect(sortByCreation(all, order).map(placeOf)).toEqual(order === 'asc' ? places : places.toReversed());
        },
      ),
    );
  });

  test('the pages before a page lead back to the first (G8)', () => {
    const items = Array.from({ length: 23 }, (_, n) => n);
    const request = { ...list, limit: 5 };
    let page = pageOf(sealing, request, items, placeOfNumber);
    while (page.next !== null) page = pageOf(sealing, { ...request, page: page.next }, items, placeOfNumber);
    expect(page.items).toEqual([20, 21, 22]);
    const back = walk(items, { ...request, page: page.prev! }, 'prev');
    expect(back.toReversed().flat()).toEqual(items.slice(0, 20));
  });

  test('pages of chosen items have each once, in both directions, and look at few others (G8 G28)', async () => {
    const items = Array.from({ length: 1_000 }, (_, n) => n);
    const request = { ...list, limit: 7 };
    let looks = 0;
    const choose = async (some: readonly number[]) => ((looks += some.length), some.filter((n) => n % 3 === 0));
    const read = (page: string | null) => pageOfChosen(sealing, { ...request, page }, items, placeOfNumber, choose);
    const first = await read(null);
    expect([first.items, first.prev, looks]).toEqual([[0, 3, 6, 9, 12, 15, 18], null, 32]);
    const pages = [first];
    for (let { next } = first; next !== null; { next } = pages.at(-1)!) pages.push(await read(next));
    expect(pages.flatMap((page) => page.items)).toEqual(items.filter((n) => n % 3 === 0));
    const back = [pages.at(-1)!];
    for (let { prev } = back[0]!; prev !== null; { prev } = back[0]!) back.unshift(await read(prev));
    expect(back.flatMap((page) => page.items)).toEqual(items.filter((n) => n % 3 === 0));
  });

  test('a page of chosen items looks at 10,000 at most, and goes on behind them (G28)', async () => {
    const items = Array.from({ length: 30_000 }, (_, n) => n);
    let looks = 0;
    const read = (page: string | null, least: number) =>
      pageOfChosen(sealing, { ...list, page }, items, placeOfNumber, async (some) => {
        looks += some.length;
        return some.filter((n) => n === 5 || n >= least);
      });
    const { items: few, next } = await read(null, 12_000);
    expect([few, looks < 10_050]).toEqual([[5], true]);
    expect((await read(next, 12_000)).items[0]).toBe(12_000);
    await expect(read(next, 29_000)).rejects.toThrow(/narrow the list/);
  });

  test('items that come and go between two pages shift no other (G8)', () => {
    const first = pageOf(sealing, { ...list, limit: 2 }, [1, 3, 5, 7], placeOfNumber);
    const next = pageOf(sealing, { ...list, limit: 2, page: first.next! }, [2, 4, 5, 7], placeOfNumber);
    expect([first.items, next.items]).toEqual([
      [1, 3],
      [4, 5],
    ]);
  });

  test('a cursor of another list, order or filter, or a changed one, is refused (G8)', () => {
    const { next } = pageOf(sealing, { ...list, limit: 1 }, [1, 2], placeOfNumber);
    const changed = `${next!.slice(0, -2)}AA`;
    const others: readonly Partial<ListRequest>[] = [
      { list: 'others' },
      { order: 'desc' },
      { filter: { a: 2 } },
      { page: changed },
      { page: 'AAAA' },
      { page: '💥' },
    ];
    for (const other of others)
      expect(() => pageOf(sealing, { ...list, page: next!, ...other }, [1, 2], placeOfNumber)).toThrow(/^page: /);
    const stranger = cursors(Buffer.alloc(32, 8));
    expect(() => pageOf(stranger, { ...list, page: next! }, [1, 2], placeOfNumber)).toThrow(/^page: /);
  });
});

describe('ids', () => {
  test('are a prefix and 26 characters that a file system without case tells apart (G9)', () => {
    const ids = Array.from({ length: 1_000 }, () => newId('sesn'));
    expect(ids.every((id) => isId('sesn', id) && id === id.toLowerCase())).toBe(true);
    expect(new Set(ids).size).toBe(1_000);
  });

  test('of events are equal for equal names alone (G33)', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string(), fc.nat())), fc.array(fc.oneof(fc.string(), fc.nat())), (a, b) => {
        expect(isId('sevt', eventId(...a))).toBe(true);
        expect(eventId(...a) === eventId(...b)).toBe(JSON.stringify(a) === JSON.stringify(b));
      }),
    );
  });

  test('and their times have six digits and sort as texts do (G10)', () => {
    expect(formatMicros(1_770_000_000_123_456)).toBe('2026-02-02T02:40:00.123456Z');
    fc.assert(
      fc.property(fc.nat(10 ** 9), fc.nat(10 ** 9), (a, b) => {
        const [one, other] = [formatMicros(1_770_000_000_000_000 + a), formatMicros(1_770_000_000_000_000 + b)];
        expect(one < other).toBe(a < b);
      }),
    );
  });
});
