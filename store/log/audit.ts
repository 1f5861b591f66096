// Checks a whole transcript: every link, everything it refers to, and that each call has exactly
// one outcome. It is for `show` and `doctor`.
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { bodiesIn, bodyHashes } from './bodies.ts';
import type { Entry } from './entries.ts';
import { checkLink, readSegment, type StoredSegment } from './read-chain.ts';
import { isDamage, type Store } from '../values/store.ts';
import { type AuditProblem, findPairingProblems, findRunProblems, findMarkProblems } from './audit-entries.ts';

type Audit = {
  readonly segments: number;
  readonly entries: number;
  /** The number of stored values that were checked, segments included. */
  readonly values: number;
  /** Problems, oldest first; empty for a sound transcript. */
  readonly problems: readonly AuditProblem[];
  /** All segments, oldest first; null when one of them is damaged or missing. */
  readonly chain: readonly StoredSegment[] | null;
};

/**
 * Throws StoreError only when the cause is not damage: the store cannot be used, or a newer Perdure
 * wrote in it.
 */
export async function verifyTranscript(store: Store, session: SessionId, head: Hash | null): Promise<Audit> {
  if (head === null) return { segments: 0, entries: 0, values: 0, problems: [], chain: [] };
  const chain = await walk(store, session, head);
  const placed = chain.segments.flatMap(({ segment }) =>
    segment.entries.map((entry, index) => ({ entry, position: segment.first + index })),
  );
  const references = placed.flatMap(({ entry, position }) => referencesOf(entry).map((hash) => ({ hash, position })));
  const problems = [...chain.problems, ...(await findUnreadable(store, session, references))];
  // A transcript with holes says nothing about what belongs together.
  if (chain.problems.length === 0) {
    problems.push(...findPairingProblems(placed), ...findRunProblems(placed), ...findMarkProblems(placed));
  }
  return {
    segments: chain.segments.length,
    entries: placed.length,
    values: chain.segments.length + new Set(references.map(({ hash }) => hash)).size,
    problems: problems.sort((a, b) => (a.entry ?? Infinity) - (b.entry ?? Infinity)),
    chain: chain.problems.length === 0 ? chain.segments : null,
  };
}

type WalkedChain = { readonly segments: readonly StoredSegment[]; readonly problems: AuditProblem[] };

/**
 * Walks back from the head, past damage where a page lists the segments before it. Returns the
 * segments oldest first.
 */
async function walk(store: Store, session: SessionId, head: Hash): Promise<WalkedChain> {
  const newestFirst: StoredSegment[] = [];
  const problems: AuditProblem[] = [];
  const reader = readingAhead(store);
  let ahead: readonly Hash[] = [head];
  let after: StoredSegment | null = null;
  for (let hash = ahead[0]; hash !== undefined; hash = ahead[0]) {
    ahead = ahead.slice(1);
    const entry: number | null = after && after.segment.first - 1;
    const found: StoredSegment | AuditProblem = await readSegment(reader, hash, { session, entry })
      .then((segment) => requireLink(segment, after))
      .catch((error: unknown) => describeDamage(error, entry));
    if ('problem' in found) {
      problems.push(found);
      if (ahead.length === 0) problems.push({ entry, problem: 'what comes before it cannot be reached' });
    } else {
      newestFirst.push(found);
      if (ahead.length === 0) reader.expect((ahead = listHashesBefore(found)));
    }
    after = 'problem' in found ? null : found;
  }
  return { segments: newestFirst.toReversed(), problems };
}

/** Reads the values that are expected side by side. */
function readingAhead(store: Store): Pick<Store, 'get'> & { expect(hashes: readonly Hash[]): void } {
  let reading = new Map<Hash, Promise<Uint8Array>>();
  const begin = (hash: Hash): Promise<Uint8Array> => {
    const read = store.get(hash);
    // Who gets it learns why it failed.
    read.catch(() => undefined);
    return read;
  };
  return {
    expect: (hashes) => {
      reading = new Map(hashes.map((hash) => [hash, begin(hash)]));
    },
    get: (hash) => reading.get(hash) ?? store.get(hash),
  };
}

function requireLink(found: StoredSegment, after: StoredSegment | null): StoredSegment {
  if (after) checkLink(found, after);
  return found;
}

function listHashesBefore({ segment }: StoredSegment): readonly Hash[] {
  if (segment.page) return segment.page.toReversed();
  return segment.parent === null ? [] : [segment.parent];
}

function describeDamage(error: unknown, entry: number | null): AuditProblem {
  if (!isDamage(error)) throw error;
  return { entry, problem: error.message };
}

function referencesOf(entry: Entry): readonly Hash[] {
  if (entry.kind === 'run_started') return [entry.config];
  if (entry.kind === 'outcomes') return entry.outcomes.flatMap(({ whole }) => (whole ? [whole.hash] : []));
  return bodiesIn(entry).flatMap(bodyHashes);
}

async function findUnreadable(
  store: Store,
  session: SessionId,
  references: readonly { readonly hash: Hash; readonly position: number }[],
): Promise<AuditProblem[]> {
  const problems: AuditProblem[] = [];
  for (const [hash, position] of new Map(references.map((each) => [each.hash, each.position]))) {
    try {
      await store.get(hash);
    } catch (error) {
      const { problem } = describeDamage(error, position);
      problems.push({ entry: position, problem: `session ${session}, entry ${position}: ${problem}` });
    }
  }
  return problems;
}
