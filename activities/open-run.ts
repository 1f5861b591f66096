// Opens a run: takes the snapshot it will work with to its end (L57), or says why it cannot start.
import { realpath, stat } from 'node:fs/promises';
import type { OpenRun, RunOpened } from '../workflows/contract/activities.ts';
import type { ModelLimits, Rules } from '../workflows/contract/loop.ts';
import { optionsProblem } from '../workflows/contract/options-problem.ts';
import type { PermissionRules, RunOptions } from '../workflows/contract/session.ts';
import type { Attempt } from './attempt.ts';
import type { Deps } from './deps.ts';
import { schemaProblem } from './model/answer-schema.ts';
import { sessionStart, withContext, type SessionStarted } from './hooks/session-start.ts';
import { modelFacts } from './model/models.ts';
import type { RunConfig, RunModel } from './run-config.ts';
import { systemPrompt } from './system-prompt.ts';
import { estimateTokens } from './tokens.ts';

const MAX_OUTPUT_RECOVERIES = 3;
const MAX_SAME_FAILURES = 5;
const MAX_EMPTY_REPLIES = 3;
const MAX_STRUCTURED_RETRIES = 5;
const MAX_STOP_HOOK_ROUNDS = 8;

/** Tokens that a cap may be raised to (L26). */
const MOST_RAISED = 64_000;

/** What the scripted model says costs nothing. */
const FREE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

export function openRun(deps: Deps): (attempt: Attempt, input: OpenRun) => Promise<RunOpened> {
  return async (attempt, { chain, run, step, options }) => {
    const { session } = attempt;
    const wrong = optionsProblem(options) ?? optionsProblem(ownRules(deps)) ?? schemaProblem(options.outputSchema);
    if (wrong !== undefined) return { kind: 'refused', detail: wrong };
    const models = runModels(deps, options);
    const cwd = await workspace(options.cwd);
    const problem = cwd.problem ?? priceProblem(models, options) ?? thinkingProblem(models[0], options);
    if (problem !== undefined) return { kind: 'refused', detail: problem };
    await deps.live.forgetBefore(session, step);
    const callers = options.systemPrompt ?? deps.defaults.systemPrompt;
    const started = await sessionStart(deps, attempt, { chain, run }, cwd.path);
    const prompt = systemPrompt(callers, cwd.path, deps.now(), options.outputSchema);
    const system = withContext(prompt, started.context);
    const rules = rulesOf(deps, models, system, options);
    const config: RunConfig = {
      v: 1,
      session,
      chain,
      run,
      queryId: `${chain}.${run}`,
      depth: 0,
      cwd: cwd.path,
      mode: options.permissionMode ?? deps.defaults.permissionMode,
      permissions: joined(deps.defaults.permissions, options.permissions),
      models,
      smallModel: runModel(deps, deps.defaults.smallModel),
      scripted: deps.scripted,
      thinkingTokens: options.thinkingTokens ?? null,
      outputSchema: options.outputSchema ?? null,
      system,
      backoff: deps.defaults.backoff,
      stallMs: deps.defaults.stallMs,
      maxEmptyReplies: MAX_EMPTY_REPLIES,
      rules,
    };
    const hash = await deps.store.put(new TextEncoder().encode(JSON.stringify(config)));
    await announceRun(deps, attempt, step, config, started);
    deps.attachments.prefetch(config);
    return { kind: 'opened', config: hash, rules };
  };
}

async function announceRun(
  { live: channel, warn }: Deps,
  { session, number }: Attempt,
  step: number,
  { run, cwd, models: [{ name: model }], scripted }: RunConfig,
  { failed }: SessionStarted,
): Promise<void> {
  const live = channel.open({ session, step, attempt: number, activity: 'openRun' });
  live.write({ type: 'run_start', run, cwd, model, scripted });
  for (const { hook, detail } of failed) {
    live.write({ type: 'notice', notice: { kind: 'hook_failed', hook, detail } });
    warn(`hook ${hook} at the start of session ${session}: ${detail}`);
  }
  await live.end({ type: 'fate', fate: 'done' });
}

