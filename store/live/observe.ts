// The port of those who watch a worker: metrics, traces, the log. Told after the fact, of a request
// before, synchronously; what they do with it never holds up or changes a step (L21).
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { Spend } from '../../workflows/contract/loop.ts';
import type { Seen } from '../../workflows/contract/told.ts';
import type {
  MessageCreateParamsStreaming,
  OutputConfig,
  ThinkingConfigParam,
} from '@anthropic-ai/sdk/resources/messages';
import type { BetaTokenTaskBudget } from '@anthropic-ai/sdk/resources/beta/messages';

/**
 * The run of an event, and the place in it: its session, its run, and as far as they are known its
 * iteration, step and attempt.
 */
type ObservedRun = {
  readonly session: SessionId;
  readonly chain: string;
  readonly run: number;
  readonly queryId: string;
  readonly depth: number;
  /** Of the message that opened the run. */
  readonly traceparent?: string;
};

export type ObservedAbout = ObservedRun & {
  readonly iteration: number;
  readonly step?: number;
  readonly attempt?: number;
};

/** `at`: milliseconds since the epoch, when it began. */
type Timed = { readonly at: number; readonly ms: number };

export type ModelCallSeen = Timed & {
  readonly kind: 'model_call';
  readonly about: ObservedAbout;
  readonly model: string;
  /** Milliseconds to the first event of the stream; null when none came. */
  readonly firstMs: number | null;
  /** Null when it answered; else an HTTP status, `aborted`, `stalled` or `connection`. */
  readonly error: string | null;
  readonly spend: Spend;
};

/** Is about to be sent; told before, and of none that is not sent. */
export type ModelRequestSeen = {
  readonly kind: 'model_request';
  readonly about: ObservedAbout;
  readonly at: number;
  readonly body: ModelRequest;
};

export type ToolCallSeen = Timed & {
  readonly kind: 'tool_call';
  readonly about: ObservedAbout;
  /** `unknown` for one that the worker does not have. */
  readonly tool: string;
  readonly callId: string;
  readonly outcome: 'ok' | 'error' | 'cancelled' | 'unknown' | 'not_run';
};

export type Observation =
  | ModelRequestSeen
  | ModelCallSeen
  | ToolCallSeen
  | (Timed & {
      readonly kind: 'compaction';
      readonly about: ObservedAbout;
      readonly outcome: string;
      /** Tokens; null when nothing was summarised. */
      readonly before: number | null;
      readonly after: number | null;
    })
  | { readonly kind: 'notes_merge'; readonly about: ObservedAbout; readonly outcome: 'merged' | 'failed' }
  | { readonly kind: 'alert'; readonly about: ObservedAbout; readonly alert: string; readonly failed: boolean }
  | (Timed & { readonly kind: 'store'; readonly operation: string; readonly failed: boolean })
  | { readonly kind: 'seen'; readonly session: string; readonly seen: Seen };

export type Observe = (observation: Observation) => void;

export function aboutStep(
  run: ObservedRun,
  { number: attempt }: { readonly number: number },
  { iteration, step }: { readonly iteration: number; readonly step: number },
): ObservedAbout {
  return { ...observedRun(run), iteration, step, attempt };
}

/** Of a run's configuration, what tells of it. */
export function observedRun({ session, chain, run, queryId, depth, traceparent }: ObservedRun): ObservedRun {
  return { session, chain, run, queryId, depth, ...(traceparent && { traceparent }) };
}

/** The stable request, and the fields of betas that we use. */
export type ModelRequest = Omit<MessageCreateParamsStreaming, 'output_config' | 'thinking'> & {
  output_config?: OutputConfig & { task_budget?: BetaTokenTaskBudget };
  compaction?: { type: 'summarize'; instructions: string };
  thinking?: ThinkingConfigParam & { block_binding?: { prefix_mismatch_behavior: 'error' | 'drop_block' } };
};
