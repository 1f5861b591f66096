// The two sources that a follower reads, the live channel and a look at the session every second or
// so, and the run that it waits for.
import type { ChannelItem, WatchedEvent } from '../../store/live/events.ts';
import { pause } from '../../system/async.ts';
import type { Hash, MessageId, SessionId } from '../../workflows/contract/ids.ts';
import type { RunSummary } from '../../workflows/contract/session.ts';
import type { Mailbox } from '../async.ts';
import { ClientProblem } from '../problem.ts';
import type { SessionDescription } from '../sessions/info.ts';
import type { RunOutcome } from '../sessions/outcome.ts';
import { type ApprovalEvent, isApprovalEvent } from '../sessions/waiting-approval.ts';

/** Most events that wait in memory for a slow reader, who sees the rest when it is stored. */
const MOST_WAITING = 5_000;

export type News =
  | { readonly kind: 'event'; readonly event: ChannelItem }
  | { readonly kind: 'look'; readonly seen: SessionDescription }
  /** Looking again would make no sense. */
  | { readonly kind: 'broken'; readonly error: unknown };

/**
 * Passes on events of the channel, which is best effort: when it breaks, looking goes on, and the
 * store has what counts.
 */
export async function pushLiveEvents(
  events: AsyncIterable<ChannelItem>,
  news: Mailbox<News>,
  leave: () => void,
): Promise<void> {
  try {
    for await (const event of events)
      if (news.waiting < MOST_WAITING) news.push({ kind: 'event', event });
      else return leave();
  } catch {
    // The cause does not matter: looks replace the channel.
  }
}

type LookSource = {
  readonly look: () => Promise<SessionDescription>;
  readonly first: SessionDescription;
  readonly everyMs: number;
  readonly signal: AbortSignal;
  readonly onTrouble: ((why: string | null) => void) | undefined;
  readonly onHost: (description: SessionDescription) => void;
  readonly news: Mailbox<News>;
};

export async function pushLooks({ look, first, everyMs, signal, onTrouble, onHost, news }: LookSource): Promise<void> {
  const push = (description: SessionDescription): void => {
    onHost(description);
    if (news.waiting < 2 * MOST_WAITING) news.push({ kind: 'look', seen: description });
  };
  push(first);
  let trouble = false;
  while (await pause(everyMs, signal)) {
    try {
      push(await look());
      if (trouble) onTrouble?.(null);
      trouble = false;
    } catch (error) {
      if (!(error instanceof ClientProblem) || error.kind !== 'unanswered') return news.push({ kind: 'broken', error });
      if (!trouble) onTrouble?.(error.message);
      trouble = true;
    }
  }
}

export const LIVE_AGAIN = 'the live channel is back: what happens is shown while it happens';

/** Reads the head while the live channel is lost, and returns it when it has changed. */
export function headReader(
  { head: read }: { readonly head?: (session: SessionId) => Promise<Hash | null> },
  session: SessionId,
  channel: { readonly isLost: boolean },
): () => Promise<Hash | null> {
  let last: Hash | null = null;
  return async () => {
    if (!channel.isLost || !read) return null;
    try {
      const head = await read(session);
      if (head === last) return null;
      return (last = head);
    } catch (error) {
      // The next look says that the server does not answer.
      if (error instanceof ClientProblem) return null;
      throw error;
    }
  };
}

// Where a returning follower begins: after the last iteration whose events it has received
// completely. A later iteration of which it received only a part is sent again from its beginning,
// because the attempt that sent it may have died meanwhile.
export type Followed = WatchedEvent | ApprovalEvent | RunOutcome;

/** Iteration `iteration` of run `run`, numbered as in its events. */
export type SeenIteration = { readonly run: number; readonly iteration: number };

type Cursor = {
  /** The last run that is not followed. */
  readonly run: number;
  /** Returns the events to show for `event`. */
  pass(event: Followed): readonly Followed[];
};

