// Follows a session to the end of a run. The live channel gives the events; the session's memo and the store say how it ended,
// also when the channel is lost. A follower holds nothing on the server.
import type { Watched } from '../activities/live/events.ts';
import type { MessageId, SessionId } from '../workflows/contract/ids.ts';
import type { ApprovalEvent } from './approval.ts';
import { approvalNews } from './follow-approvals.ts';
import { type Goal, goalOf, reaches } from './follow-goal.ts';
import { runGate } from './run-gate.ts';
import { lookNews, liveNews, type News } from './follow-news.ts';
import { outcomeSeen } from './follow-outcome.ts';
import { mailbox } from './mailbox.ts';
import { pause } from './pause.ts';
import { ClientProblem } from './problem.ts';
import type { RunOutcome } from './run-outcome.ts';
import type { SessionDescription } from './session-info.ts';
import type { TranscriptReader } from './transcript.ts';

export type FollowPorts = TranscriptReader & {
  live(session: SessionId, signal: AbortSignal): AsyncIterable<Watched>;
  /** Throws ClientProblem: `no_session`, or `unanswered` when the server does not answer now. */
  look(session: SessionId): Promise<SessionDescription>;
  /** Milliseconds between looks. */
  readonly everyMs: number;
};

export type FollowOptions = {
  /** Follow to the end of the run that answers it; absent: of what runs now, or ran last. */
  readonly messageId?: MessageId | undefined;
  /** Ends the iteration, without a result. */
  readonly signal?: AbortSignal | undefined;
  /** The server does not answer: why, once; null when it does again. Following goes on meanwhile. */
  readonly onTrouble?: ((why: string | null) => void) | undefined;
};

/** Milliseconds. Its worker may have died with the last word. */
const SETTLE_MS = 2_000;
const SETTLE_LOOK_MS = 15;

export type Followed = Watched | ApprovalEvent | RunOutcome;

/** Throws ClientProblem when there is no such session or the run will never come, StoreError when its end cannot be read. */
export async function* follow(
  ports: FollowPorts,
  session: SessionId,
  options: FollowOptions = {},
): AsyncGenerator<Followed, void> {
  const first = await ports.look(session);
  const stop = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
  const news = mailbox<News>();
  signal.addEventListener('abort', news.close, { once: true });
  const sources = [
    liveNews(ports.live(session, signal), news),
    lookNews({
      look: () => ports.look(session),
      first,
      everyMs: ports.everyMs,
      signal,
      onTrouble: options.onTrouble,
      news,
    }),
  ];
  try {
    if (!signal.aborted) yield* read(ports, session, goalOf(first, options.messageId ?? null), news);
  } finally {
    stop.abort();
    await Promise.all(sources);
  }
}

async function* read(
  ports: FollowPorts,
  session: SessionId,
  goal: Goal,
  news: AsyncIterable<News>,
): AsyncGenerator<Followed, void> {
  const gate = runGate(goal);
  const approvals = approvalNews((pending) => ports.waiting(session, pending));
  let ended = false;
  let looks = 0;
  for await (const item of news) {
    if (item.kind === 'broken') throw item.error;
    if (item.kind === 'event') {
      yield* gate.pass(item.event);
      if (item.event.type !== 'run_end' || !reaches(goal, item.event.ended)) continue;
      const outcome = await ports.outcome(session, item.event.head, item.event.ended.run);
      await settled(ports, session, item.event.ended.run);
      yield outcome;
      return;
    }
    looks += 1;
    // A question comes below what was said before it: by the second look the channel has told what it had.
    if (looks > 1 && goal.underWay) yield* gate.open();
    if (looks > 1) yield* approvals(item.seen);
    const outcome = await outcomeSeen(ports, goal, item.seen);
    // The live channel may be a moment behind: its end is better, for all that came before it was shown.
    if (outcome && ended) return yield outcome;
    ended = outcome !== null;
  }
}

/** The run's end is stored a moment before the session says so: whoever looks, or leaves, after the result finds it at rest. */
async function settled(ports: FollowPorts, session: SessionId, run: number): Promise<void> {
  const enough = AbortSignal.timeout(SETTLE_MS);
  try {
    while (((await ports.look(session)).last?.run ?? 0) < run) if (!(await pause(SETTLE_LOOK_MS, enough))) return;
  } catch (error) {
    if (!(error instanceof ClientProblem)) throw error;
  }
}
