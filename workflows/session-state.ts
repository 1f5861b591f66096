// All a session is between two workflow tasks, and the part of it that travels through continue-as-new (L4).
import type { Hash, MessageId } from './contract/ids.ts';
import type { RunSnapshot } from './contract/loop.ts';
import type { RunOptions, RunSummary, SessionInput, UserMessage } from './contract/session.ts';
import type { InboxSnapshot } from './inbox.ts';
import type { RunState } from './machine/state.ts';

/** Set by the handover only: where the session is taken up again. */
export type ResumedInput = SessionInput & { readonly carry?: Carry };

export type Carry = {
  /** Temporal's id of the session's first run (L40). */
  readonly chain: string;
  /** Activities scheduled so far; names live files. */
  readonly step: number;
  readonly head: Hash | null;
  readonly options: RunOptions;
  /** Runs opened so far. */
  readonly runs: number;
  readonly inbox: InboxSnapshot;
  readonly last: RunSummary | null;
  readonly run: RunCarry | null;
};

/** A run in the middle of itself, between two iterations. */
export type RunCarry = {
  readonly snapshot: RunSnapshot;
  readonly state: RunState;
  /** Every message it has taken. */
  readonly messages: readonly MessageId[];
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** Milliseconds since the epoch, moved on by parking; null without a runtime limit (L51). */
  readonly deadline: number | null;
};

export function firstCarry(input: SessionInput, chain: string): Carry {
  return {
    chain,
    step: 0,
    head: null,
    options: input.options,
    runs: 0,
    inbox: { queue: [], seen: [] },
    last: null,
    run: null,
  };
}

/** Options a message brings hold from the run it opens on. */
export function withOptions(options: RunOptions, messages: readonly UserMessage[]): RunOptions {
  return messages.reduce((merged, message) => ({ ...merged, ...message.options }), options);
}
