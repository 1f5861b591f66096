// The parts of an entry, and the projection that later entries build on. A part's id is derived
// from its source (G33).
import type { BetaManagedAgentsSessionEvent } from '@anthropic-ai/sdk/resources/beta/sessions';
import { noSpend } from '../../client/faces/contract.ts';
import { placeInName } from '../../client/faces/outside.ts';
import type {
  Bodies,
  CallJudgement,
  Entry,
  Hash,
  MessageBody,
  SessionLabels,
  Spend,
  WaitReason,
} from '../../client/faces/types.ts';
import { eventId, isId } from '../ids.ts';

type Event = BetaManagedAgentsSessionEvent;

/**
 * An event whose content is made when it is sent. `at`: microseconds since the epoch, unique in its
 * session. `entry` holds what `make` needs of the store.
 */
export type EventFact = {
  readonly id: string;
  readonly type: Event['type'];
  readonly at: number;
  readonly entry: Entry | null;
  /** The id of the call whose wait it ended. */
  readonly settles?: string | undefined;
  /** The hash of the session's agent after a change, which the event is to have. */
  readonly agent?: Hash | undefined;
  make(bodies: Bodies): Event;
};

/** A part of an entry before its time is known. */
export type Part = {
  readonly id: string;
  readonly type: Event['type'];
  readonly settles?: string;
  readonly agent?: Hash | undefined;
  make(about: { readonly id: string; readonly processed_at: string }, bodies: Bodies): Event;
};

export type Spending = { readonly spend: Spend; readonly ms: number };

/**
 * A call of the last reply. A custom call is `quiet` until it is reported to an app, and `answered`
 * once it has its result; one that delegates to an agent is `quiet` while its thread reports it.
 */
export type ReplyCall = {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly judged?: CallJudgement | undefined;
  readonly state: 'quiet' | 'told' | 'answered' | 'ended';
};

/**
 * A thread that an agent of the roster works in: a session of its own. `index`: the call of the
 * last reply that began it. `at`: milliseconds since the epoch.
 */
export type Thread = {
  readonly session: string;
  readonly name: string;
  readonly index: number;
  readonly at: number;
  readonly isOver: boolean;
};

/**
 * A call that waits: its name for the workflow, and the id of its event. `thread`: the session of
 * the thread that made the call; absent for the session's own calls.
 */
export type OpenWait = {
  readonly call: string;
  readonly id: string;
  readonly why: WaitReason;
  readonly thread?: string | undefined;
  /** The session was interrupted: a result counts, but no worker may begin. */
  readonly isStopping?: true;
};

/**
 * How an outcome stands: `start` names the span of the grading of its `iteration`, '' before that;
 * `completedAt` is in milliseconds since the epoch, null while it is open.
 */
export type Outcome = {
  readonly id: string;
  readonly description: MessageBody;
  readonly iteration: number;
  readonly start: string;
  readonly result: string;
  readonly explanation: string | null;
  readonly completedAt: number | null;
};

/** The state that later entries need of earlier ones. */
export type Projection = {
  readonly session: string;
  /** Position of the next entry. */
  readonly position: number;
  /** The head that the last rewind left: positions after it are used again. */
  readonly branch: string;
  /** Microseconds since the epoch of the last event. */
  readonly lastAt: number;
  /** Milliseconds since the epoch of the last entry that has a time. */
  readonly time: number;
  /** Position of the run's start until its `status_running` is reported, after the message. */
  readonly starting: number | null;
  /** The run that entries belong to. */
  readonly run: number;
  /** The last reply of the run, which outcomes belong to. */
  readonly reply: ReplyPlace | null;
  /** That reply's calls by their index. */
  readonly calls: Readonly<Record<number, ReplyCall>>;
  /** The calls that wait, in the order of their waits. */
  readonly waiting: readonly OpenWait[];
  /** All threads, in the order in which they began. */
  readonly threads: readonly Thread[];
  /** All outcomes, in the order in which runs took them up; the last one alone may be open. */
  readonly outcomes: readonly Outcome[];
  readonly interrupts: number;
  /** The last item of work of the last report about workers without heartbeats. */
  readonly silent: string;
  /** The total of all ended runs. */
  readonly spending: Spending;
  /** The share of `spending` that agents of threads took. */
  readonly spentInThreads: Spend;
  /** The session's labels as far as changes have told them. */
  readonly labels: SessionLabels;
  /** US dollars (G69); null without a budget. */
  readonly budgetUsd: number | null;
  /** The run under way waits at the budget. */
  readonly isAtBudget: boolean;
  /** When the run under way began, in milliseconds since the epoch, and what its replies took. */
  readonly underWay: { readonly at: number; readonly spend: Spend };
};

export const emptyProjection = (session: string): Projection => ({
  session,
  position: 0,
  branch: '',
  lastAt: 0,
  time: 0,
  starting: null,
  run: 0,
  reply: null,
  calls: {},
  waiting: [],
  threads: [],
  outcomes: [],
  interrupts: 0,
  silent: '',
  spending: { spend: noSpend, ms: 0 },
  spentInThreads: noSpend,
  labels: {},
  budgetUsd: null,
  isAtBudget: false,
  underWay: { at: 0, spend: noSpend },
});

/** The parts that an entry adds, and its changes of the projection. */
export type Step = { readonly parts: readonly Part[]; readonly next: Partial<Projection> };

/** Names a part of the entry at `position`. */
export const partId = ({ session, branch }: Projection, position: number, ...part: (string | number)[]): string =>
  eventId(session, branch, position, ...part);

/** `nth` counts the replies before it in its iteration, of which there are hardly ever any. */
export type ReplyPlace = { readonly run: number; readonly iteration: number; readonly nth: number };

/** Returns the place of the reply that an iteration of the run stores next. */
export const nextReply = ({ run, reply }: Projection, iteration: number): ReplyPlace => ({
  run,
  iteration,
  nth: reply?.run === run && reply.iteration === iteration ? reply.nth + 1 : 0,
});

/**
 * Names a part of a reply by its place in the run, which is known while it streams, unlike its
 * position.
 */
export const replyPartId = (
  { session, branch }: Pick<Projection, 'session' | 'branch'>,
  { run, iteration, nth }: ReplyPlace,
  ...part: (string | number)[]
): string => eventId(session, branch, 'reply', run, iteration, nth, ...part);

/** Names a call of the last reply, and the event that tells of it. */
export const callEventId = (projection: Projection, index: number): string =>
  replyPartId(projection, projection.reply ?? { run: 0, iteration: 0, nth: 0 }, 'call', index);

/** Names a call of a thread in the log of the session, as the thread's own log names it. */
export function threadCallId(thread: string, call: string): string {
  const { run, iteration, index } = placeInName(call);
  return replyPartId({ session: thread, branch: '' }, { run, iteration, nth: 0 }, 'call', index);
}

/** Names the end of a wait by its call: a call may wait for a second decision. */
export const settledId = (session: string, callId: string, call: string): string =>
  eventId(session, 'settled', callId, placeInName(call).count);

/** Ids of messages that this face sends are their events' ids. */
export const messageEventId = (session: string, messageId: string): string =>
  isId('sevt', messageId) ? messageId : eventId(session, 'message', messageId);

/** An interrupt's id counts those before it, since its record has none. */
export const interruptId = ({ session, interrupts }: Pick<Projection, 'session' | 'interrupts'>): string =>
  eventId(session, 'interrupt', interrupts);

export const terminatedId = (session: string): string => eventId(session, 'terminated');
