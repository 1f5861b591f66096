// Pages of lists (G8). A cursor is a sealed position: one from another list, order or filter is
// refused instead of skipping items.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { invalid } from './errors.ts';
import { formatTime } from './ids.ts';

const DEFAULT_LIMIT = 20;
const MOST = 1_000;

export type Order = 'asc' | 'desc';

/** A list that a cursor belongs to. `filter`: all that chooses items, except limit and page. */
export type ListRequest = {
  readonly list: string;
  readonly order: Order;
  readonly filter: unknown;
  readonly limit?: number | undefined;
  readonly page?: string | null | undefined;
};

/** A resource of the log. `createdAt`: milliseconds since the epoch. */
type Placed = readonly [id: string, item: { readonly createdAt: number }];

/** Returns the place of a resource in a list that is sorted by creation. */
export const placeOf = ([id, { createdAt }]: Placed): string => `${formatTime(createdAt)} ${id}`;

/** The same, of a resource as the API shows it. */
export const placeOfDated = ({ id, created_at }: { readonly id: string; readonly created_at: string }): string =>
  `${created_at} ${id}`;

/** Sorts resources as their places sort, without making any: a list may have very many. */
export function sortByCreation<Item extends Placed>(items: readonly Item[], order: Order = 'desc'): readonly Item[] {
  const sign = order === 'asc' ? 1 : -1;
  return items.toSorted(([a, { createdAt }], [b, other]) => sign * (createdAt - other.createdAt || (a < b ? -1 : 1)));
}

/** `place` sorts an item as text. `back`: the page before it. */
type Cursor = { readonly place: string; readonly back: boolean };

const cursorShape = z.tuple([z.string(), z.string(), z.string(), z.boolean()]);

export type Cursors = { seal(request: ListRequest, cursor: Cursor): string; open(request: ListRequest): Cursor | null };

/** `key` is the store's own, so that any server of the store reads the cursor. */
export function cursors(key: Uint8Array): Cursors {
  const sign = (body: string): Buffer => createHmac('sha256', key).update(body).digest().subarray(0, 16);
  return {
    seal: (request, { place, back }) => {
      const body = JSON.stringify([kindOf(request), filterHash(request.filter), place, back]);
      return Buffer.concat([sign(body), Buffer.from(body)]).toString('base64url');
    },
    open: (request) => {
      if (request.page === undefined || request.page === null || request.page === '') return null;
      const bytes = Buffer.from(request.page, 'base64url');
      const [seal, body] = [bytes.subarray(0, 16), bytes.subarray(16).toString()];
      if (seal.length < 16 || !timingSafeEqual(seal, sign(body)))
        throw invalid('page: this is no cursor of this server', 'page');
      const [kind, filter, place, back] = cursorShape.parse(JSON.parse(body));
      if (kind !== kindOf(request) || filter !== filterHash(request.filter))
        throw invalid('page: this cursor belongs to another list, order or filter', 'page');
      return { place, back };
    },
  };
}

const kindOf = ({ list, order }: ListRequest): string => `${list} ${order}`;

const filterHash = (filter: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(filter ?? null))
    .digest('hex')
    .slice(0, 16);

export type Page<Item> = {
  readonly items: readonly Item[];
  readonly next: string | null;
  readonly prev: string | null;
};

/**
 * Cuts a page from items, which are sorted by their places in the request's order. Throws
 * ManagedError for a foreign cursor.
 */
export function pageOf<Item>(
  sealing: Cursors,
  request: ListRequest,
  items: readonly Item[],
  toPlace: (item: Item) => string,
): Page<Item> {
  const { limit = DEFAULT_LIMIT } = request;
  const from = sealing.open(request);
  const edge = edgeOf(from, request.order, items, toPlace);
  const begin = from?.back ? Math.max(0, edge - limit) : edge;
  const end = from?.back ? edge : Math.min(items.length, begin + limit);
  const page = items.slice(begin, end);
  const [first, last] = [page[0], page.at(-1)];
  return {
    items: page,
    next:
      last !== undefined && end < items.length ? sealing.seal(request, { place: toPlace(last), back: false }) : null,
    prev: first !== undefined && begin > 0 ? sealing.seal(request, { place: toPlace(first), back: true }) : null,
  };
}

/** Items that are looked at side by side, and at most for one page. */
const CHUNK = 32;
const MOST_LOOKS = 10_000;

/**
 * Cuts a page from those items that `choose` takes, and looks at no more of them than the page
 * needs. Throws ManagedError for a foreign cursor, and when none of very many is taken.
 */
export async function pageOfChosen<Item>(
  sealing: Cursors,
  request: ListRequest,
  items: readonly Item[],
  toPlace: (item: Item) => string,
  choose: (items: readonly Item[]) => Promise<readonly Item[]>,
): Promise<Page<Item>> {
  const { limit = DEFAULT_LIMIT } = request;
  const from = sealing.open(request);
  const isBack = from?.back === true;
  const edge = edgeOf(from, request.order, items, toPlace);
  const ahead = isBack ? items.slice(0, edge).toReversed() : items.slice(edge);
  const found: Item[] = [];
  let looked = 0;
  while (found.length <= limit && looked < Math.min(ahead.length, MOST_LOOKS)) {
    const chunk = ahead.slice(looked, looked + CHUNK);
    found.push(...(await choose(chunk)));
    looked += chunk.length;
  }
  const isFull = found.length > limit;
  if (found.length === 0 && looked < ahead.length)
    throw invalid(`none of ${looked} items is of that kind: narrow the list, as with created_at[gte]`);
  const page = found.slice(0, limit);
  const seal = (item: Item | undefined, back: boolean): string | null =>
    item === undefined ? null : sealing.seal(request, { place: toPlace(item), back });
  const end = isFull ? page.at(-1) : looked < ahead.length ? ahead[looked - 1] : undefined;
  return isBack
    ? { items: page.toReversed(), next: seal(page[0], false), prev: seal(end, true) }
    : { items: page, next: seal(end, false), prev: seal(edge > 0 ? page[0] : undefined, true) };
}

/** Returns the index of the first item of a page, or of the first behind one that is read back. */
function edgeOf<Item>(
  from: Cursor | null,
  order: Order,
  items: readonly Item[],
  toPlace: (item: Item) => string,
): number {
  if (from === null) return 0;
  const isBeyond = (item: Item): boolean => (order === 'asc' ? toPlace(item) > from.place : toPlace(item) < from.place);
  const isReached = (item: Item): boolean => isBeyond(item) || toPlace(item) === from.place;
  return indexOrEnd(items, from.back ? isReached : isBeyond);
}

function indexOrEnd<Item>(items: readonly Item[], isIt: (item: Item) => boolean): number {
  const found = items.findIndex(isIt);
  return found < 0 ? items.length : found;
}

/** The bounds of a page's size, for the schemas of queries. */
export const PAGE_BOUNDS = { least: 1, most: MOST };
