// Follows a session to the end of a run. The live channel gives the events; the session's memo and
// the store say how the run ended even if the channel is lost, and what is shown ends up equal to
// the transcript. A follower holds nothing on the server.
import type { ChannelItem, WatchedEvent } from '../../store/live/events.ts';
import type { Hash, MessageId, SessionId } from '../../workflows/contract/ids.ts';
import { createConverger } from './ledger.ts';
import {
  cursorAfter,
  type Followed,
  type Goal,
  goalAfter,
  goalOf,
  hasNoRun,
  headReader,
  LIVE_AGAIN,
  lookForGoal,
  type News,
  pushLiveEvents,
  pushLooks,
  reachesGoal,
  type SeenIteration,
} from './news.ts';
import { createMailbox } from '../async.ts';
import { pause } from '../../system/async.ts';
import { ClientProblem } from '../problem.ts';
import type { SessionDescription } from '../sessions/info.ts';
import { parseMessageId } from '../sessions/ids.ts';
import type { LiveEvents } from '../sessions/start.ts';
import { announceHostChanges } from '../sessions/watch-pollers.ts';
import type { TranscriptReader } from '../sessions/transcript-reader.ts';
import type { ApprovalEvent, WaitingApproval } from '../sessions/waiting-approval.ts';
import type { PendingApproval, RunSummary } from '../../workflows/contract/session.ts';
import type { Entry } from '../../store/log/entries.ts';
import { noUsage } from '../../workflows/contract/loop.ts';
import { type RunOutcome, terminalDetail } from '../sessions/outcome.ts';

type FollowPorts = TranscriptReader & {
  readonly live: LiveEvents;
  /**
   * Reads the newest head, which only the server knows. Absent: steps are seen by the live channel
   * alone.
   */
  readonly head?: (session: SessionId) => Promise<Hash | null>;
  /** Throws ClientProblem: `no_session`, or `unanswered` when the server does not answer now. */
  look(session: SessionId): Promise<SessionDescription>;
  /** Milliseconds between looks. */
  readonly everyMs: number;
};

export type FollowOptions = {
  /**
   * Follows to the end of the run that answers this message. Absent: to the end of the current run,
   * or the last one.
   */
  readonly messageId?: string | undefined;
  /**
   * An alternative to a message. A number follows the first run after that run; an iteration
   * follows its run from behind that iteration. The iteration ends without a result when the run
   * does not exist.
   */
  readonly after?: number | SeenIteration | undefined;
  /** Ends the iteration, without a result. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called once with the reason when the server does not answer, and with null when it does again.
   * Following goes on meanwhile.
   */
  readonly onTrouble?: ((why: string | null) => void) | undefined;
  /**
   * Gets a sentence when the live channel is lost (each step is then shown when it is stored) or
   * back, and when the session's host is away or back.
   */
  readonly onNotice?: ((line: string) => void) | undefined;
  /**
   * Gets the transcript's head when a step has stored something: everything up to it can be read.
   */
  readonly onHead?: ((head: Hash) => void) | undefined;
};

/**
 * Milliseconds to wait for the session to come to rest. Its worker may have died with the last
 * word.
 */
const SETTLE_MS = 2_000;
const SETTLE_LOOK_MS = 15;

/**
 * Yields events up to the end of the run, then its outcome. Throws ClientProblem when the session
 * does not exist or the run will never come, StoreError when its end cannot be read.
 */
export async function* follow(
  ports: FollowPorts,
  session: SessionId,
  options: FollowOptions = {},
): AsyncGenerator<Followed, void> {
  const cursor = options.after === undefined ? null : cursorAfter(options.after);
  const message = options.messageId === undefined ? null : parseMessageId(options.messageId);
  const first = await ports.look(session);
  const stop = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
  const news = createMailbox<News>();
  signal.addEventListener('abort', news.close, { once: true });
  const channel = { isLost: false };
  const onLive = (why: string | null): void => {
    channel.isLost = why !== null;
    options.onNotice?.(why === null ? LIVE_AGAIN : `each step is shown when it is stored, for now: ${why}`);
  };
  const sources = [
    pushLiveEvents(ports.live(session, signal, onLive), news, () => onLive('it is read too slowly')),
    pushLooks({
      look: () => ports.look(session),
      first,
      everyMs: ports.everyMs,
      signal,
      onTrouble: options.onTrouble,
      onHost: announceHostChanges(options.onNotice),
      news,
    }),
  ];
  try {
    const goal = cursor ? goalAfter(cursor.run) : goalOf(first, message);
    if (signal.aborted) return;
    const sight = { news, newestHead: headReader(ports, session, channel) };
    for await (const event of readRun({ ...ports, onHead: options.onHead }, session, goal, sight))
      yield* cursor ? cursor.pass(event) : [event];
  } finally {
    stop.abort();
    await Promise.all(sources);
  }
}

