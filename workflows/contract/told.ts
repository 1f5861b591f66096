// What a session tells others beside its loop: events to its worker, for metrics, traces and the
// log, and alerts to the worker's hooks.
import type { PendingApproval } from './people.ts';
import type { QuerySource } from './facts.ts';
import type { AgentEnd } from './delegation.ts';
import type { Hash, SessionId } from './ids.ts';
import type { Spend, Terminal, TerminalReason, TransitionReason } from './loop.ts';

/** Milliseconds since the epoch, by the workflow's clock. */
type Span = { readonly from: number; readonly to: number };

/**
 * `run`: its number. `chain`: Temporal's id of the session's first run. `traceparent` and
 * `querySource`: of the message that opened it.
 */
export type SeenAbout = {
  readonly chain: string;
  readonly run: number;
  readonly iteration: number;
  readonly traceparent?: string;
  readonly querySource?: QuerySource;
};

export type Seen = SeenAbout &
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

/** Named as the hooks that are told. */
export type AlertKind = 'waiting' | 'failed' | 'agentEnded';

export type WaitingCall = Pick<PendingApproval, 'call' | 'tool' | 'reason' | 'deadline' | 'askedAt'>;

/** `run`: the number of the run it is about. */
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

/** An agent of the session. `detail`: it was ended from outside, and left no report. */
export type AgentEnded = Pick<AgentEnd, 'run' | 'spend'> & {
  readonly session: SessionId;
  readonly type: string;
  readonly title: string;
  readonly background: boolean;
  readonly detail?: string;
};

/** Tell the hooks of a worker. `config`: null where the run could not be opened. */
export type TellAlert = {
  readonly alert: Alert;
  readonly chain: string;
  readonly config: Hash | null;
  readonly title: string;
  readonly step: number;
};
