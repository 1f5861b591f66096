// The type of the client: each method with its arguments and its result (Q10).
import type { Entry } from '../store/log/entries.ts';
import type { OptionChanges, PendingApproval, RuleChanges, TopUp } from '../workflows/contract/session.ts';
import type { Abortable } from './async.ts';
import type { Followed } from './follow/news.ts';
import type { FollowOptions } from './follow/follow.ts';
import type { ActOptions, ApproveOptions, DenyOptions, WaitingApproval } from './sessions/waiting-approval.ts';
import type { FilesCapture } from './sessions/files/calls-behind.ts';
import type { DiffOptions, SessionDiff } from './sessions/files/diff-session.ts';
import type { ForkOptions, ForkResult } from './sessions/fork/fork-session.ts';
import type { Moved } from '../workflows/contract/hosts.ts';
import type { MoveOptions } from './sessions/move-session.ts';
import type { RewindOptions, UndoResult, RewindResult, UndoOptions } from './sessions/files/rewind-session.ts';
import type { SessionCounts } from './sessions/find/count-sessions.ts';
import type { ListOptions, PageOptions, SessionPage } from './sessions/find/list-sessions.ts';
import type { SessionDescription, SessionInfo } from './sessions/info.ts';
import type { Prompt } from './sessions/prompt.ts';
import type { RunOutcome } from './sessions/outcome.ts';
import type { Damage } from './sessions/repair.ts';
import type { Snipped } from './sessions/snip.ts';
import type { Schedules } from './schedules/schedules.ts';
import type { OnceOptions, SendOptions, Sent, StartOptions } from './sessions/start.ts';
import type { SideAnswer } from './sessions/updates/update.ts';

/**
 * Options of `transcript()`. `from` is the position of the first entry to read; it is 0 when
 * absent.
 */
export type TranscriptOptions = Abortable & { readonly from?: number };

/** An entry with its position. Positions count from 0 and never change. */
export type TranscriptEntry = { readonly position: number; readonly entry: Entry };

/**
 * Every method throws ClientProblem, a sentence with a `kind`; methods that read a transcript throw
 * StoreError too. A wait whose `signal` is aborted throws the signal's reason: what was sent by
 * then may have arrived.
 */
