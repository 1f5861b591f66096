// Reads the segments up to a head from the store: parents one by one to the nearest that lists
// those before it, then as many at once as it lists, up to 64. Every link is checked.
// Reads everything that a session has ever said: the entries up to a head, and those that rewinds
// have left behind (T6).
import type { ForkNotice } from '../../workflows/contract/fork.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { type Store, StoreError } from '../values/store.ts';
import { type Entry, headLeftBy, type Segment } from './entries.ts';
import { decodeSegment, formatSegmentPlace, type SegmentPlace } from './segments.ts';

export type StoredSegment = { readonly hash: Hash; readonly bytes: number; readonly segment: Segment };

type IsKnown = (hash: Hash) => boolean;

type ChainBounds = {
  /** Tells whether the caller has the segment of this hash already. */
  readonly isKnown?: IsKnown;
  /**
   * Receives the segments as they are read, the newest chunk first, each chunk oldest first.
   * Returns true when no segment before them is needed.
   */
  readonly isEnough?: (chunk: readonly StoredSegment[]) => boolean;
};

/**
 * Reads the segments up to `head`, oldest first, back to the session's first one, to the one whose
 * parent `isKnown`, or to where `isEnough`. Throws StoreError naming the session and the last entry
 * of the segment that cannot be read.
 */
export async function readChain(
  store: Store,
  session: SessionId,
  head: Hash,
  { isKnown = () => false, isEnough = () => false }: ChainBounds = {},
): Promise<StoredSegment[]> {
  const chunks = [await readToPage(store, session, head, isKnown)];
  for (let oldest = chunks[0]?.[0]; oldest?.segment.page; oldest = chunks.at(-1)?.[0]) {
    if (oldest.segment.parent !== null && isKnown(oldest.segment.parent)) break;
    if (isEnough(chunks.at(-1) ?? [])) break;
    chunks.push(await readPage(store, oldest.segment.page, oldest));
  }
  return chunks.toReversed().flat();
}

/** Positions of entries, from `from` up to but not including `to`. */
type Positions = { readonly from: number; readonly to: number };

/**
 * Returns the segments up to `head` that have entries at these positions, oldest first, and few
 * others: newer ones are passed over a page at a time. Throws as `readChain` does.
 */
export async function readRange(
  store: Store,
  session: SessionId,
  head: Hash,
  { from, to }: Positions,
): Promise<readonly StoredSegment[]> {
  let at = await readSegment(store, head, { session, entry: null });
  if (at.segment.session !== session) throw wrongLinkError(at, { session, entry: null });
  const newestFirst: StoredSegment[] = [];
  for (;;) {
    const { first, page, near, parent } = at.segment;
    if (first < to) newestFirst.push(at);
    if (first <= from || parent === null) return newestFirst.toReversed();
    const listed = page ?? near;
    at = listed && first >= to ? await skipPage(store, at, listed, to) : await readParent(store, at, parent);
  }
}

async function readParent(store: Store, after: StoredSegment, parent: Hash): Promise<StoredSegment> {
  const { session, first } = after.segment;
  const before = await readSegment(store, parent, { session, entry: first - 1 });
  checkLink(before, after);
  return before;
}

/**
 * Returns the oldest segment of a page when all of it is at `to` or after it, else the newest in it
 * that begins before `to`.
 */
async function skipPage(store: Store, after: StoredSegment, page: readonly Hash[], to: number): Promise<StoredSegment> {
  const read = async (index: number): Promise<StoredSegment> => {
    const found = await readSegment(store, page[index] as Hash, { session: after.segment.session, entry: null });
    // It may be of the session that this one is a fork of: the hash of the page vouches for it.
    if (found.segment.n !== after.segment.n - page.length + index) throw wrongLinkError(found, placeBefore(after));
    return found;
  };
  let found = await read(0);
  let [low, high] = [0, page.length];
  if (found.segment.first >= to) return found;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const tried = await read(middle);
    if (tried.segment.first < to) [low, found] = [middle, tried];
    else high = middle;
  }
  return found;
}

const placeBefore = ({ segment: { session, first } }: StoredSegment): SegmentPlace => ({ session, entry: first - 1 });

/**
 * Reads from `head` back to the nearest segment with a page: one by one to the nearest that lists
 * those between, and these at once.
 */
