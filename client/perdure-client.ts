// The type of the client: each method, with what it is given and what it returns (Q10).
import type { Entry } from '../store/log/entries.ts';
import type { OptionChanges, PendingApproval, TopUp } from '../workflows/contract/session.ts';
import type { Abortable } from './async.ts';
import type { Followed } from './follow/cursor.ts';
import type { FollowOptions } from './follow/follow.ts';
import type { ActOptions, ApproveOptions, DenyOptions, WaitingApproval } from './sessions/decide.ts';
import type { ListOptions, PageOptions, SessionCounts, SessionPage } from './sessions/find/list-sessions.ts';
import type { SessionDescription, SessionInfo } from './sessions/info.ts';
import type { Prompt } from './sessions/prompt.ts';
import type { RunOutcome } from './sessions/outcome.ts';
import type { Damage } from './sessions/repair.ts';
import type { Snipped } from './sessions/snip.ts';
import type { Schedules } from './schedules/schedules.ts';
import type { OnceOptions, SendOptions, Sent, StartOptions } from './sessions/start.ts';
import type { Aside } from './sessions/updates/ask-aside.ts';

/** `from`: the position of the first entry that is wanted; absent: 0. */
export type TranscriptOptions = Abortable & { readonly from?: number };

/** Positions count from 0, and an entry keeps its own for ever. */
export type TranscriptEntry = { readonly position: number; readonly entry: Entry };

/**
 * Every method throws ClientProblem, a sentence with a `kind`; those that read a transcript throw
 * StoreError too. A wait whose `signal` is aborted throws the signal's reason: what was sent by
 * then may have arrived.
 */
export type PerdureClient = {
  /**
   * Durable when it resolves. A `session` that is open already takes the task as its next message,
   * options included.
   */
  start(task: Prompt, options?: StartOptions): Promise<Sent>;
  /**
   * Durable when it resolves, with no worker alive. Sent again with its `messageId` it counts once.
   */
  send(session: string, prompt: Prompt, options?: SendOptions): Promise<Sent>;
  /** Ends the run, which returns with what it has; the session stays open. */
  interrupt(session: string, options?: OnceOptions): Promise<void>;
  /** Ends what runs, and the session with it (L49). */
  cancel(session: string, options?: ActOptions): Promise<void>;
  /** Ends a parking early (L14). */
  resume(session: string, options?: OnceOptions): Promise<void>;
  /**
   * Raises limits of the run under way: what it decides next counts with them. A worker has to run.
   */
  topUp(session: string, limits: TopUp, options?: ActOptions): Promise<void>;
  /**
   * Options from the next run on; the one under way keeps its own (L57). null takes one back. A
   * worker has to run.
   */
  setOptions(session: string, changes: OptionChanges, options?: ActOptions): Promise<void>;
  /**
   * A question aside: the session's model answers it from what it knows by now, and the
   * conversation keeps no trace of it. What it costs counts as the session's. A worker has to run.
   */
  askAside(session: string, question: string, options?: ActOptions): Promise<Aside>;
  /**
   * Calls that wait for a decision or, with `question`, for an answer, of one session or of all
   * that are open, with their inputs (L55). No worker is needed.
   */
  approvals(session?: string, options?: Abortable): Promise<readonly WaitingApproval[]>;
  /** Returns what was decided about. A worker has to run: it takes the decision, once. */
  approve(session: string, call: string, options?: ApproveOptions): Promise<PendingApproval>;
  deny(session: string, call: string, reason: string, options?: DenyOptions): Promise<PendingApproval>;
  /**
   * Answers a question of the model (L81): with one of its options, where it has some. A worker has
   * to run: it takes the answer, once.
   */
  answer(session: string, call: string, text: string, options?: ActOptions): Promise<PendingApproval>;
  /**
   * From its next request on the model no longer sees these entries, by position. Each must be one
   * a snip can mean, and stays (L7).
   */
  snip(session: string, entries: readonly number[], options?: ActOptions): Promise<Snipped>;
  /**
   * Whether its transcript can be read to its end, and what is lost of one that cannot. No worker
   * is needed.
   */
  damage(session: string, options?: Abortable): Promise<Damage>;
  /**
   * It goes on from the last whole step; what is lost is told in its transcript. It must be idle,
   * and a worker has to run.
   */
  repair(session: string, options?: ActOptions): Promise<Damage>;
  /** Newest first, or as the filter says (docs/finding.md). */
  list(which?: ListOptions): AsyncIterable<SessionInfo>;
  /** The same, a page at a time; `next` of one is `after` of the next. */
  page(which?: PageOptions): Promise<SessionPage>;
  /** How many there are of each phase. */
  counts(which?: ListOptions): Promise<SessionCounts>;
  describe(session: string, options?: Abortable): Promise<SessionDescription>;
  /** Events as they come, then the run's result. */
  follow(session: string, options?: FollowOptions): AsyncIterable<Followed>;
  /** The outcome of run `run`, or of the last that ended; null when none has. */
  result(session: string, run?: number, options?: Abortable): Promise<RunOutcome | null>;
  /** Prompts at the times of a cron expression (L87). */
  readonly schedules: Schedules;
  /** All that was ever said, oldest first, over compactions; as of now, read a piece at a time. */
  transcript(session: string, options?: TranscriptOptions): AsyncIterable<TranscriptEntry>;
};