async function* readRun(
  ports: FollowPorts & Pick<FollowOptions, 'onHead'>,
  session: SessionId,
  goal: Goal,
  { news, newestHead }: { readonly news: AsyncIterable<News>; readonly newestHead: () => Promise<Hash | null> },
): AsyncGenerator<Followed, void> {
  const gate = runGate(goal);
  const converger = createConverger(ports, session, goal.from, ports.onHead);
  const pass = async function* (events: readonly ChannelItem[]): AsyncGenerator<WatchedEvent, void> {
    for (const event of events) yield* await converger.pass(event);
  };
  const approvals = watchApprovals((pending) => ports.waiting(session, pending));
  // A run may end before another look sees that its call was decided.
  const settled = () => approvals({ session });
  let wasOver = false;
  let looks = 0;
  for await (const item of news) {
    if (item.kind === 'broken') throw item.error;
    if (item.kind === 'event') {
      yield* pass(gate.pass(item.event));
      if (item.event.type !== 'run_end' || !reachesGoal(goal, item.event.ended)) continue;
      // The end of the run itself was lost; this is the end of the next one.
      if (gate.after !== null && goal.message === null) continue;
      yield* pass(gate.goOn(item.event.ended.run - 1));
      const outcome = await ports.outcome(session, item.event.head, item.event.ended.run);
      await awaitRest(ports, session, item.event.ended.run);
      yield* settled();
      yield outcome;
      return;
    }
    looks += 1;
    // A question comes below what was said before it: by the second look the channel has told all
    // it had.
    if (looks > 1 && goal.underWay) yield* pass(gate.open());
    if (looks > 1) yield* approvals(item.seen);
    if (hasNoRun(goal, item.seen)) return;
    const end = await findOutcome(ports, goal, item.seen);
    // The live channel may be a moment behind. Its end is better, since it also tells what is not
    // stored.
    if (end && (wasOver || gate.after !== null)) {
      if (end.head !== null) yield* await converger.end(end.head, end.run);
      yield* settled();
      return yield end.outcome;
    }
    wasOver = end !== null;
    const head = wasOver ? null : await newestHead();
    if (head !== null) yield* await converger.pass({ type: 'stored', step: 0, attempt: 0, head });
    if (!wasOver) yield* pass(gate.goOn(item.seen.last?.run ?? 0));
  }
}

/**
 * Waits until the session reports the end, which it does a moment after the end is stored. A caller
 * that looks or leaves after the result then finds the session at rest.
 */
async function awaitRest(ports: FollowPorts, session: SessionId, run: number): Promise<void> {
  const enough = AbortSignal.timeout(SETTLE_MS);
  try {
    while (((await ports.look(session)).last?.run ?? 0) < run) if (!(await pause(SETTLE_LOOK_MS, enough))) return;
  } catch (error) {
    if (!(error instanceof ClientProblem)) throw error;
  }
}

// Turns looks into events about calls that wait for a decision: one when a call starts to wait, one
// when it no longer does (L55).
type ApprovalNews = (description: Pick<SessionDescription, 'session' | 'approvals'>) => AsyncIterable<ApprovalEvent>;

function watchApprovals(read: (pending: PendingApproval) => Promise<WaitingApproval>): ApprovalNews {
  /** Input hash by call, as it was told: an edited input may need another decision. */
  const known = new Map<string, string>();
  return async function* ({ session, approvals = [] }) {
    const waiting = new Map(approvals.map((pending) => [pending.call, pending]));
    for (const [call, inputHash] of known) {
      if (waiting.get(call)?.inputHash === inputHash) continue;
      known.delete(call);
      yield { type: 'approval_settled', session, call };
    }
    for (const pending of approvals) {
      if (known.has(pending.call)) continue;
      known.set(pending.call, pending.inputHash);
      yield { type: pending.question ? 'question' : 'approval', ...(await read(pending)) };
    }
  };
}

// Lets through the events of a follower's run. The live channel may still hold the run before it,
// which is dropped. It may already hold the run after it and have lost this run's end, since the
// channel forgets a run when the next one opens; that run is held back.
type RunGate = {
  /** Returns the events that may be shown now that `event` has come. */
  pass(event: ChannelItem): readonly ChannelItem[];
  /** The run's start is lost: every event outside earlier runs belongs to this one. */
  open(): readonly ChannelItem[];
  /** The session reports the end of run `last` and following goes on: later events may be shown. */
  goOn(last: number): readonly ChannelItem[];
  /** Number of the run before the held events, whose end was lost; null otherwise. */
  readonly after: number | null;
};

