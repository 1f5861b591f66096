// The events that a session's workflow tells its worker, for metrics, traces and the log: by a sink, never while it replays. An event
// leaves nothing in the history. It can be told twice, when a worker dies in the task that told it, and be lost with the worker.
import type { Spend, TerminalReason, TransitionReason } from './loop.ts';

/** Milliseconds since the epoch, by the workflow's clock. */
type Span = { readonly from: number; readonly to: number };

/** `run`: its number. `chain`: Temporal's id of the session's first run. */
export type SeenAbout = { readonly chain: string; readonly run: number; readonly iteration: number };

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

export type WaitEnd = 'allow' | 'deny' | 'expired' | 'withdrawn';

/** The name of the sink, and of its only function. */
export const SEEN_SINK = 'perdureSeen';
