// Follows a session to the end of a run. The live channel gives the events; the session's memo and
// the store say how the run ended even if the channel is lost, and what is shown ends up equal to
// the transcript. A follower holds nothing on the server.
import type { ChannelItem, WatchedEvent } from '../../store/live/events.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';

import { createConverger } from './converge.ts';
import { findOutcome } from './find-outcome.ts';
import { cursorAfter, type Followed, type SeenIteration } from './cursor.ts';
import { type Goal, goalAfter, goalOf, hasNoRun, reachesGoal } from './goal.ts';
import { runGate } from './run-gate.ts';
import { createMailbox } from '../mailbox.ts';
import { pause } from '../../system/async.ts';
import { ClientProblem } from '../problem.ts';
import type { SessionDescription } from '../sessions/info.ts';
import { parseMessageId } from '../sessions/message-id.ts';
import type { LiveEvents } from '../sessions/start.ts';
import { announceHostChanges } from '../sessions/observed-phase.ts';
import type { TranscriptReader } from '../sessions/transcript-reader.ts';

import { type News, pushLiveEvents, pushLooks, LIVE_AGAIN, headReader } from './news.ts';
import { watchApprovals } from './approval-news.ts';

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
  const told = createConverger(ports, session, goal.from, ports.onHead);
  const pass = async function* (events: readonly ChannelItem[]): AsyncGenerator<WatchedEvent, void> {
    for (const event of events) yield* await told.pass(event);
  };
  const approvals = watchApprovals((pending) => ports.waiting(session, pending));
  // A run may end before another look sees that its call was decided.
  const settled = () => approvals({ session });
  let ended = false;
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
    if (end && (ended || gate.after !== null)) {
      if (end.head !== null) yield* await told.end(end.head, end.run);
      yield* settled();
      return yield end.outcome;
    }
    ended = end !== null;
    const head = ended ? null : await newestHead();
    if (head !== null) yield* await told.pass({ type: 'stored', step: 0, attempt: 0, head });
    if (!ended) yield* pass(gate.goOn(item.seen.last?.run ?? 0));
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