async function readToPage(store: Store, session: SessionId, head: Hash, known: IsKnown): Promise<StoredSegment[]> {
  let last = await readSegment(store, head, { session, entry: null });
  if (last.segment.session !== session) throw wrongLinkError(last, { session, entry: null });
  const newestFirst = [last];
  while (!last.segment.page && last.segment.parent !== null && !known(last.segment.parent)) {
    if (last.segment.near) {
      const unknown = last.segment.near.slice(last.segment.near.findLastIndex(known) + 1);
      return [...(await readPage(store, unknown, last)), ...newestFirst.toReversed()];
    }
    const before = await readSegment(store, last.segment.parent, { session, entry: last.segment.first - 1 });
    checkLink(before, last);
    newestFirst.push(before);
    last = before;
  }
  return newestFirst.toReversed();
}

/** Reads the segments of a page, all at once. `after` is the segment that lists them. */
async function readPage(store: Store, page: readonly Hash[], after: StoredSegment): Promise<StoredSegment[]> {
  const read = await Promise.allSettled(page.map((hash) => store.get(hash)));
  let next = after;
  const newestFirst = read.toReversed().map((result, index) => {
    const place = { session: next.segment.session, entry: next.segment.first - 1 };
    if (result.status === 'rejected') throw addPlace(result.reason, place);
    const hash = page[page.length - 1 - index] as Hash;
    const found = { hash, bytes: result.value.length, segment: decodeSegment(result.value, hash, place) };
    checkLink(found, next);
    next = found;
    return found;
  });
  return newestFirst.toReversed();
}

/** Reads and decodes one segment. Throws StoreError naming `where`. */
export async function readSegment(store: Pick<Store, 'get'>, hash: Hash, where: SegmentPlace): Promise<StoredSegment> {
  const bytes = await store.get(hash).catch((error: unknown) => {
    throw addPlace(error, where);
  });
  return { hash, bytes: bytes.length, segment: decodeSegment(bytes, hash, where) };
}

function addPlace(error: unknown, where: SegmentPlace): unknown {
  if (!(error instanceof StoreError)) return error;
  return new StoreError(error.problem, `${formatSegmentPlace(where)}: ${error.message}`, { cause: error });
}

/** Throws unless `before` is the segment that `after` names as its parent. */
export function checkLink(before: StoredSegment, after: StoredSegment): void {
  const { session, parent, n, first } = after.segment;
  const { segment } = before;
  const origin = forkIn(after.segment);
  const isOwn = origin ? segment.session === origin.session && parent === origin.head : segment.session === session;
  const fits =
    before.hash === parent && isOwn && segment.n === n - 1 && segment.first + segment.entries.length === first;
  if (!fits) throw wrongLinkError(before, { session, entry: first - 1 });
}

/** Returns the link to the session that goes on here (T10); undefined in all other segments. */
export function forkIn({ entries }: Segment): ForkNotice | undefined {
  const found = entries.find((entry) => entry.kind === 'notice' && entry.notice.kind === 'forked');
  return found?.kind === 'notice' && found.notice.kind === 'forked' ? found.notice : undefined;
}

function wrongLinkError(found: StoredSegment, where: SegmentPlace): StoreError {
  const { session, n, first } = found.segment;
  const what = `stored value ${found.hash} is segment ${n} from entry ${first} of session ${session}`;
  return new StoreError('corrupt', `${formatSegmentPlace(where)}: ${what} and does not belong here`);
}

/**
 * Returns the entries up to `head`, and after them what was left behind, also of sessions that this
 * one is a fork of. Throws StoreError.
 */
export async function readWithLeftBehind(store: Store, session: SessionId, head: Hash): Promise<readonly Entry[]> {
  const known = new Set<Hash>();
  const found: Entry[] = [];
  const heads = [head];
  for (let at = heads.shift(); at !== undefined; at = heads.shift()) {
    if (known.has(at)) continue;
    const { segment: newest } = await readSegment(store, at, { session, entry: null });
    const isKnown = (hash: Hash): boolean => known.has(hash);
    for (const { hash, segment } of await readChain(store, newest.session, at, { isKnown })) {
      if (known.has(hash)) continue;
      known.add(hash);
      found.push(...segment.entries);
      heads.push(...segment.entries.flatMap((entry) => headLeftBy(entry) ?? []));
    }
  }
  return found;
}
