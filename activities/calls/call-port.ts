// The loop's side of tool calls: their traits, and the runner that carries out L33.
import type { CallPlan } from './prepare.ts';
import type { Outcome } from '../../store/log/entries.ts';
import type { OutcomeFacts, ToolContextState, Ask, Decision } from '../../workflows/contract/activities.ts';
import type { DelegatedEnd, Delegation } from '../../workflows/contract/delegation.ts';
import type { Tool as ApiTool } from '@anthropic-ai/sdk/resources/messages';
import type { RunConfig } from '../../store/configuration.ts';
import type { Left } from '../../workflows/contract/loop.ts';
import type { CallKey } from '../../workflows/contract/ids.ts';
import type { Attempt } from '../attempt.ts';
import type { LiveEvent } from '../../store/live/events.ts';
import type { CloseFailure } from './close-tools.ts';
import type { ClosedRun } from '../../tools/tool.ts';

export type CallBlock = {
  readonly index: number;
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
};

export type EarlyOutcome = { readonly outcome: Outcome; readonly facts: OutcomeFacts };

export type CallTraits = {
  /** It changes nothing. */
  readonly safe: boolean;
  readonly plan: CallPlan;
  readonly signature: string;
  /** What comes of it is words alone, and no hook is asked about them. */
  readonly plainEnd: boolean;
};

/** Runs one call with L33 in full. `context` is what earlier calls have modified (L38). */
export type CallRunner = {
  /** As of the last refresh. */
  readonly definitions: readonly ApiTool[];
  /**
   * Asks what offers the tools for its list (L44). Bounded in time, never throws: the last good
   * list stays.
   */
  refresh(): Promise<void>;
  /**
   * Tells the tools that the run was offered that it has ended; of those that fail, why. Never
   * throws.
   */
  closed(config: RunConfig, run: ClosedRun): Promise<readonly CloseFailure[]>;
  traits(config: RunConfig, call: CallBlock, context?: ToolContextState): CallTraits;
  /**
   * Returns a call's input as observers may see it (L18): a copy, perhaps enriched. Never throws.
   */
  observable(call: CallBlock): unknown;
  /** Beside the stream: no claim, nothing recorded. Null when it was given up. */
  early(
    config: RunConfig,
    call: CallBlock,
    id: string,
    port: EarlyPort,
    context?: ToolContextState,
  ): Promise<EarlyOutcome | null>;
  /**
   * At most once for what may not be repeated, whatever dies; the outcome is recorded under `key`
   * (L40). Or nothing has run and nothing is recorded: someone must be asked first (L55), or the
   * workflow is to carry it out (L62).
   */
  claimed(
    config: RunConfig,
    call: CallBlock,
    key: CallKey,
    attempt: Attempt,
    port: CallPort,
    given: CallGiven,
  ): Promise<EarlyOutcome | { readonly ask: Ask } | { readonly delegate: Delegation }>;
};

/**
 * `safe`: as it was judged with its reply. `mayHaveBegun`: an earlier activity may have. `fresh`:
 * this attempt has just stored the reply, as the first, so that nothing is recorded of its calls;
 * or it has looked, and no outcome is.
 */
export type CallGiven = {
  readonly safe: boolean;
  readonly fresh?: boolean;
  readonly context?: ToolContextState | undefined;
  readonly decision?: Decision | undefined;
  readonly mayHaveBegun?: boolean;
  /** What came of it when the workflow carried it out (L62). */
  readonly delegated?: DelegatedEnd | undefined;
  /** No hook is asked about it: so it was handed over. */
  readonly plain?: boolean;
  /** The step of its own activity, in which it may ask the small model. */
  readonly asking?: AskingStep | undefined;
};

/** `left`: of the run's budget; the small model is not asked when that is spent (L51). */
export type AskingStep = { readonly step: number; readonly left?: Left | undefined };

export type CallPort = { readonly iteration: number; say(event: LiveEvent): void };

/** Aborted with an AbortCause. */
export type EarlyPort = CallPort & { readonly signal: AbortSignal };
