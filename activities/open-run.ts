// Opens a run: takes the snapshot it will work with to its end (L57), or says why it cannot start.
import { realpath, stat } from 'node:fs/promises';
import type { OpenRun, RunOpened } from '../workflows/contract/activities.ts';
import type { Rules } from '../workflows/contract/loop.ts';
import { optionsProblem } from '../workflows/contract/options-problem.ts';
import type { PermissionRules, RunOptions } from '../workflows/contract/session.ts';
import type { Attempt } from './attempt.ts';
import type { Deps } from './deps.ts';
import { modelFacts, type ModelFacts } from './model/models.ts';
import type { RunConfig } from './run-config.ts';
import { systemPrompt } from './system-prompt.ts';

const MAX_OUTPUT_RECOVERIES = 3;
const MAX_SAME_FAILURES = 5;
const MAX_EMPTY_REPLIES = 3;

/** What the scripted model says costs nothing. */
const FREE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

export function openRun(deps: Deps): (attempt: Attempt, input: OpenRun) => Promise<RunOpened> {
  return async ({ session, number }, { chain, run, step, options }) => {
    const wrong = optionsProblem(options) ?? optionsProblem(ownRules(deps));
    if (wrong !== undefined) return { kind: 'refused', detail: wrong };
    const model = options.model ?? deps.defaults.model;
    const facts = modelFacts(deps.defaults.models, model);
    const cwd = await workspace(options.cwd);
    const problem = cwd.problem ?? priceProblem(model, facts, options);
    if (problem !== undefined) return { kind: 'refused', detail: problem };
    await deps.live.forgetBefore(session, step);
    const rules = rulesOf(deps, facts, options);
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
      model,
      scripted: deps.scripted,
      price: deps.scripted ? FREE : facts.price,
      system: systemPrompt(options.systemPrompt ?? deps.defaults.systemPrompt, cwd.path, deps.now()),
      backoff: deps.defaults.backoff,
      stallMs: deps.defaults.stallMs,
      maxEmptyReplies: MAX_EMPTY_REPLIES,
      rules,
    };
    const hash = await deps.store.put(new TextEncoder().encode(JSON.stringify(config)));
    const live = deps.live.open({ session, step, attempt: number, activity: 'openRun' });
    live.write({ type: 'run_start', run, cwd: cwd.path, model, scripted: deps.scripted });
    await live.end({ type: 'fate', fate: 'done' });
    return { kind: 'opened', config: hash, rules };
  };
}

function rulesOf({ defaults }: Deps, facts: ModelFacts, options: RunOptions): Rules {
  return {
    rulesVersion: 1,
    maxTurns: options.maxTurns ?? defaults.maxTurns,
    maxBudgetUsd: options.maxBudgetUsd ?? null,
    timeoutMs: options.timeoutMs ?? null,
    window: facts.window,
    outputCap: options.maxOutputTokens ?? Math.min(defaults.outputCap, facts.maxOutput),
    raisedOutputCap: facts.maxOutput,
    outputCapFixed: options.maxOutputTokens !== undefined,
    maxOutputRecoveries: MAX_OUTPUT_RECOVERIES,
    maxSameFailures: MAX_SAME_FAILURES,
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

function priceProblem(model: string, { price }: ModelFacts, { maxBudgetUsd }: RunOptions): string | undefined {
  if (maxBudgetUsd === undefined || price !== null) return undefined;
  return `a budget in US dollars cannot be kept with model ${model}: its price is not known; use a known model or leave the budget out`;
}