/** Throws ClientProblem `refused` for an invalid place. */
export function cursorAfter(after: number | SeenIteration): Cursor {
  if (typeof after === 'number') return { run: parseWhole(after, 0, 'run'), pass: (event) => [event] };
  const run = parseWhole(after.run, 1, 'run');
  return { run: run - 1, pass: passBehind(parseWhole(after.iteration, 0, 'iteration')) };
}

function parseWhole(value: number, least: number, what: string): number {
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new ClientProblem('refused', `${String(value)} is no ${what}: give a whole number from ${least}`);
}

/**
 * Follows one run. An event without an iteration, such as a message, belongs to the iteration that
 * comes next.
 */
function passBehind(iteration: number): Cursor['pass'] {
  let pending: Followed[] | null = [];
  return (event) => {
    const at = 'iteration' in event ? event.iteration : null;
    if (at !== null && at <= iteration) {
      if (pending) pending = [];
      return [];
    }
    if (pending === null || isApprovalEvent(event)) return [event];
    if (at === null && event.type !== 'run_end' && event.type !== 'result') return (pending.push(event), []);
    const released = [...pending, event];
    pending = null;
    return released;
  };
}

// Decides which run a follower waits for, and whether the memo reports its end.
export type Goal = {
  /**
   * The run that answers this message; null means the current run, or the last one when nothing
   * runs.
   */
  readonly message: MessageId | null;
  /** The first run of interest, from 1. */
  readonly from: number;
  /** True when run `from` has begun or is over: its start is in the live channel, or was lost. */
  readonly underWay: boolean;
  /** The run may not exist. */
  readonly orNone?: true;
};

export function goalOf(description: SessionDescription, message: MessageId | null): Goal {
  const last = description.last?.run ?? 0;
  const waits = isAtRest(description);
  if (message === null) return { message, from: waits && last > 0 ? last : last + 1, underWay: true };
  if (hasAnswered(description.last, message)) return { message, from: last, underWay: true };
  return { message, from: last + 1, underWay: !waits };
}

/** Aims at the first run after run `run`, if it exists. */
export function goalAfter(run: number): Goal {
  return { message: null, from: run + 1, underWay: true, orNone: true };
}

/** Tells whether the run that seemed about to begin does not exist. */
export function hasNoRun({ orNone, from }: Goal, description: SessionDescription): boolean {
  return (
    orNone === true && isAtRest(description) && agentsAtWork(description) === 0 && (description.last?.run ?? 0) < from
  );
}

/** Counts agents in the background of an idle session: the end of each opens a run (L71). */
export function agentsAtWork({ background = 0 }: SessionDescription): number {
  return background;
}

/** Tells whether nothing runs and nothing is about to. */
export function isAtRest({ phase, unseen }: SessionDescription): boolean {
  return phase === 'closed' || (phase === 'idle' && !unseen);
}

export function reachesGoal(goal: Goal, summary: Pick<RunSummary, 'run' | 'messages'>): boolean {
  return summary.run >= goal.from && (goal.message === null || summary.messages.includes(goal.message));
}

function hasAnswered(last: RunSummary | null, message: MessageId): boolean {
  return last?.messages.includes(message) ?? false;
}

/**
 * Result of a look at the session: the run to report, a hint that an earlier run may be it
 * (`search`), the certainty that it will never come (`never`), or nothing yet.
 */
type GoalState =
  | { readonly kind: 'ended'; readonly summary: RunSummary }
  | { readonly kind: 'search'; readonly summary: RunSummary }
  | { readonly kind: 'never' }
  | { readonly kind: 'not_yet' };

export function lookForGoal(goal: Goal, description: SessionDescription): GoalState {
  const { last } = description;
  if (last && reachesGoal(goal, last)) return { kind: 'ended', summary: last };
  if (last && goal.message !== null) {
    // The answer may be an earlier run, or one that lists only the first of its many messages.
    if (last.run > goal.from || isAtRest(description)) return { kind: 'search', summary: last };
  } else if (last && isAtRest(description) && !goal.orNone) {
    // The run that was about to begin does not exist.
    return { kind: 'ended', summary: last };
  }
  return description.phase === 'closed' ? { kind: 'never' } : { kind: 'not_yet' };
}
