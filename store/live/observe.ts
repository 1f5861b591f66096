// The port for watchers of a worker: metrics, traces, the log. They are called synchronously, after
// the fact (for a request before it), and never hold up or change a step (L21).
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { Spend } from '../../workflows/contract/loop.ts';
import type { SeenItem } from '../../workflows/contract/told.ts';
import type {
  MessageCreateParamsStreaming,
  OutputConfig,
  ThinkingConfigParam,
} from '@anthropic-ai/sdk/resources/messages';
import type { BetaTokenTaskBudget } from '@anthropic-ai/sdk/resources/beta/messages';

/** The run of an event. */
type ObservedRun = {
  readonly session: SessionId;
  readonly chain: string;
  readonly run: number;
  readonly queryId: string;
  readonly depth: number;
  /** The trace context of the message that opened the run. */
  readonly traceparent?: string;
};

/** The place of an event in a run, as far as it is known. */
export type ObservedPlace = ObservedRun & {
  readonly iteration: number;
  readonly step?: number;
  readonly attempt?: number;
};

/** `at` is when it began, in milliseconds since the epoch; `ms` is how long it took. */
type Timing = { readonly at: number; readonly ms: number };

export type ModelCallSeen = Timing & {
  readonly kind: 'model_call';
  readonly about: ObservedPlace;
  readonly model: string;
  /** Milliseconds to the first event of the stream; null when none came. */
  readonly firstMs: number | null;
  /** Is null when the model answered; else an HTTP status, `aborted`, `stalled` or `connection`. */
  readonly error: string | null;
  readonly spend: Spend;
};

/** A request that is about to be sent. A request that is not sent is not reported. */
export type ModelRequestSeen = {
  readonly kind: 'model_request';
  readonly about: ObservedPlace;
  readonly at: number;
  readonly body: ModelRequest;
};

export type ToolCallSeen = Timing & {
  readonly kind: 'tool_call';
  readonly about: ObservedPlace;
  /** The tool's name, or `unknown` for one that the worker does not have. */
  readonly tool: string;
  readonly callId: string;
  readonly outcome: 'ok' | 'error' | 'cancelled' | 'unknown' | 'not_run';
};

export type Observation =
  | ModelRequestSeen
  | ModelCallSeen
  | ToolCallSeen
  | (Timing & {
      readonly kind: 'compaction';
      readonly about: ObservedPlace;
      readonly outcome: string;
      /** Tokens; null when nothing was summarised. */
      readonly before: number | null;
      readonly after: number | null;
    })
  | { readonly kind: 'notes_merge'; readonly about: ObservedPlace; readonly outcome: 'merged' | 'failed' }
  | { readonly kind: 'alert'; readonly about: ObservedPlace; readonly alert: string; readonly failed: boolean }
  | (Timing & { readonly kind: 'store'; readonly operation: string; readonly failed: boolean })
  | { readonly kind: 'seen'; readonly session: string; readonly seen: SeenItem };

export type Observe = (observation: Observation) => void;

export function placeOfStep(
  run: ObservedRun,
  { number: attempt }: { readonly number: number },
  { iteration, step }: { readonly iteration: number; readonly step: number },
): ObservedPlace {
  return { ...pickObservedRun(run), iteration, step, attempt };
}

/** Returns the fields of a run's configuration that identify the run. */
export function pickObservedRun({ session, chain, run, queryId, depth, traceparent }: ObservedRun): ObservedRun {
  return { session, chain, run, queryId, depth, ...(traceparent && { traceparent }) };
}

/** The stable request, with the fields of betas that we use. */
export type ModelRequest = Omit<MessageCreateParamsStreaming, 'output_config' | 'thinking'> & {
  output_config?: OutputConfig & { task_budget?: BetaTokenTaskBudget };
  compaction?: { type: 'summarize'; instructions: string };
  thinking?: ThinkingConfigParam & { block_binding?: { prefix_mismatch_behavior: 'error' | 'drop_block' } };
};
