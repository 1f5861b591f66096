// Pages of lists (G8). A cursor is the place of an item, sealed, so that one of another list, order
// or filter is refused instead of skipping items.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { invalid } from './errors.ts';

const DEFAULT_LIMIT = 20;
const MOST = 1_000;

export type Order = 'asc' | 'desc';

/** What a cursor belongs to. `filter` is everything that chooses items, except limit and page. */
export type ListRequest = {
  readonly list: string;
  readonly order: Order;
  readonly filter: unknown;
  readonly limit?: number | undefined;
  readonly page?: string | null | undefined;
};

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
  placeOf: (item: Item) => string,
): Page<Item> {
  const { order, limit = DEFAULT_LIMIT } = request;
  const from = sealing.open(request);
  const isBeyond = (item: Item): boolean =>
    from !== null && (order === 'asc' ? placeOf(item) > from.place : placeOf(item) < from.place);
  const isReached = (item: Item): boolean => isBeyond(item) || (from !== null && placeOf(item) === from.place);
  const edge = from === null ? 0 : indexOrEnd(items, from.back ? isReached : isBeyond);
  const begin = from?.back ? Math.max(0, edge - limit) : edge;
  const end = from?.back ? edge : Math.min(items.length, begin + limit);
  const page = items.slice(begin, end);
  const [first, last] = [page[0], page.at(-1)];
  return {
    items: page,
    next:
      last !== undefined && end < items.length ? sealing.seal(request, { place: placeOf(last), back: false }) : null,
    prev: first !== undefined && begin > 0 ? sealing.seal(request, { place: placeOf(first), back: true }) : null,
  };
}

function indexOrEnd<Item>(items: readonly Item[], isIt: (item: Item) => boolean): number {
  const found = items.findIndex(isIt);
  return found < 0 ? items.length : found;
}

/** The bounds of a page's size, for the schemas of queries. */
export const PAGE_BOUNDS = { least: 1, most: MOST };
