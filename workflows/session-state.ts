// All a session is between two workflow tasks, and the part of it that travels through continue-as-new (L4).
import type { Hash, MessageId } from './contract/ids.ts';
import type { RunSnapshot } from './contract/loop.ts';
import { withChanges } from './contract/option-changes.ts';
import type { PendingApproval, RunOptions, RunSummary, SessionInput, UserMessage } from './contract/session.ts';
import type { InboxSnapshot } from './inbox.ts';
import type { Call } from './contract/activities.ts';
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
