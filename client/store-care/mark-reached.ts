// Finds all values that sessions reach from their roots: through transcripts, and through anything
// in a value or a record that looks like a hash. A session's own transcript must be whole, or
// values behind the gap would count as unreachable.
import { createLimit } from '../../system/async.ts';
import { decodeSegment, formatSegmentPlace } from '../../store/log/segments.ts';
import { hashOf, type StoreCare, StoreError } from '../../store/values/store.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { hashesIn, type Roots } from './find-roots.ts';

/** Values read at once. A value stays in memory while it is read. */
const AT_ONCE = 16;
/** Records read before the values that they name are followed. */
const BATCH = 256;

/**
 * `isKept` tells whether a record belongs to a known session. `writers` receives the sessions that
 * wrote a part of a transcript: those that a fork goes on from are among them (T10). Throws
 * StoreError for a part that cannot be read.
 */
export async function markReached(
  care: StoreCare,
  { heads, named }: Roots,
  isKept: (key: string) => boolean,
  writers: Set<SessionId> = new Set(),
): Promise<ReadonlySet<Hash>> {
  const reached = new Set<Hash>();
  const limit = createLimit(AT_ONCE);
  const open = new Set<Hash>(named);
  await Promise.all(
    [...heads].map(([session, head]) =>
      limit(() => followTranscript(care, { session, head }, { reached, open, writers })),
    ),
  );
  await followAll(care, open, reached);
  let keys: string[] = [];
  const readRecord = async (key: string): Promise<void> => {
    const { bytes, values } = (await care.record(key)) ?? { bytes: '', values: [] };
    // A value whose writer died before writing it is only in the record, so look for the hashes in
    // it here too.
    for (const hash of [...values.map(hashOf), ...[bytes, ...values].flatMap(hashesIn)]) open.add(hash);
  };
  const readRecords = async (): Promise<void> => {
    await Promise.all(keys.map((key) => limit(() => readRecord(key))));
    keys = [];
    await followAll(care, open, reached);
  };
  for await (const { name } of care.list('record')) {
    if (isKept(name) && keys.push(name) >= BATCH) await readRecords();
  }
  await readRecords();
  return reached;
}

type Following = {
  readonly reached: Set<Hash>;
  readonly open: Set<Hash>;
  readonly writers: Set<SessionId>;
};

/**
 * Follows a transcript from a head to its first segment: parents one by one to a page, then all its
 * segments at once.
 */
async function followTranscript(
  care: StoreCare,
  { session, head }: { readonly session: SessionId; readonly head: Hash },
  { reached, open, writers }: Following,
): Promise<void> {
  const read = async (hash: Hash) => {
    const bytes = await care.value(hash);
    const where = { session, entry: null };
    if (!bytes) throw notThere(formatSegmentPlace(where), hash);
    reached.add(hash);
    for (const each of hashesIn(bytes)) open.add(each);
    const segment = decodeSegment(bytes, hash, where);
    writers.add(segment.session);
    return segment;
  };
  for (let next: Hash | null = head; next !== null;) {
    const { parent, page }: { readonly parent: Hash | null; readonly page?: readonly Hash[] } = await read(next);
    if (!page) next = parent;
    else next = (await Promise.all(page.map(read)))[0]?.parent ?? null;
  }
}

/** Follows every other named value. A missing one names nothing. `open` is empty afterwards. */
async function followAll(care: StoreCare, open: Set<Hash>, reached: Set<Hash>): Promise<void> {
  const limit = createLimit(AT_ONCE);
  while (open.size > 0) {
    const now = [...open].filter((hash) => !reached.has(hash));
    open.clear();
    for (const hash of now) reached.add(hash);
    await Promise.all(
      now.map((hash) =>
        limit(async () => {
          const bytes = await care.value(hash);
          for (const each of bytes ? hashesIn(bytes) : []) if (!reached.has(each)) open.add(each);
        }),
      ),
    );
  }
}

function notThere(place: string, hash: Hash): StoreError {
  const what = `${place}: stored value ${hash} is missing`;
  return new StoreError(
    'missing',
    `${what}, so that what it leads to is not known, and nothing was deleted: \`perdure repair ID\``,
  );
}
