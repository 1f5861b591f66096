// Follows a session to the end of a run. The live channel gives the events; the session's memo and
// the store say how it ended, also when the channel is lost, and what is shown comes to the same as
// the transcript. A follower holds nothing on the server.
import type { Told, Watched } from '../../store/live/events.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import type { ApprovalEvent, WaitingApproval } from '../sessions/decide.ts';
import { createConverging, outcomeSeen } from './converge.ts';
import { cursorAfter, type Followed, type SeenIteration } from './cursor.ts';
import { type Goal, goalAfter, goalOf, isNone, reachesGoal, runGate } from './goal.ts';
import { createMailbox, type Mailbox } from '../async.ts';
import { pause } from '../../system/async.ts';
import { ClientProblem } from '../problem.ts';
import type { SessionDescription } from '../sessions/info.ts';
import { checkedMessageId } from '../sessions/prompt.ts';
import type { LiveEvents } from '../sessions/start.ts';
import { hostTeller } from '../sessions/worker-polls.ts';
import type { TranscriptReader } from '../sessions/read.ts';
import type { PendingApproval } from '../../workflows/contract/session.ts';

type FollowPorts = TranscriptReader & {
  readonly live: LiveEvents;
  /**
   * The newest head, which is nowhere but with the server. Absent: steps are seen by the live
   * channel alone.
   */
  readonly head?: (session: SessionId) => Promise<Hash | null>;
  /** Throws ClientProblem: `no_session`, or `unanswered` when the server does not answer now. */
  look(session: SessionId): Promise<SessionDescription>;
  /** Milliseconds between looks. */
  readonly everyMs: number;
};

export type FollowOptions = {
  /** Follow to the end of the run that answers it; absent: of what runs now, or ran last. */
  readonly messageId?: string | undefined;
  /**
   * Instead of a message: follow the first run after the run of this number, or run `run` from
   * behind its iteration `iteration` on. What is followed ends without a result when there is no
   * such run.
   */
  readonly after?: number | SeenIteration | undefined;
  /** Ends the iteration, without a result. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The server does not answer: why, once; null when it does again. Following goes on meanwhile.
   */
  readonly onTrouble?: ((why: string | null) => void) | undefined;
  /**
   * A sentence: the live channel is lost, or is back (meanwhile each step is shown when it is
   * stored); its host is away, or is back.
   */
  readonly onNotice?: ((line: string) => void) | undefined;
  /** Told the transcript's head when a step has stored something: what is before it can be read. */
  readonly onHead?: ((head: Hash) => void) | undefined;
};

/** Milliseconds. Its worker may have died with the last word. */
const SETTLE_MS = 2_000;
const SETTLE_LOOK_MS = 15;
/** What waits in memory for one who reads slowly: the rest they are shown when it is stored. */
const MOST_WAITING = 5_000;

/**
 * Throws ClientProblem when there is no such session or the run will never come, StoreError when
 * its end cannot be read.
 */
