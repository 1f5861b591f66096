// Checks a whole transcript: every link, everything it refers to, and that each call has exactly
// one outcome. For `show` and `doctor`.
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { bodyHashes } from './bodies.ts';
import type { Entry, Outcome, ReplyEntry } from './entries.ts';
import { checkLink, readSegment, type StoredSegment } from './read-chain.ts';
import { isDamage, type Store } from '../values/store.ts';

type Audit = {
  readonly segments: number;
  readonly entries: number;
  /** Stored values checked, segments among them. */
  readonly values: number;
  /** Oldest first; empty for a sound transcript. */
  readonly problems: readonly Problem[];
};

/**
 * Throws StoreError only for what is no damage: the store cannot be used, or a newer Perdure wrote
 * in it.
 */
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

/**
 * Back from the head, past damage where a page says what comes before it. Segments oldest first.
 */
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
  if (entry.kind === 'user') return bodyHashes(entry.body);
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

// The invariants among the entries of a transcript: one outcome for each call, in order (L39), and
// runs that begin and end.

/** `entry` is a position in the session, or null when the head itself cannot be read. */
export type Problem = { readonly entry: number | null; readonly problem: string };

type Placed = { readonly entry: Entry; readonly position: number };

type Round = {
  readonly reply: ReplyEntry;
  readonly position: number;
  readonly outcomes: Outcome[];
  settled: boolean;
  /** The entries after it were damaged. */
  cut: boolean;
};

function isRepaired(entry: Entry): boolean {
  return entry.kind === 'notice' && entry.notice.kind === 'repaired';
}

/** Outcomes may still be missing after the last reply, while its run goes on. */
function pairingProblems(placed: readonly Placed[]): Problem[] {
  const rounds: Round[] = [];
  const problems: Problem[] = [];
  for (const { entry, position } of placed) {
    const open = rounds.at(-1);
    if (entry.kind === 'reply') {
      if (open) open.settled = true;
      rounds.push({ reply: entry, position, outcomes: [], settled: false, cut: false });
    } else if (entry.kind === 'run_ended' && open) {
      open.settled = true;
    } else if (isRepaired(entry) && open) {
      open.cut = true;
    } else if (entry.kind === 'outcomes') {
      if (open) open.outcomes.push(...entry.outcomes);
      else problems.push({ entry: position, problem: 'it has outcomes, and there is no reply before it' });
    }
  }
  return [...problems, ...rounds.flatMap(roundProblems)];
}

function roundProblems({ reply, position, outcomes, settled, cut }: Round): Problem[] {
  const say = (problem: string): Problem => ({ entry: position, problem });
  const calls = new Set(reply.message.content.flatMap((block, index) => (block.type === 'tool_use' ? [index] : [])));
  const indexes = outcomes.map((outcome) => outcome.index);
  const found = new Set(indexes);
  const missing = settled && !cut ? [...calls].filter((index) => !found.has(index)) : [];
  const strange = indexes.filter((index) => !calls.has(index));
  const double = indexes.filter((index) => !found.delete(index));
  return [
    ...missing.map((index) => say(`its call at block ${index} has no outcome`)),
    ...strange.map((index) => say(`there is an outcome for its block ${index}, which is no call`)),
    ...double.map((index) => say(`its call at block ${index} has more than one outcome`)),
  ];
}

/** A run that was refused ends without having begun. */
function runProblems(placed: readonly Placed[]): Problem[] {
  const problems: Problem[] = [];
  const say = (entry: number, problem: string): number => problems.push({ entry, problem });
  let open: number | null = null;
  let last = 0;
  for (const { entry, position } of placed) {
    if (entry.kind === 'run_started') {
      if (open !== null) say(position, `run ${entry.run} begins and run ${open} has not ended`);
      if (entry.run <= last) say(position, `run ${entry.run} begins after run ${last}`);
      open = entry.run;
      last = entry.run;
    } else if (entry.kind === 'run_ended') {
      if (open !== null && entry.ended.run !== open)
        say(position, `run ${entry.ended.run} ends while run ${open} is open`);
      last = Math.max(last, entry.ended.run);
      open = null;
    } else if (isRepaired(entry)) {
      open = null;
    }
  }
  return problems;
}

// The invariants of the entries that say how others are shown: each speaks of what was before it
// (L5, L8, L9). A snip comes from outside and may name anything: what it cannot mean is passed over
// when it is read.

function markProblems(placed: readonly Placed[]): Problem[] {
  const problems: Problem[] = [];
  let staged = 0;
  for (const { entry, position } of placed) {
    const say = (problem: string): number => problems.push({ entry: position, problem });
    if (entry.kind === 'boundary') {
      const problem = boundaryProblem(entry, position, placed);
      if (problem !== undefined) say(problem);
      staged = 0;
    } else if (entry.kind === 'microcompact' && !isCount(entry.before, position)) {
      say(`it shrinks results before entry ${entry.before}, which is after it`);
    } else if (entry.kind === 'collapse_staged') {
      const { from, to } = entry;
      if (!isCount(to, position) || !isCount(from, to - 1))
        say(`it shortens entries ${from} to ${to}, which is no part of what was before it`);
      staged += 1;
    } else if (entry.kind === 'collapse_committed') {
      if (!isCount(entry.count, staged)) say(`it commits ${entry.count} of ${staged} staged collapses`);
      staged = Math.max(0, staged - entry.count);
    }
  }
  return problems;
}

function boundaryProblem(
  { from, prompts }: Extract<Entry, { kind: 'boundary' }>,
  position: number,
  placed: readonly Placed[],
): string | undefined {
  if (!isCount(from, position)) return `what is seen begins at entry ${from}, which is after it`;
  const strange = prompts.find((each) => !isCount(each, from - 1) || placed[each]?.entry.kind !== 'user');
  return strange === undefined ? undefined : `it keeps entry ${strange}, which is no message before entry ${from}`;
}

function isCount(value: number, most: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= most;
}
