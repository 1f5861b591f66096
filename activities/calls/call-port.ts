// The loop's side of tool calls: their traits, and the runner that carries out L33.
import type { Outcome } from '../../store/log/entries.ts';
import type { OutcomeFacts, ToolContextState, Ask, Decision } from '../../workflows/contract/activities.ts';
import type { DelegatedEnd, Delegation, OutsideKind } from '../../workflows/contract/delegation.ts';
import type { MessageParam, Tool as ApiTool } from '@anthropic-ai/sdk/resources/messages';
import type { RunConfig } from '../../store/configuration.ts';
import type { RemainingBudget } from '../../workflows/contract/loop.ts';
import type { CallKey } from '../../workflows/contract/ids.ts';
import type { Attempt } from '../attempt.ts';
import type { LiveEvent } from '../../store/live/events.ts';
import type { ToolForms } from '../../tools/registry.ts';
import type { ClosedRun } from '../../tools/tool.ts';

export type CallBlock = {
  readonly index: number;
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
};

export type CallOutcome = { readonly outcome: Outcome; readonly facts: OutcomeFacts };

/**
 * How a call runs: while its reply streams (L37), right after the reply in the same activity, as an
 * activity of its own (L33), or handed to the workflow right after the reply (L62).
 */
export type CallPlan = 'early' | 'with_reply' | 'regular' | 'delegated';

export type CallTraits = {
  /** The call changes nothing. */
  readonly safe: boolean;
  readonly plan: CallPlan;
  readonly signature: string;
  /** Its end consists of words alone, and no hook is asked about them. */
  readonly plainEnd: boolean;
  /** The verdict of its rules, before hooks are asked. */
  readonly judged: 'allow' | 'ask' | 'deny';
  /** Somebody outside carries it out. */
  readonly outside?: OutsideKind;
};

export type CallRunner = {
  /** The definitions of the worker's tools as of the last refresh. */
  readonly definitions: readonly ApiTool[];
  /** Returns those that a run has, where it chose other forms of them or brings its own. */
  definitionsOf(run: ToolForms): readonly ApiTool[];
  /**
   * Asks the servers of tools of a run for their lists (L44). Bounded in time, never throws: the
   * last good list stays.
   */
  refresh(run: ToolForms): Promise<void>;
  /**
   * Tells the tools that were offered to the run that it has ended, and returns why some failed.
   * Never throws.
   */
  closeRun(config: RunConfig, run: ClosedRun): Promise<readonly CloseFailure[]>;
  /** Binds a call to its run. `context` is what earlier calls have modified (L38). */
  bind(config: RunConfig, call: CallBlock, context?: ToolContextState): BoundCall;
  /**
   * Returns a call's input as observers may see it (L18): a copy, perhaps enriched. Never throws.
   */
  copyInput(run: ToolForms, call: CallBlock): unknown;
};

export type CloseFailure = { readonly tool: string; readonly detail: string };

/**
 * A call of a run, which runs with L33 in full. Its own input is judged once, when it is first
 * needed: bind the call anew after something that may have changed the answer.
 */
export type BoundCall = {
  traits(): CallTraits;
  /**
   * Runs a safe call while the reply streams, without a claim or a record. Null when it was given
   * up.
   */
  runEarly(run: EarlyCallOptions): Promise<CallOutcome | null>;
  /**
   * Runs a call at most once if it may not be repeated, whatever dies; its outcome is recorded
   * under `key` (L40). Returns without running or recording anything when someone must be asked
   * first (L55) or the workflow is to carry the call out (L62).
   */
  runClaimed(
    attempt: Attempt,
    run: ClaimedCallOptions,
  ): Promise<CallOutcome | { readonly ask: Ask } | { readonly delegate: Delegation }>;
};

/**
 * `safe` is the judgement made with the reply. `mayHaveBegun`: an earlier activity may have started
 * the call. `fresh`: this attempt stored the reply first, so nothing is recorded of its calls; or
 * it has looked and found no outcome.
 */
export type ClaimedCallOptions = CallPort & {
  readonly key: CallKey;
  readonly safe: boolean;
  readonly fresh?: boolean;
  readonly decision?: Decision | undefined;
  readonly mayHaveBegun?: boolean;
  /** It began while its reply streamed, and was given up. */
  readonly givenUp?: true | undefined;
  /** The result of the call when the workflow carried it out (L62). */
  readonly delegated?: DelegatedEnd | undefined;
  /** No hook is asked about its end; it was handed over that way. */
  readonly plain?: boolean;
  /** The step of the call's own activity, in which it may ask the small model. */
  readonly asking?: AskingStep | undefined;
};

/**
 * `left` is the rest of the run's budget; the small model is not asked once that is spent (L51).
 */
export type AskingStep = { readonly step: number; readonly left?: RemainingBudget | undefined };

export type CallPort = { readonly iteration: number; say(event: LiveEvent): void };

/** `id` is unique to the attempt. `signal` is aborted with an AbortCause. */
export type EarlyCallOptions = CallPort & {
  readonly id: string;
  readonly signal: AbortSignal;
  /** The messages as the model saw them for the reply. */
  readonly messages?: () => Promise<readonly MessageParam[]>;
};
