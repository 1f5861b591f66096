// Plans a fork (T10): where it parts from its origin, and the entries that it begins with. They
// close what was open at that point. It only reads.
import { z } from 'zod';
import { createConfigReader } from '../../../store/configuration.ts';
import { isRepeated, type Entry, type Outcome, type ReplyEntry } from '../../../store/log/entries.ts';
import { readChain } from '../../../store/log/read-chain.ts';
import { readStoredHead, readStoredOutcome } from '../../../store/log/step-records.ts';
import type { Store } from '../../../store/values/store.ts';
import { prepareAppend } from '../../../store/view/append.ts';
import { emptyView, growAll, type View } from '../../../store/view/shared-view.ts';
import { loadWorkingView } from '../../../store/view/view.ts';
import type { Append, RunEnded } from '../../../workflows/contract/activities.ts';
import { type CallKey, callKey, type Hash, isHash, type SessionId } from '../../../workflows/contract/ids.ts';
import { noSpend } from '../../../workflows/contract/loop.ts';
import { LISTED_MESSAGES } from '../../../workflows/contract/session.ts';
import type { NewestStep } from '../newest-head.ts';
import { findAsked } from '../files/plan-rewind.ts';

export type ForkPoint = {
  /**
   * The shared part: all of it, or what a worker would read. It names the session that wrote it.
   */
  readonly before: View;
  /** Entries of the shared part that the fork writes again: its segment goes on within another. */
  readonly again: readonly Entry[];
  readonly position: number;
  /** Entries of the origin after the point. */
  readonly rest: readonly Entry[];
  /** Part of the keys of calls that are open at the end of the session; null before it. */
  readonly chain: string | null;
};

/** Finds the point of a session where a fork parts, or its end. Throws ClientProblem `refused`. */
export async function findForkPoint(
  store: Store,
  session: SessionId,
  newest: NewestStep,
  at: string | undefined,
): Promise<ForkPoint> {
  const now = await findEnd(store, session, newest);
  if (at === undefined) return now;
  const { head } = now.before;
  const chain = head === null ? [] : await readChain(store, session, head);
  const entries = [...chain.flatMap(({ segment }) => segment.entries), ...now.again];
  // The end is a point, too.
  const target = at === String(entries.length) ? entries.length : findAsked(entries, at);
  const position = beforeItsRun(entries, target);
  const cut = chain.findIndex(({ segment }) => segment.first + segment.entries.length > position);
  const shared = cut < 0 ? chain : chain.slice(0, cut);
  const owner = shared.at(-1)?.segment.session ?? session;
  const before = growAll(emptyView(owner), shared);
  const [again, rest] = [entries.slice(before.length, position), entries.slice(position)];
  return { before, again, position, rest, chain: null };
}

/** Goes back to before a run that nothing was said in: its prompt opens another run in the fork. */
function beforeItsRun(entries: readonly Entry[], position: number): number {
  const shared = entries.slice(0, position);
  const at = shared.findLastIndex(({ kind }) => ['run_started', 'run_ended', 'user', 'reply'].includes(kind));
  return shared[at]?.kind === 'run_started' ? at : position;
}

const underWay = z.looseObject({
  append: z.array(z.looseObject({ kind: z.string() })),
  config: z.custom<Hash>(isHash).optional(),
});

/**
 * Finds the end of a session, which may be at work: what the step under way has stored, or what it
 * is to store first.
 */
async function findEnd(store: Store, session: SessionId, { head, input }: NewestStep): Promise<ForkPoint> {
  const known = await loadWorkingView(store, session, head);
  const step = underWay.safeParse(input).data;
  const config = step?.config ?? lastConfig(known);
  const chain = config === undefined ? null : (await createConfigReader(store)(config)).chain;
  if (!step) return endOf(known, [], chain);
  const stored = chain === null ? null : await readStoredHead(store, { session, chain }, input);
  if (stored) return endOf(await loadWorkingView(store, session, stored), [], chain);
  const readRecorded = (key: CallKey): Promise<Outcome | null> => readStoredOutcome(store, session, key);
  const append = step.append as unknown as readonly Append[];
  return endOf(known, await prepareAppend(known, append, { store, readOutcome: readRecorded }), chain);
}

const endOf = (before: View, again: readonly Entry[], chain: string | null): ForkPoint => ({
  before,
  again,
  position: before.length + again.length,
  rest: [],
  chain,
});

function lastConfig(view: View): Hash | undefined {
  const started = view.entries.findLast((entry) => entry.kind === 'run_started');
  return started?.kind === 'run_started' ? started.config : undefined;
}

/** Returns the entries of a point: `UNREAD` ones stand for those that were not read. */
export function entriesAt({ before, again }: ForkPoint): readonly Entry[] {
  return [...before.entries, ...again];
}

const NOT_RUN = 'Not run: the session was forked before it ran.';

/** Answers the calls that are open at a point: as they ended since, if that is recorded. */
export async function answerOpenCalls(store: Store, point: ForkPoint): Promise<readonly Entry[]> {
  const entries = entriesAt(point);
  const { before, chain } = point;
  const at = entries.findLastIndex(({ kind }) => kind === 'reply');
  const reply = entries[at];
  if (reply?.kind !== 'reply') return [];
  const answered = entries.slice(at).flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
  const done = new Set(answered.map(({ index }) => index));
  const outcomes: Outcome[] = [];
  for (const [index, block] of reply.message.content.entries()) {
    if (block.type !== 'tool_use' || done.has(index) || isRepeated(reply, index)) continue;
    const key = chain !== null && before.head !== null ? callKey(chain, before.head, index) : null;
    const recorded = key && (await readStoredOutcome(store, before.session, key));
    const log = { key: null, name: block.name, decision: 'not_run', duration: 0, outcome: 'not_run' } as const;
    outcomes.push({ ...(recorded ?? { isError: true, content: NOT_RUN, log }), index, toolUseId: block.id });
  }
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
  const runEnded: RunEnded = {
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
  return { ended: runEnded, isCut: true };
}
