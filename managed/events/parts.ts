// What an entry becomes: parts with ids, and what later entries need to know. Ids are made from
// what a part stands for (G33).
import type { BetaManagedAgentsSessionEvent } from '@anthropic-ai/sdk/resources/beta/sessions';
import type { Entry, Spend } from '../../client/index.ts';
import type { Bodies } from '../../client/faces/types.ts';
import type { WaitReason } from '../../workflows/contract/waits.ts';
import { noSpend } from '../../workflows/contract/loop.ts';
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
  /** The call whose result it is, where a runner takes it for an answer. */
  readonly answers?: string;
  make(bodies: Bodies): Event;
};

/** A part of an entry before its time is known. */
export type Part = {
  readonly id: string;
  readonly type: Event['type'];
  readonly answers?: string;
  make(about: { readonly id: string; readonly processed_at: string }, bodies: Bodies): Event;
};

export type Spending = { readonly spend: Spend; readonly ms: number };

/** Calls that wait, by their names; `id` is that of the event. */
export type WaitingCalls = Readonly<
  Record<string, { readonly id: string; readonly why: WaitReason; readonly index: number; readonly tool: string }>
>;

/** What later entries need to know of those before. */
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
  /** Names of that reply's calls by their index. */
  readonly calls: Readonly<Record<number, string>>;
  readonly waiting: WaitingCalls;
  /** Indexes of that reply's calls whose results have been reported. */
  readonly answered: readonly number[];
  readonly interrupts: number;
  readonly spending: Spending;
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
  waiting: {},
  answered: [],
  interrupts: 0,
  spending: { spend: noSpend, ms: 0 },
});

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
  { session, branch }: Projection,
  { run, iteration, nth }: ReplyPlace,
  ...part: (string | number)[]
): string => eventId(session, branch, 'reply', run, iteration, nth, ...part);

/** Ids of messages that this face sends are their events' ids. */
export const messageEventId = (session: string, messageId: string): string =>
  isId('sevt', messageId) ? messageId : eventId(session, 'message', messageId);

/** An interrupt's id counts those before it, since its record has none. */
export const interruptId = ({ session, interrupts }: Pick<Projection, 'session' | 'interrupts'>): string =>
  eventId(session, 'interrupt', interrupts);

export const terminatedId = (session: string): string => eventId(session, 'terminated');