export type PerdureClient = {
  /**
   * Starts a run and resolves when the task is durable. An open `session` takes the task as its
   * next message, options included.
   */
  start(task: Prompt, options?: StartOptions): Promise<Sent>;
  /**
   * Sends a message and resolves when it is durable; no worker has to be alive. A message sent
   * again with its `messageId` counts once.
   */
  send(session: string, prompt: Prompt, options?: SendOptions): Promise<Sent>;
  /** Ends the run, which returns what it has. The session stays open. */
  interrupt(session: string, options?: OnceOptions): Promise<void>;
  /** Ends what runs, and the session with it (L49). */
  cancel(session: string, options?: ActOptions): Promise<void>;
  /** Ends a parking early (L14). */
  resume(session: string, options?: OnceOptions): Promise<void>;
  /**
   * Raises limits of the current run, or sets and lowers them with `exact`; its next decision
   * counts with them. Needs a running worker.
   */
  topUp(session: string, limits: TopUp, options?: ActOptions): Promise<void>;
  /**
   * Gives the current run more rules that allow, or takes such rules back; they hold from the next
   * call on, and calls that wait go on waiting. Needs a running worker.
   */
  changeRules(session: string, rules: RuleChanges, options?: ActOptions): Promise<void>;
  /**
   * Sets options from the next run on; the current run keeps its own (L57). null takes one back.
   * Needs a running worker.
   */
  setOptions(session: string, changes: OptionChanges, options?: ActOptions): Promise<void>;
  /**
   * Asks a question aside: the session's model answers from its current context, and the
   * conversation keeps no trace. The session pays the cost. Needs a running worker.
   */
  askAside(session: string, question: string, options?: ActOptions): Promise<SideAnswer>;
  /**
   * Lists calls that wait for a decision and questions that wait for an answer (those have
   * `question`), with their inputs (L55). Covers one session, or all open ones. Needs no worker.
   */
  approvals(session?: string, options?: Abortable): Promise<readonly WaitingApproval[]>;
  /**
   * Approves a call and returns what was decided about. Needs a running worker, which takes the
   * decision once.
   */
  approve(session: string, call: string, options?: ApproveOptions): Promise<PendingApproval>;
  deny(session: string, call: string, reason: string, options?: DenyOptions): Promise<PendingApproval>;
  /**
   * Answers a question of the model (L81), with one of its options if it has some. Needs a running
   * worker, which takes the answer once.
   */
  answer(session: string, call: string, text: string, options?: ActOptions): Promise<PendingApproval>;
  /**
   * Hides entries, by position, from the model from its next request on; they stay in the
   * transcript. Each entry must be one that a snip can hide (L7).
   */
  snip(session: string, entries: readonly number[], options?: ActOptions): Promise<Snipped>;
  /**
   * Tells whether the transcript can be read to its end, and what is lost if it cannot. Needs no
   * worker.
   */
  damage(session: string, options?: Abortable): Promise<Damage>;
  /**
   * Continues a damaged session from its last whole step and records in the transcript what is
   * lost. The session must be idle, and a worker must run.
   */
  repair(session: string, options?: ActOptions): Promise<Damage>;
  /** Lists sessions, newest first or in the filter's order (docs/finding.md). */
  list(which?: ListOptions): AsyncIterable<SessionInfo>;
  /** Lists sessions a page at a time: pass a page's `next` as `after` for the following one. */
  page(which?: PageOptions): Promise<SessionPage>;
  /** Counts sessions by phase. */
  counts(which?: ListOptions): Promise<SessionCounts>;
  describe(session: string, options?: Abortable): Promise<SessionDescription>;
  /** Yields events as they come, then the run's result. */
  follow(session: string, options?: FollowOptions): AsyncIterable<Followed>;
  /** Returns the outcome of run `run`, or of the last run that ended; null when none has. */
  result(session: string, run?: number, options?: Abortable): Promise<RunOutcome | null>;
  /** Sends prompts at the times of a cron expression (L87). */
  readonly schedules: Schedules;
  /**
   * Yields the whole transcript up to now, oldest first, across compactions. It is read a piece at
   * a time.
   */
  transcript(session: string, options?: TranscriptOptions): AsyncIterable<TranscriptEntry>;
  /**
   * Takes a session that is at rest back to an earlier point: its conversation, its files, or both
   * (T6). What was left behind stays stored and paid for, and is never sent again. Needs a running
   * worker on the machine that has the files.
   */
  rewind(session: string, options?: RewindOptions): Promise<RewindResult>;
  /** Undoes the last rewind, also one that was an undo (T7). */
  undoRewind(session: string, options?: UndoOptions): Promise<UndoResult>;
  /**
   * Moves the session with its files to another host, where hosts share a store (T20): at once
   * where it is at rest, else before its next model call; while agents work for it in the
   * background, when they have ended. Needs a running worker there.
   */
  move(session: string, options?: MoveOptions): Promise<Moved>;
  /**
   * Begins a session of its own that goes on from a point of this one (T10), which may run
   * meanwhile or be closed. The conversation up to there is shared, not copied. Resolves when the
   * fork is durable; a worker of the machine that has the snapshots checks its files out before its
   * first run.
   */
  fork(session: string, options?: ForkOptions): Promise<ForkResult>;
  /** Lists the captures of the session's files, and the calls that changed them (T5). */
  files(session: string, options?: Abortable): Promise<readonly FilesCapture[]>;
  /**
   * Tells what has changed in the session's folders between two points (T11). Reads the snapshots
   * of this machine's data folder by git; needs no worker.
   */
  diff(session: string, options?: DiffOptions): Promise<SessionDiff>;
};
