// All a session is between two workflow tasks, and the part of it that travels through continue-as-new (L4).
import { type Hash, isHash, type MessageId } from './contract/ids.ts';
import type { RunSnapshot } from './contract/loop.ts';
import { withChanges } from './contract/options-problem.ts';
import {
  LONGEST_LOSS,
  type PendingApproval,
  type Repair,
  type RunOptions,
  type RunSummary,
  type SessionInput,
  type UserMessage,
} from './contract/session.ts';
import type { InboxSnapshot } from './inbox.ts';
import type { Append, Call, Place } from './contract/activities.ts';
import type { CallResult } from './machine/events.ts';
import { noContext, type ContextFacts, type RunState } from './machine/state.ts';

/** Set by the handover only: where the session is taken up again. */
export type ResumedInput = SessionInput & { readonly carry?: Carry };

export type Carry = {
  /** Temporal's id of the session's first run (L40). */
  readonly chain: string;
  /** Activities scheduled so far; names live files. */
  readonly step: number;
  readonly head: Hash | null;
  readonly options: RunOptions;
  /** What the last run opened with, when messages it took have changed `options` since: those may be refused (L57). */
  readonly accepted?: RunOptions | null;
  /** Why the next run cannot open: options that a message brought are too large to be carried. */
  readonly refused?: string | null;
  /** Of the workspace, as the last run that opened found it. */
  readonly place?: Place | null;
  /** Runs opened so far, those that were refused with them. */
  readonly runs: number;
  /** The hooks of the session's start were asked. */
  readonly begun: boolean;
  readonly inbox: InboxSnapshot;
  readonly last: RunSummary | null;
  /** How full the transcript's context is, from run to run (L10). */
  readonly context: ContextFacts;
  /** Asked for and not in the transcript yet (L7). */
  readonly snips: readonly number[];
  /** What a repair has lost: told with the next run. */
  readonly lost?: string | null;
  readonly run: RunCarry | null;
};

/** Calls of a reply of which some wait for a decision, and nothing runs (L4, L55). */
export type ToolsCarry = {
  readonly calls: readonly Call[];
  readonly cut: boolean;
  /** What is done, by the call's index. */
  readonly results: readonly (readonly [index: number, result: CallResult])[];
  readonly approvals: readonly PendingApproval[];
};

/** A run in the middle of itself: between two iterations, parked, or with calls that wait for a decision. */
export type RunCarry = {
  readonly snapshot: RunSnapshot;
  readonly state: RunState;
  /** The messages it has taken, as its summary will list them. */
  readonly messages: readonly MessageId[];
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** Milliseconds since the epoch, moved on by parking; null without a runtime limit (L51). */
  readonly deadline: number | null;
  readonly tools: ToolsCarry | null;
  /** Milliseconds since the epoch, while parked (L14). */
  readonly parkedUntil: number | null;
};

/** What a run waits for when it is handed over; nothing, between two iterations. */
export type Held = Pick<RunCarry, 'tools' | 'parkedUntil'>;

export const heldByNothing: Held = { tools: null, parkedUntil: null };

export function firstCarry(input: SessionInput, chain: string): Carry {
  return {
    chain,
    step: 0,
    head: null,
    options: input.options,
    runs: 0,
    begun: false,
    inbox: { queue: [], seen: [] },
    last: null,
    context: noContext,
    snips: [],
    run: null,
  };
}

/** Options a message brings, or takes back, hold from the run it opens on. */
export function withOptions(options: RunOptions, messages: readonly UserMessage[]): RunOptions {
  return messages.reduce(
    (merged, message) => (message.options ? withChanges(merged, message.options) : merged),
    options,
  );
}

/** A workspace that a caller gives, also the same again, is taken as it is now. */
export function placeAfter(place: Place | null | undefined, messages: readonly UserMessage[]): Place | null {
  return messages.some((message) => typeof message.options?.cwd === 'string') ? null : (place ?? null);
}

/** Why a session at `head` does not take a repair, a sentence; undefined when it does. `busy`: it has a run, or a message for one. */
export function repairProblem(asked: Repair | undefined, head: Hash | null, busy: boolean): string | undefined {
  if (!isHash(asked?.from) || !isHash(asked.to)) return 'the repair names no head to go on from';
  if (typeof asked.lost !== 'string' || asked.lost.length > LONGEST_LOSS) return 'the repair does not say what is lost';
  if (busy) return 'something runs now, or waits to: interrupt it first';
  return head === asked.from ? undefined : 'its transcript has gone on meanwhile: look at it again';
}

/** The lost part may have staged short forms, and none of it is in context. */
export function afterRepair(
  { context: { contextTokens } }: Pick<Carry, 'context'>,
  { to, lost }: Repair,
): Pick<Carry, 'head' | 'lost' | 'context'> {
  return { head: to, lost, context: { contextTokens, staged: [] } };
}

/** What a repair has lost, for the transcript. */
export function lossAppend({ lost = null }: Pick<Carry, 'lost'>): readonly Append[] {
  return lost === null ? [] : [{ kind: 'notice', notice: { kind: 'repaired', lost } }];
}