function runModels(deps: Deps, options: RunOptions): RunConfig['models'] {
  const { defaults } = deps;
  const primary = options.model ?? defaults.model;
  const names = [primary, ...(options.fallbackModels ?? defaults.fallbackModels)];
  // A worker's list may begin with the model that a caller chose: nothing is gained by asking it again.
  const fallbacks = names.slice(1).filter((name, at) => name !== names[at]);
  return [runModel(deps, primary), ...fallbacks.map((name) => runModel(deps, name))];
}

function runModel({ defaults, scripted }: Deps, name: string): RunModel {
  const facts = modelFacts(defaults.models, name);
  return { name, ...facts, ...(scripted ? { price: FREE } : {}) };
}

function rulesOf(deps: Deps, models: RunConfig['models'], system: string, options: RunOptions): Rules {
  const { defaults, hooks, tools } = deps;
  const limits = (model: RunModel, thinking = 0): ModelLimits => {
    // Thinking counts as output, and must not take the room of the answer (L59).
    const outputCap = options.maxOutputTokens ?? Math.min(defaults.outputCap + thinking, model.maxOutput);
    const raised = Math.max(outputCap, Math.min(MOST_RAISED, model.maxOutput));
    return { window: model.window, outputCap, raisedOutputCap: raised };
  };
  const [primary, ...fallbacks] = models;
  return {
    rulesVersion: 1,
    maxTurns: options.maxTurns ?? defaults.maxTurns,
    maxBudgetUsd: options.maxBudgetUsd ?? null,
    maxTokens: options.maxTokens ?? null,
    timeoutMs: options.timeoutMs ?? null,
    models: [limits(primary, options.thinkingTokens), ...fallbacks.map((model) => limits(model))],
    outputCapFixed: options.maxOutputTokens !== undefined,
    maxOutputRecoveries: MAX_OUTPUT_RECOVERIES,
    maxSameFailures: MAX_SAME_FAILURES,
    fixedTokens: estimateTokens(system.length + JSON.stringify(tools.definitions).length),
    compaction: defaults.compaction,
    tokenBudget: options.tokenBudget ?? null,
    taskBudget: options.taskBudget ?? null,
    structured: options.outputSchema !== undefined,
    maxStructuredRetries: MAX_STRUCTURED_RETRIES,
    stopHooks: hooks.has('stop'),
    maxStopHookRounds: MAX_STOP_HOOK_ROUNDS,
    batchSummaries: defaults.batchSummaries,
    afterStop: deps.afterStop.length > 0,
    approvalMs: options.approvalTimeoutMs ?? defaults.approvalTimeoutMs,
  };
}

function ownRules({ defaults: { permissions } }: Deps): Partial<RunOptions> {
  return permissions === undefined ? {} : { permissions };
}

/** A caller adds rules to the worker's and takes none away: of all that match, the strictest counts (L55). */
function joined(own: PermissionRules = {}, given: PermissionRules = {}): PermissionRules {
  const both = (list: keyof PermissionRules): readonly string[] => [...(own[list] ?? []), ...(given[list] ?? [])];
  return { deny: both('deny'), ask: both('ask'), allow: both('allow') };
}

async function workspace(cwd: string): Promise<{ readonly path: string; readonly problem?: string }> {
  try {
    const path = await realpath(cwd);
    const found = await stat(path);
    return found.isDirectory() ? { path } : { path, problem: `the working directory ${cwd} is not a directory` };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { path: cwd, problem: `the working directory ${cwd} cannot be used on this worker: ${why}` };
  }
}

function thinkingProblem({ name, maxOutput }: RunModel, { thinkingTokens }: RunOptions): string | undefined {
  if (thinkingTokens === undefined || thinkingTokens < maxOutput) return undefined;
  return `thinking tokens are ${thinkingTokens}, and all that ${name} may answer with is ${maxOutput} tokens: give fewer`;
}

function priceProblem(models: RunConfig['models'], { maxBudgetUsd }: RunOptions): string | undefined {
  const unpriced = models.find(({ price }) => price === null);
  if (maxBudgetUsd === undefined || unpriced === undefined) return undefined;
  return `a budget in US dollars cannot be kept with model ${unpriced.name}: its price is not known; use a known model or leave the budget out`;
}