function runGate({ from }: Pick<Goal, 'from'>): RunGate {
  let isOpen = false;
  let pending: ChannelItem[] = [];
  /** The last run whose end is known. */
  let lastEnded = from - 1;
  let after: number | null = null;
  const open = (): readonly ChannelItem[] => {
    const released = pending;
    [isOpen, pending, after] = [true, [], null];
    return released;
  };
  const goOn = (last: number): readonly ChannelItem[] => {
    lastEnded = Math.max(lastEnded, last);
    return after === null || after > lastEnded ? [] : open();
  };
  return {
    get after() {
      return after;
    },
    open: () => (after === null ? open() : []),
    goOn,
    pass: (event) => {
      const begins = event.type === 'run_start' && event.run >= from;
      if (begins && event.run > lastEnded + 1) after = event.run - 1;
      else if (after === null && isOpen) {
        if (event.type === 'run_end') lastEnded = Math.max(lastEnded, event.ended.run);
        return [event];
      }
      if (after !== null) return (pending.push(event), []);
      if (event.type === 'run_end' && event.ended.run < from) {
        pending = [];
        return [];
      }
      // Events that were held before a start belong to a run whose end was lost.
      if (begins) pending = [];
      pending.push(event);
      if (event.type === 'run_end') lastEnded = Math.max(lastEnded, event.ended.run);
      // A run that could not start has no `run_start`: everything since the last run's end is its
      // own.
      return begins || event.type === 'run_end' ? open() : [];
    },
  };
}

// Finds how the awaited run ended: the memo says that it did, and the store has the outcome, which
// the live channel may have lost.
type RunEnd = {
  readonly outcome: RunOutcome;
  readonly run: number;
  /** The head; null when nothing of it could be stored. */
  readonly head: Hash | null;
};

/**
 * Returns null when the run has not ended. Throws ClientProblem `closed` when it will never end.
 */
async function findOutcome(
  reader: TranscriptReader,
  goal: Goal,
  description: SessionDescription,
): Promise<RunEnd | null> {
  const sight = lookForGoal(goal, description);
  switch (sight.kind) {
    case 'not_yet':
      return null;
    case 'never':
      throw neverEnds(goal, description);
    case 'ended': {
      // Without a message the goal is the first run of interest, even if another has ended since.
      const { run } = sight.summary;
      return outcomeOf(
        reader,
        description.session,
        sight.summary,
        goal.message === null ? Math.min(run, goal.from) : run,
      );
    }
    case 'search': {
      const run = runAnswering(await reader.entries(description.session, sight.summary.head), goal.message);
      if (run !== null) return outcomeOf(reader, description.session, sight.summary, run);
      if (description.phase === 'closed') throw neverEnds(goal, description);
      return null;
    }
  }
}

function runAnswering(entries: readonly Entry[], message: MessageId | null): number | null {
  let found = false;
  for (const entry of entries) {
    if (entry.kind === 'user') found ||= entry.id === message;
    if (entry.kind !== 'run_ended') continue;
    // A compaction that was asked for leaves no message in the transcript.
    if (found || (message !== null && entry.ended.messages.includes(message))) return entry.ended.run;
  }
  return null;
}

async function outcomeOf(
  reader: TranscriptReader,
  session: SessionId,
  summary: RunSummary,
  run: number,
): Promise<RunEnd> {
  const { head } = summary;
  const outcome = head === null ? outcomeFromMemo(session, summary) : await reader.outcome(session, head, run);
  return { outcome, run, head };
}

/** Makes an outcome from the memo when not even the run's start could be stored. */
function outcomeFromMemo(session: SessionId, { run, terminal, turns, iterations }: RunSummary): RunOutcome {
  const detail = terminalDetail(terminal);
  const nothing = { transitions: [], text: '', usage: noUsage, costUsd: null, durationMs: 0 };
  const details = detail === undefined ? {} : { detail };
  return {
    type: 'result',
    sessionId: session,
    run,
    reason: terminal.reason,
    turns,
    iterations,
    ...nothing,
    ...details,
  };
}

function neverEnds({ message }: Goal, { session, status }: SessionDescription): ClientProblem {
  const how = status === 'open' ? 'closed' : status.replace('_', ' ');
  const what = message === null ? 'before a run of it ended' : 'and never took the message';
  const sentence = `session ${session} was ${how} ${what}: \`perdure show ${session}\` has what there is`;
  return new ClientProblem('closed', sentence);
}
