// Checks a whole transcript: every link, everything it refers to, and that each call has exactly one outcome. For `show` and `doctor`.
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { pairingProblems, type Problem, runProblems } from './audit-entries.ts';
import { markProblems } from './audit-marks.ts';
import type { Entry } from './entries.ts';
import { checkLink, readSegment, type StoredSegment } from './read-chain.ts';
import { isDamage, type Store } from './store.ts';

export type { Problem } from './audit-entries.ts';

export type Audit = {
  readonly segments: number;
  readonly entries: number;
  /** Stored values checked, segments among them. */
  readonly values: number;
  /** Oldest first; empty for a sound transcript. */
  readonly problems: readonly Problem[];
};

/** Throws StoreError only for what is no damage: the store cannot be used, or a newer Perdure wrote in it. */
export async function verifyTranscript(store: Store, session: SessionId, head: Hash | null): Promise<Audit> {
  if (head === null) return { segments: 0, entries: 0, values: 0, problems: [] };
  const chain = await walk(store, session, head);
  const placed = chain.segments.flatMap(({ segment }) =>
    segment.entries.map((entry, index) => ({ entry, position: segment.first + index })),
  );
  const references = placed.flatMap(({ entry, position }) => referencesOf(entry).map((hash) => ({ hash, position })));
  const problems = [...chain.problems, ...(await unreadable(store, session, references))];
  // With holes in it, a transcript says nothing about what belongs together.
  if (chain.problems.length === 0) {
    problems.push(...pairingProblems(placed), ...runProblems(placed), ...markProblems(placed));
  }
  return {
    segments: chain.segments.length,
    entries: placed.length,
    values: chain.segments.length + new Set(references.map(({ hash }) => hash)).size,
    problems: problems.sort((a, b) => (a.entry ?? Infinity) - (b.entry ?? Infinity)),
  };
}

type Walked = { readonly segments: readonly StoredSegment[]; readonly problems: Problem[] };

/** Back from the head, past damage where a page says what comes before it. Segments oldest first. */
async function walk(store: Store, session: SessionId, head: Hash): Promise<Walked> {
  const newestFirst: StoredSegment[] = [];
  const problems: Problem[] = [];
  let ahead: readonly Hash[] = [head];
  let after: StoredSegment | null = null;
  for (let hash = ahead[0]; hash !== undefined; hash = ahead[0]) {
    ahead = ahead.slice(1);
    const entry: number | null = after && after.segment.first - 1;
    const found: StoredSegment | Problem = await readSegment(store, hash, { session, entry })
      .then((segment) => linked(segment, after))
      .catch((error: unknown) => problemOf(error, entry));
    if ('problem' in found) {
      problems.push(found);
      if (ahead.length === 0) problems.push({ entry, problem: 'what comes before it cannot be reached' });
    } else {
      newestFirst.push(found);
      if (ahead.length === 0) ahead = before(found);
    }
    after = 'problem' in found ? null : found;
  }
  return { segments: newestFirst.toReversed(), problems };
}

function linked(found: StoredSegment, after: StoredSegment | null): StoredSegment {
  if (after) checkLink(found, after);
  return found;
}

function before({ segment }: StoredSegment): readonly Hash[] {
  if (segment.page) return segment.page.toReversed();
  return segment.parent === null ? [] : [segment.parent];
}

function problemOf(error: unknown, entry: number | null): Problem {
  if (!isDamage(error)) throw error;
  return { entry, problem: error.message };
}

function referencesOf(entry: Entry): readonly Hash[] {
  if (entry.kind === 'run_started') return [entry.config];
  if (entry.kind === 'user') return entry.body.kind === 'stored' ? [entry.body.hash] : [];
  return entry.kind === 'outcomes' ? entry.outcomes.flatMap(({ whole }) => (whole ? [whole.hash] : [])) : [];
}

async function unreadable(
  store: Store,
  session: SessionId,
  references: readonly { readonly hash: Hash; readonly position: number }[],
): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const [hash, position] of new Map(references.map((each) => [each.hash, each.position]))) {
    try {
      await store.get(hash);
    } catch (error) {
      const { problem } = problemOf(error, position);
      problems.push({ entry: position, problem: `session ${session}, entry ${position}: ${problem}` });
    }
  }
  return problems;
}
