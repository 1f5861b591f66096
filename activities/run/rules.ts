// The limits that decide about a run, from the choices of its caller and its worker: a part of its
// snapshot (L57).
import { largestSummarySpend } from '../compaction/summarize-batch.ts';
import { type ModelLimits, type Rules, estimateTokens } from '../../workflows/contract/loop.ts';
import type { RunOptions } from '../../workflows/contract/session.ts';
import type { Deps } from '../deps.ts';
import type { RunConfig, RunModel } from '../../store/configuration.ts';
import { chooseTools, countTokens, deferLimit } from '../../tools/deferred-tools.ts';
import { isListed } from '../../tools/listed.ts';

const MAX_OUTPUT_RECOVERIES = 3;
const MAX_SAME_FAILURES = 5;
const MAX_STRUCTURED_RETRIES = 5;
const MAX_STOP_HOOK_ROUNDS = 8;

/**
 * Tokens of a reply, thinking and all: a reply that is cut is paid for and done again, or
 * continued. The two highest efforts think long (L26).
 */
const OUTPUT_CAP = 32_000;
const HARD_OUTPUT_CAP = 64_000;
const HARD: readonly unknown[] = ['xhigh', 'max'];
/**
 * Tokens. However full the window is, a reply has this much, and the server says whether it fits.
 */
const LEAST_OUTPUT_CAP = 4_096;

type RunFacts = Pick<RunConfig, 'models' | 'smallModel'> & { readonly agent?: unknown };

export function buildRules(deps: Deps, known: RunFacts, system: string, options: RunOptions): Rules {
  const { defaults, hooks } = deps;
  const { models, smallModel, agent } = known;
  const collapses = defaults.compaction.collapse;
  const limits = (model: RunModel, thinking = 0): ModelLimits => {
    // Thinking counts as output, and must not take the room of the answer (L59).
    const cap = defaults.outputCap ?? (HARD.includes(options.effort ?? defaults.effort) ? HARD_OUTPUT_CAP : OUTPUT_CAP);
    // At least half of the window is left for the prompt.
    const roomy = thinking + Math.min(cap, Math.max(LEAST_OUTPUT_CAP, Math.floor(model.window / 2)));
    const outputCap = Math.min(options.maxOutputTokens ?? roomy, model.maxOutput);
    const leastOutputCap = Math.min(outputCap, LEAST_OUTPUT_CAP);
    const { window, price } = model;
    const own = { ...(collapses && model.checksPrefix && model.compaction && { summarizesItself: true as const }) };
    return { window, outputCap, raisedOutputCap: Math.max(outputCap, model.maxOutput), leastOutputCap, ...own, price };
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
    maxSameResults: defaults.maxSameResults === false ? null : defaults.maxSameResults,
    fixedTokens: countFixed(deps, options, { system, window: primary.window }),
    // Short forms change the middle of a conversation that was sent: a model that checks it would
    // lose all of its thinking for each.
    compaction: primary.checksPrefix ? { ...defaults.compaction, collapse: false } : defaults.compaction,
    tokenBudget: options.tokenBudget ?? null,
    taskBudget: options.taskBudget ?? null,
    structured: options.outputSchema !== undefined,
    maxStructuredRetries: MAX_STRUCTURED_RETRIES,
    stopHooks: hooks.has('stop') || (agent !== undefined && hooks.has('agentIdle')),
    maxStopHookRounds: MAX_STOP_HOOK_ROUNDS,
    batchSummaries: defaults.batchSummaries,
    summarySpend: largestSummarySpend(smallModel),
    afterStop:
      deps.afterStop.length > 0 ||
      (deps.memory !== undefined && (options.memory ?? defaults.memory)) ||
      (options.suggestPrompts ?? defaults.suggestPrompts),
    approvalMs: options.approvalTimeoutMs ?? defaults.approvalTimeoutMs,
    ...(options.recordWaits && { recordWaits: true }),
    ...(options.recordWaits && options.roster && { recordThreads: true }),
    ...(options.sessionBudgetUsd !== undefined && { waitsAtBudget: true }),
  };
}

/**
 * Counts what each request of the run begins with; what the model will find is not known yet (L74).
 */
function countFixed(
  { defaults, tools }: Deps,
  options: RunOptions,
  run: { readonly system: string; readonly window: number },
): number {
  const offered = tools.definitionsOf(options).filter(({ name }) => isListed(options.tools, name));
  const chosen = chooseTools(offered, deferLimit(defaults.deferTools, run.window));
  const prompt = [run.system, ...chosen.parts.map(({ text }) => text)].join('');
  return estimateTokens(prompt.length) + countTokens(chosen.tools);
}
