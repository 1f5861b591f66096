// The segments up to a head, read from the store: parents one by one to the nearest page, then 64 at a time. Every link is checked.
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import type { Segment } from './entries.ts';
import { decodeSegment, placeOf, type Where } from './segments.ts';
import { type Store, StoreError } from './store.ts';

export type StoredSegment = { readonly hash: Hash; readonly bytes: number; readonly segment: Segment };

type Known = (hash: Hash) => boolean;

/**
 * Oldest first, back to the session's first segment or to the one whose parent is `known` already. Throws StoreError naming
 * the session and the last entry of the segment that cannot be read.
 */
export async function readChain(
  store: Store,
  session: SessionId,
  head: Hash,
  known: Known = () => false,
): Promise<StoredSegment[]> {
  const chunks = [await readToPage(store, session, head, known)];
  for (let oldest = chunks[0]?.[0]; oldest?.segment.page; oldest = chunks.at(-1)?.[0]) {
    if (oldest.segment.parent !== null && known(oldest.segment.parent)) break;
    chunks.push(await readPage(store, oldest.segment.page, oldest));
  }
  return chunks.toReversed().flat();
}

/** From `head` back to the nearest segment with a page. */
async function readToPage(store: Store, session: SessionId, head: Hash, known: Known): Promise<StoredSegment[]> {
  let last = await readSegment(store, head, { session, entry: null });
  if (last.segment.session !== session) throw wrongLink(last, { session, entry: null });
  const newestFirst = [last];
  while (!last.segment.page && last.segment.parent !== null && !known(last.segment.parent)) {
    const before = await readSegment(store, last.segment.parent, { session, entry: last.segment.first - 1 });
    checkLink(before, last);
    newestFirst.push(before);
    last = before;
  }
  return newestFirst.toReversed();
}

/** The segments of a page, all at once. `after` is the segment that lists them. */
async function readPage(store: Store, page: readonly Hash[], after: StoredSegment): Promise<StoredSegment[]> {
  const read = await Promise.allSettled(page.map((hash) => store.get(hash)));
  let next = after;
  const newestFirst = read.toReversed().map((result, index) => {
    const place = { session: next.segment.session, entry: next.segment.first - 1 };
    if (result.status === 'rejected') throw named(result.reason, place);
    const hash = page[page.length - 1 - index] as Hash;
    const found = { hash, bytes: result.value.length, segment: decodeSegment(result.value, hash, place) };
    checkLink(found, next);
    next = found;
    return found;
  });
  return newestFirst.toReversed();
}

/** One segment, decoded. Throws StoreError naming `where`. */
export async function readSegment(store: Store, hash: Hash, where: Where): Promise<StoredSegment> {
  const bytes = await store.get(hash).catch((error: unknown) => {
    throw named(error, where);
  });
  return { hash, bytes: bytes.length, segment: decodeSegment(bytes, hash, where) };
}

function named(error: unknown, where: Where): unknown {
  if (!(error instanceof StoreError)) return error;
  return new StoreError(error.problem, `${placeOf(where)}: ${error.message}`, { cause: error });
}

/** Throws unless `before` is what `after` says comes before it. */
export function checkLink(before: StoredSegment, after: StoredSegment): void {
  const { session, parent, n, first } = after.segment;
  const { segment } = before;
  const fits =
    before.hash === parent &&
    segment.session === session &&
    segment.n === n - 1 &&
    segment.first + segment.entries.length === first;
  if (!fits) throw wrongLink(before, { session, entry: first - 1 });
}

function wrongLink(found: StoredSegment, where: Where): StoreError {
  const { session, n, first } = found.segment;
  const what = `stored value ${found.hash} is segment ${n} from entry ${first} of session ${session}`;
  return new StoreError('corrupt', `${placeOf(where)}: ${what} and does not belong here`);
}
