// Plans a fork (T10): where it parts from its origin, and the entries that it begins with. They
// close what was open at that point. It only reads.
import { isRepeated, type Entry, type ReplyEntry } from '../../../store/log/entries.ts';
import { readChain, type StoredSegment } from '../../../store/log/read-chain.ts';
import type { Store } from '../../../store/values/store.ts';
import { emptyView, growAll, type View } from '../../../store/view/shared-view.ts';
import { loadWorkingView } from '../../../store/view/view.ts';
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import { noSpend } from '../../../workflows/contract/loop.ts';
import { LISTED_MESSAGES } from '../../../workflows/contract/session.ts';
import type { RunEnded } from '../../../workflows/contract/activities.ts';
import { ClientProblem } from '../../problem.ts';
import { findAsked } from '../files/plan-rewind.ts';

export type ForkPoint = {
  /** The shared part: all of it, or what a worker would read. It names the session that wrote it. */
  readonly before: View;
  /** Entries of the shared part that the fork writes again: its segment goes on within another. */
  readonly again: readonly Entry[];
  readonly position: number;
};

/** Finds the point where a fork parts, `at` or at the end. Throws ClientProblem `refused`. */
export async function findForkPoint(
  store: Store,
  { session, head }: { readonly session: SessionId; readonly head: Hash },
  at: string | undefined,
): Promise<ForkPoint> {
  if (at === undefined) {
    const before = await loadWorkingView(store, session, head);
    return { before, again: [], position: before.length };
  }
  const chain = await readChain(store, session, head);
  const entries = chain.flatMap(({ segment }) => segment.entries);
  // The end is a point, too.
  const position = at === String(entries.length) ? entries.length : findAsked(entries, at);
  if (!entries.slice(0, position).some(({ kind }) => kind === 'user'))
    throw new ClientProblem('refused', 'nothing was before that: start a session of its own instead');
  const cut = chain.findIndex(({ segment }) => segment.first + segment.entries.length > position);
  const shared = cut < 0 ? chain : chain.slice(0, cut);
  const owner = shared.at(-1)?.segment.session ?? session;
  const before = growAll(emptyView(owner), shared);
  return { before, again: entries.slice(before.length, position), position };
}

/** Returns the entries of a point: `UNREAD` ones stand for those that were not read. */
export function entriesAt({ before, again }: ForkPoint): readonly Entry[] {
  return [...before.entries, ...again];
}

const NOT_RUN = 'Not run: the session was forked before it ran.';

/** Answers the calls that are open at the end of `entries`. */
export function answerOpenCalls(entries: readonly Entry[]): readonly Entry[] {
  const at = entries.findLastIndex(({ kind }) => kind === 'reply');
  const reply = entries[at] as ReplyEntry | undefined;
  if (!reply) return [];
  const done = new Set(
    entries
      .slice(at)
      .flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []))
      .map(({ index }) => index),
  );
  const outcomes = reply.message.content.flatMap((block, index) => {
    if (block.type !== 'tool_use' || done.has(index) || isRepeated(reply, index)) return [];
    const log = { key: null, name: block.name, decision: 'not_run', duration: 0, outcome: 'not_run' } as const;
    return [{ index, toolUseId: block.id, isError: true, content: NOT_RUN, log }];
  });
  return outcomes.length === 0 ? [] : [{ kind: 'outcomes', outcomes }];
}

/** Returns the end of the last run: as it was, or as the fork cuts it. Null before the first. */
export function endOfLastRun(
  entries: readonly Entry[],
  now: number,
): { readonly ended: RunEnded; readonly isCut: boolean } | null {
  const at = entries.findLastIndex(({ kind }) => kind === 'run_started' || kind === 'run_ended');
  const last = entries[at];
  if (last?.kind === 'run_ended') return { ended: last.ended, isCut: false };
  if (last?.kind !== 'run_started') return null;
  const since = entries.slice(at);
  const replies = since.filter((entry): entry is ReplyEntry => entry.kind === 'reply');
  const ended: RunEnded = {
    run: last.run,
    terminal: { reason: 'aborted_tools', by: 'interrupt' },
    turns: replies.length,
    iterations: replies.at(-1)?.iteration ?? 0,
    messages: since.flatMap((entry) => (entry.kind === 'user' ? [entry.id] : [])).slice(0, LISTED_MESSAGES),
    // The fork has spent nothing.
    spend: noSpend,
    durationMs: 0,
    at: now,
  };
  return { ended, isCut: true };
}
