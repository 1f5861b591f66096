// Yields sessions by their own start, newest first. Visibility orders by the current execution,
// open ones first, so a session that handed over comes before younger ones there, and a closed one
// after all that are open. No execution begins before its session, so two streams, of open and of
// closed sessions, are read only as far as a younger session could still come.

/** `key` is the session's start; no later item of its stream has a greater `bound`. */
export type Placed<Item> = { readonly id: string; readonly key: number; readonly bound: number; readonly item: Item };

/** Items of one stream, with the bounds falling. */
export type Stream<Item> = AsyncIterableIterator<readonly Placed<Item>[]>;

/** A place in the order: everything at or before it was given out. */
export type OrderPlace = { readonly at: number; readonly id: string };

/** `place` is where the order stands after the items. */
type OrderStep<Item> = { readonly items: readonly Placed<Item>[]; readonly place: OrderPlace };

const FIRST: OrderPlace = { at: Number.POSITIVE_INFINITY, id: '' };

type Reading<Item> = { readonly stream: Stream<Item>; bound: number };

/** Yields a step for each read: the items that nothing can come before, in order after `from`. */
export async function* newestFirst<Item>(
  streams: readonly Stream<Item>[],
  from: OrderPlace = FIRST,
): AsyncGenerator<OrderStep<Item>, void> {
  const known = new Set<string>();
  let waiting: Placed<Item>[] = [];
  const readings = streams.map((stream): Reading<Item> => ({ stream, bound: Number.POSITIVE_INFINITY }));
  const read = async (reading: Reading<Item>): Promise<void> => {
    const { done, value } = await reading.stream.next();
    const items = done ? [] : value;
    reading.bound = done ? Number.NEGATIVE_INFINITY : (items.at(-1)?.bound ?? reading.bound);
    for (const one of items) {
      // A session may close between two reads, and is in both streams then.
      if (known.has(one.id) || !isAfter(one, from)) continue;
      known.add(one.id);
      waiting.push(one);
    }
  };
  await Promise.all(readings.map(read));
  for (;;) {
    const limit = Math.max(...readings.map(({ bound }) => bound));
    const ready = waiting.filter(({ key }) => key > limit).toSorted(inOrder);
    waiting = waiting.filter(({ key }) => key <= limit);
    const last = ready.at(-1);
    if (last || limit < from.at) yield { items: ready, place: last ? toOrderPlace(last) : { at: limit, id: '' } };
    if (limit === Number.NEGATIVE_INFINITY) return;
    await Promise.all(readings.filter(({ bound }) => bound === limit).map(read));
  }
}

export const toOrderPlace = ({ key, id }: Pick<Placed<unknown>, 'key' | 'id'>): OrderPlace => ({ at: key, id });

function inOrder(one: Placed<unknown>, other: Placed<unknown>): number {
  return other.key - one.key || (one.id < other.id ? -1 : 1);
}

/** Among those of one moment the ids decide; an empty id stands before all of them. */
const isAfter = ({ key, id }: Placed<unknown>, { at, id: last }: OrderPlace): boolean =>
  key < at || (key === at && (last === '' || id > last));
