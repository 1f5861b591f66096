// Follows a session to the end of a run. The live channel gives the events; the session's memo and the store say how it ended,
// also when the channel is lost. A follower holds nothing on the server.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Watched } from '../activities/live/events.ts';
import type { Hash, MessageId, SessionId } from '../workflows/contract/ids.ts';
import { noUsage } from '../workflows/contract/loop.ts';
import type { RunSummary } from '../workflows/contract/session.ts';
import type { Entry } from '../activities/transcript/entries.ts';
import { type Goal, goalOf, reaches, sighting } from './follow-goal.ts';
import { type Mailbox, mailbox } from './mailbox.ts';
import { ClientProblem } from './problem.ts';
import { type RunOutcome, terminalDetail } from './run-outcome.ts';
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
  readonly messageId?: MessageId;
  /** Ends the iteration, without a result. */
  readonly signal?: AbortSignal;
  /** The server does not answer: why, once; null when it does again. Following goes on meanwhile. */
  readonly onTrouble?: (why: string | null) => void;
};

export type Followed = Watched | RunOutcome;

type News =
  | { readonly kind: 'event'; readonly event: Watched }
  | { readonly kind: 'look'; readonly seen: SessionDescription }
  | { readonly kind: 'broken'; readonly error: unknown };

/** Throws ClientProblem when there is no such session or the run will never come, StoreError when its end cannot be read. */
export async function* follow(
  ports: FollowPorts,
  session: SessionId,
  options: FollowOptions = {},
): AsyncGenerator<Followed, void> {
  const first = await ports.look(session);
  const goal = goalOf(first, options.messageId ?? null);
  const stop = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
  const news = mailbox<News>();
  signal.addEventListener('abort', news.close, { once: true });
  const pumps = [pumpLive(ports, session, signal, news), pumpLooks(ports, session, first, signal, options, news)];
  try {
    if (!signal.aborted) yield* read(ports, session, goal, news, signal);
  } finally {
    stop.abort();
    await Promise.all(pumps);
  }
}

async function* read(
  ports: FollowPorts,
  session: SessionId,
  goal: Goal,
  news: Mailbox<News>,
  signal: AbortSignal,
): AsyncGenerator<Followed, void> {
  const gate = runGate(goal);
  let ended = false;
  for await (const item of news) {
    if (signal.aborted) return;
    if (item.kind === 'broken') throw item.error;
    if (item.kind === 'event') {
      yield* gate(item.event);
      if (item.event.type !== 'run_end' || !reaches(goal, item.event.ended)) continue;
      return yield await ports.outcome(session, item.event.head, item.event.ended.run);
    }
    const outcome = await outcomeSeen(ports, session, goal, item.seen);
    // The live channel may be a moment behind: its end is better, for all that came before it was shown.
    if (outcome && ended) return yield outcome;
    ended = outcome !== null;
  }
}

/** Passes events on from the first run of interest; what was there of earlier runs is dropped. */
function runGate(goal: Goal): (event: Watched) => readonly Watched[] {
  let open = goal.underWay;
  let held: Watched[] = [];
  return (event) => {
    if (open) return [event];
    if (event.type === 'run_end' && event.ended.run < goal.from) {
      held = [];
      return [];
    }
    held.push(event);
    open = (event.type === 'run_start' && event.run >= goal.from) || event.type === 'run_end';
    if (!open) return [];
    const passed = event.type === 'run_start' ? [event] : held;
    held = [];
    return passed;
  };
}

async function outcomeSeen(
  ports: FollowPorts,
  session: SessionId,
  goal: Goal,
  seen: SessionDescription,
): Promise<RunOutcome | null> {
  const sight = sighting(goal, seen);
  switch (sight.kind) {
    case 'not_yet':
      return null;
    case 'never':
      throw neverTaken(session, seen, goal);
    case 'ended':
      return fromStore(ports, session, sight.summary, sight.summary.run);
    case 'search': {
      const run = runOf(await ports.entries(session, sight.summary.head), goal.message);
      if (run !== null) return fromStore(ports, session, sight.summary, run);
      if (seen.phase === 'closed') throw neverTaken(session, seen, goal);
      return null;
    }
  }
}

function runOf(entries: readonly Entry[], message: MessageId | null): number | null {
  for (const entry of entries) {
    if (entry.kind === 'run_ended' && message !== null && entry.ended.messages.includes(message)) return entry.ended.run;
  }
  return null;
}

async function fromStore(ports: FollowPorts, session: SessionId, summary: RunSummary, run: number): Promise<RunOutcome> {
  const { head } = summary;
  return head === null ? unstored(session, summary) : ports.outcome(session, head satisfies Hash, run);
}

/** Not even the run's start could be stored; the memo says how it ended. */
function unstored(session: SessionId, { terminal, turns, iterations }: RunSummary): RunOutcome {
  const detail = terminalDetail(terminal);
  return {
    type: 'result',
    sessionId: session,
    reason: terminal.reason,
    turns,
    iterations,
    transitions: [],
    text: '',
    usage: noUsage,
    costUsd: null,
    durationMs: 0,
    ...(detail === undefined ? {} : { detail }),
  };
}

function neverTaken(session: SessionId, { status }: SessionDescription, goal: Goal): ClientProblem {
  const how = status === 'open' ? 'closed' : status.replace('_', ' ');
  const what = goal.message === null ? 'before a run of it ended' : 'and never took the message';
  return new ClientProblem('closed', `session ${session} was ${how} ${what}; \`perdure show ${session}\` has what there is`);
}

/** The channel is best effort: when it breaks, looking goes on. */
async function pumpLive(ports: FollowPorts, session: SessionId, signal: AbortSignal, news: Mailbox<News>): Promise<void> {
  try {
    for await (const event of ports.live(session, signal)) {
      if (signal.aborted) return;
      news.push({ kind: 'event', event });
    }
  } catch {
    // Whatever broke it, the store has what counts.
  }
}

async function pumpLooks(
  ports: FollowPorts,
  session: SessionId,
  first: SessionDescription,
  signal: AbortSignal,
  { onTrouble }: FollowOptions,
  news: Mailbox<News>,
): Promise<void> {
  let trouble = false;
  for (let seen: SessionDescription | null = first; ; seen = null) {
    try {
      news.push({ kind: 'look', seen: seen ?? (await ports.look(session)) });
      if (trouble) onTrouble?.(null);
      trouble = false;
    } catch (error) {
      if (!(error instanceof ClientProblem) || error.kind !== 'unanswered') return news.push({ kind: 'broken', error });
      if (!trouble) onTrouble?.(error.message);
      trouble = true;
    }
    try {
      await sleep(ports.everyMs, undefined, { signal });
    } catch {
      return;
    }
  }
}
