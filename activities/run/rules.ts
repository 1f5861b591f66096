// The limits a run is decided by, from what its caller and its worker chose: part of its snapshot (L57).
import { summarySpend } from '../compaction/summarize.ts';
import type { ModelLimits, Rules } from '../../workflows/contract/loop.ts';
import type { RunOptions } from '../../workflows/contract/session.ts';
import type { Deps } from '../deps.ts';
import type { RunConfig, RunModel } from '../configuration.ts';
import { estimateTokens } from '../../workflows/contract/ids.ts';

const MAX_OUTPUT_RECOVERIES = 3;
const MAX_SAME_FAILURES = 5;
const MAX_STRUCTURED_RETRIES = 5;
const MAX_STOP_HOOK_ROUNDS = 8;

/** Tokens that a cap may be raised to, whatever the model allows (L26). */
const MOST_RAISED = 64_000;

type Models = Pick<RunConfig, 'models' | 'smallModel'>;

export function rulesOf(deps: Deps, { models, smallModel }: Models, system: string, options: RunOptions): Rules {
  const { defaults, hooks, tools } = deps;
  const limits = (model: RunModel, thinking = 0): ModelLimits => {
    // Thinking counts as output, and must not take the room of the answer (L59).
    const outputCap = Math.min(options.maxOutputTokens ?? defaults.outputCap + thinking, model.maxOutput);
    const raised = Math.max(outputCap, Math.min(MOST_RAISED, model.maxOutput));
    return { window: model.window, outputCap, raisedOutputCap: raised, price: model.price };
  };
  const [primary, ...fallbacks] = models;
  return {
    rulesVersion: 1,
    maxTurns: options.maxTurns ?? defaults.maxTurns,
    maxBudgetUsd: options.maxBudgetUsd ?? null,
    maxTokens: options.maxTokens ?? null,
    timeoutMs: options.timeoutMs ?? null,
    wrapUp: options.wrapUp ?? defaults.wrapUp,
    models: [limits(primary, options.thinkingTokens), ...fallbacks.map((model) => limits(model))],
    outputCapFixed: options.maxOutputTokens !== undefined,
    maxOutputRecoveries: MAX_OUTPUT_RECOVERIES,
    maxSameFailures: MAX_SAME_FAILURES,
    fixedTokens: estimateTokens(system.length + JSON.stringify(tools.definitions).length),
    // Short forms change what was sent in the middle of a conversation: a model that checks it would lose all of its thinking for each.
    compaction: primary.checksPrefix ? { ...defaults.compaction, collapse: false } : defaults.compaction,
    tokenBudget: options.tokenBudget ?? null,
    taskBudget: options.taskBudget ?? null,
    structured: options.outputSchema !== undefined,
    maxStructuredRetries: MAX_STRUCTURED_RETRIES,
    stopHooks: hooks.has('stop'),
    maxStopHookRounds: MAX_STOP_HOOK_ROUNDS,
    batchSummaries: defaults.batchSummaries,
    summarySpend: summarySpend(smallModel),
    afterStop: deps.afterStop.length > 0 || (deps.memory !== undefined && (options.memory ?? defaults.memory)),
    approvalMs: options.approvalTimeoutMs ?? defaults.approvalTimeoutMs,
  };
}