export async function* follow(
  ports: FollowPorts,
  session: SessionId,
  options: FollowOptions = {},
): AsyncGenerator<Followed, void> {
  const cursor = options.after === undefined ? null : cursorAfter(options.after);
  const message = options.messageId === undefined ? null : checkedMessageId(options.messageId);
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
    liveNews(ports.live(session, signal, onLive), news, () => onLive('it is read too slowly')),
    lookNews({
      look: () => ports.look(session),
      first,
      everyMs: ports.everyMs,
      signal,
      onTrouble: options.onTrouble,
      onHost: hostTeller(options.onNotice),
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
  const told = createConverging(ports, session, goal.from, ports.onHead);
  const pass = async function* (events: readonly Told[]): AsyncGenerator<Watched, void> {
    for (const event of events) yield* await told.pass(event);
  };
  const approvals = approvalNews((pending) => ports.waiting(session, pending));
  let ended = false;
  let looks = 0;
  for await (const item of news) {
    if (item.kind === 'broken') throw item.error;
    if (item.kind === 'event') {
      yield* pass(gate.pass(item.event));
      if (item.event.type !== 'run_end' || !reachesGoal(goal, item.event.ended)) continue;
      // The end of the run itself was lost, and this is the next one's.
      if (gate.after !== null && goal.message === null) continue;
      yield* pass(gate.goOn(item.event.ended.run - 1));
      const outcome = await ports.outcome(session, item.event.head, item.event.ended.run);
      await settled(ports, session, item.event.ended.run);
      yield outcome;
      return;
    }
    looks += 1;
    // A question comes below what was said before it: by the second look the channel has told what
    // it had.
    if (looks > 1 && goal.underWay) yield* pass(gate.open());
    if (looks > 1) yield* approvals(item.seen);
    if (isNone(goal, item.seen)) return;
    const end = await outcomeSeen(ports, goal, item.seen);
    // The live channel may be a moment behind: its end is better, for it tells what is not stored
    // too.
    if (end && (ended || gate.after !== null)) {
      if (end.head !== null) yield* await told.end(end.head, end.run);
      return yield end.outcome;
    }
    ended = end !== null;
    const head = ended ? null : await newestHead();
    if (head !== null) yield* await told.pass({ type: 'stored', step: 0, attempt: 0, head });
    if (!ended) yield* pass(gate.goOn(item.seen.last?.run ?? 0));
  }
}

/**
 * The run's end is stored a moment before the session says so: whoever looks, or leaves, after the
 * result finds it at rest.
 */
async function settled(ports: FollowPorts, session: SessionId, run: number): Promise<void> {
  const enough = AbortSignal.timeout(SETTLE_MS);
  try {
    while (((await ports.look(session)).last?.run ?? 0) < run) if (!(await pause(SETTLE_LOOK_MS, enough))) return;
  } catch (error) {
    if (!(error instanceof ClientProblem)) throw error;
  }
}

// The two sources a follower reads: the live channel, and a look at the session every second or so.

type News =
  | { readonly kind: 'event'; readonly event: Told }
  | { readonly kind: 'look'; readonly seen: SessionDescription }
  /** Looking makes no sense any more. */
  | { readonly kind: 'broken'; readonly error: unknown };

/** The channel is best effort: when it breaks, looking goes on, and the store has what counts. */
async function liveNews(events: AsyncIterable<Told>, news: Mailbox<News>, leave: () => void): Promise<void> {
  try {
    for await (const event of events)
      if (news.waiting < MOST_WAITING) news.push({ kind: 'event', event });
      else return leave();
  } catch {
    // Whatever broke it.
  }
}

type LookNews = {
  readonly look: () => Promise<SessionDescription>;
  readonly first: SessionDescription;
  readonly everyMs: number;
  readonly signal: AbortSignal;
  readonly onTrouble: ((why: string | null) => void) | undefined;
  readonly onHost: (seen: SessionDescription) => void;
  readonly news: Mailbox<News>;
};

async function lookNews({ look, first, everyMs, signal, onTrouble, onHost, news }: LookNews): Promise<void> {
  const push = (seen: SessionDescription): void => {
    onHost(seen);
    if (news.waiting < 2 * MOST_WAITING) news.push({ kind: 'look', seen });
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

const LIVE_AGAIN = 'the live channel is back: what happens is shown while it happens';

/** For a follower whose live channel is lost: the head, when it is another than the last time. */
function headReader(
  { head: read }: FollowPorts,
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

// Events about calls that wait for a decision: once that one waits, and once that it no longer does
// (L55).

type ApprovalNews = (seen: SessionDescription) => AsyncIterable<ApprovalEvent>;

function approvalNews(read: (pending: PendingApproval) => Promise<WaitingApproval>): ApprovalNews {
  /** By call, the input that was told of: an edited one may have to be decided about again. */
  const told = new Map<string, string>();
  return async function* ({ session, approvals = [] }) {
    const waiting = new Map(approvals.map((pending) => [pending.call, pending]));
    for (const [call, inputHash] of told) {
      if (waiting.get(call)?.inputHash === inputHash) continue;
      told.delete(call);
      yield { type: 'approval_settled', session, call };
    }
    for (const pending of approvals) {
      if (told.has(pending.call)) continue;
      told.set(pending.call, pending.inputHash);
      yield { type: pending.question ? 'question' : 'approval', ...(await read(pending)) };
    }
  };
}
