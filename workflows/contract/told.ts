// The news that a session tells others: events to its worker, for metrics, traces and the log, and
// alerts to the worker's hooks. Events go to a sink, never while the workflow replays, and leave
// nothing in the history. An event can be told twice, when a worker dies in the task that told it,
// or be lost with its worker.
import type { PendingApproval } from './people.ts';
import type { QuerySource } from './facts.ts';
import type { AgentEnd } from './delegation.ts';
import type { Hash, SessionId } from './ids.ts';
import type { Spend, Terminal, TerminalReason, TransitionReason } from './loop.ts';

/** Milliseconds since the epoch, by the workflow's clock. */
type Span = { readonly from: number; readonly to: number };

/**
 * The place of an event. `run`: its number. `chain`: Temporal's id of the session's first workflow
 * run. `traceparent` and `querySource`: those of the message that opened the run.
 */
export type SeenPlace = {
  readonly chain: string;
  readonly run: number;
  readonly iteration: number;
  readonly traceparent?: string;
  readonly querySource?: QuerySource;
};

export type SeenItem = SeenPlace &
  Span &
  (
    | { readonly kind: 'iteration'; readonly reason: TransitionReason | TerminalReason }
    | {
        readonly kind: 'run_ended';
        readonly reason: TerminalReason;
        readonly bad: boolean;
        readonly turns: number;
        readonly model: string | null;
        readonly spend: Spend;
      }
    | { readonly kind: 'waited'; readonly call: string; readonly tool: string; readonly how: WaitEnd }
    | { readonly kind: 'parked' }
  );

export type WaitEnd = 'allow' | 'deny' | 'answered' | 'expired' | 'withdrawn';

/** The name of the sink, and of its only function. */
export const SEEN_SINK = 'perdureSeen';

/**
 * The kinds of alerts have the names of the hooks: a person is waited for, a run has ended badly,
 * an agent has ended.
 */
export type AlertKind = 'waiting' | 'failed' | 'agentEnded';

export type WaitingCall = Pick<PendingApproval, 'call' | 'tool' | 'reason' | 'deadline' | 'askedAt'>;

/** `run`: the number of the run that the alert is about. */
export type Alert = { readonly run: number; readonly iteration: number } & (
  | { readonly kind: 'waiting'; readonly calls: readonly WaitingCall[] }
  | {
      readonly kind: 'failed';
      readonly terminal: Terminal;
      readonly turns: number;
      readonly spend: Spend;
      readonly durationMs: number;
    }
  | { readonly kind: 'agentEnded'; readonly ended: AgentEnded }
);

/**
 * An agent of the session that has ended. `detail`: why it left no report, because it was ended
 * from outside.
 */
export type AgentEnded = Pick<AgentEnd, 'run' | 'spend'> & {
  readonly session: SessionId;
  readonly type: string;
  readonly title: string;
  readonly background: boolean;
  readonly detail?: string;
};

/** Tells an alert to the hooks of a worker. `config`: null where the run could not be opened. */
export type TellAlert = {
  readonly alert: Alert;
  readonly chain: string;
  readonly config: Hash | null;
  readonly title: string;
  readonly step: number;
};
