// The limits that decide about a run, from the choices of its caller and its worker: a part of its
// snapshot (L57).
import type { RunConfig, RunModel } from '../../store/configuration.ts';
import { RecentMap } from '../../system/recent-map.ts';
import { findSkills } from '../../tools/builtin/files/skills.ts';
import { chooseTools, countTokens, deferLimit } from '../../tools/deferred-tools.ts';
import { describeDeferral } from '../../tools/find-tools.ts';
import { isListed } from '../../tools/registry.ts';
import { mayReadByRules } from '../../tools/rules/match-rules.ts';
import type { Notice } from '../../workflows/contract/activities.ts';
import { estimateTokens, type ModelLimits, type Rules } from '../../workflows/contract/loop.ts';
import type { RunOptions } from '../../workflows/contract/session.ts';
import { largestSummarySpend } from '../compaction/summarize.ts';
import type { Deps } from '../deps.ts';

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

// The models of a run, from the names that its caller and its worker gave (X1, X2), and whether
// they can do what is asked of them.
type RunModels = Pick<RunConfig, 'models' | 'smallModel'>;

/**
 * Finds the models of a run. Returns a sentence when a name belongs to no model, or the models
 * cannot do what is asked.
 */
export async function findRunModels(
  { models, defaults }: Pick<Deps, 'models' | 'defaults'>,
  options: RunOptions,
): Promise<RunModels | string> {
  const wantedNames = [options.model ?? defaults.model, ...(options.fallbackModels ?? defaults.fallbackModels)];
  const found = [...wantedNames, defaults.smallModel].map((name) => models.find(name));
  const wrong = found.find((each) => 'problem' in each);
  if (wrong && 'problem' in wrong) return wrong.problem;
  const names = found.flatMap((each) => ('name' in each ? [each.name] : []));
  await models.lookUp([...new Set(names)]);
  const all = names.map((name) => ({ name, ...models.facts(name) }));
  const [primary, ...rest] = all.slice(0, -1) as [RunModel, ...RunModel[]];
  // A worker's list may begin with the model that a caller chose: asking it again would gain
  // nothing.
  const fallbacks = rest.filter(({ name }, at) => name !== (at === 0 ? primary : rest[at - 1])?.name);
  const chosen: RunModels = { models: [primary, ...fallbacks], smallModel: all.at(-1) ?? primary };
  return (
    checkPrices([...chosen.models, chosen.smallModel], options) ??
    checkThinking(primary, options) ??
    checkEffort(primary, options) ??
    chosen
  );
}

function checkThinking({ name, maxOutput }: RunModel, { thinkingTokens }: RunOptions): string | undefined {
  if (thinkingTokens === undefined || thinkingTokens < maxOutput) return undefined;
  return `thinking tokens are ${thinkingTokens}, and all that ${name} may answer with is ${maxOutput} tokens: give fewer`;
}

/** A model that is not known may be asked anything. */
function checkEffort({ name, effort, thinking }: RunModel, { effort: wanted }: RunOptions): string | undefined {
  if (wanted === undefined || effort?.levels.includes(wanted)) return undefined;
  if (effort) return `${name} has no effort "${wanted}": there are ${effort.levels.join(', ')}`;
  return thinking && `${name} takes no effort: leave it out, or choose another model`;
}

/**
 * Requires a price of every model that may be asked when there is a budget: a model without one
 * would count for nothing.
 */
function checkPrices(models: readonly RunModel[], { maxBudgetUsd, sessionBudgetUsd }: RunOptions): string | undefined {
  const unpriced = models.find(({ price }) => price === null);
  if ((maxBudgetUsd ?? sessionBudgetUsd) === undefined || unpriced === undefined) return undefined;
  return (
    `a budget in US dollars cannot be kept with model ${unpriced.name}: its price is not known; use a known model, leave the budget out, ` +
    `or add its prices per million tokens to the configuration: ${writePriceLine(unpriced.name)}`
  );
}

/** Writes the line of a configuration that says what a model costs. */
export function writePriceLine(name: string): string {
  return `models: { ${JSON.stringify(name)}: { price: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } } }`;
}

// Tells people, when a run opens, what is not known of its models (X1), which files are no skills
// for it (L79), and which tools of MCP servers are not in its requests (L74). Each is told once in
// a session.
/** The number of texts that a worker remembers to have told a session's watchers. */
const MOST_TOLD = 1_000;
/** The number of files without a skill that one run names. */
const MOST_FILES = 5;

export function createRunNews(
  deps: Pick<Deps, 'skills' | 'dataDir' | 'tools' | 'servers' | 'runServers'>,
): (config: RunConfig) => Promise<readonly Notice[]> {
  const toldTexts = new RecentMap<string, true>(MOST_TOLD);
  return async (config) => {
    const ofModels = config.models.flatMap((model) => describeUnknown(model) ?? []);
    const all = [
      ...ofModels.map((text) => ({ kind: 'about_model', text }) as const),
      ...listAboutTools(deps, config).map((text) => ({ kind: 'about_tools', text }) as const),
      ...(await listBrokenSkills(deps, config)).map((text) => ({ kind: 'about_skills', text }) as const),
    ];
    return all.filter(({ text }) => {
      const key = `${config.session} ${text}`;
      const isNew = !toldTexts.get(key);
      toldTexts.set(key, true);
      return isNew;
    });
  };
}

/** Says for people what is not known of a model; null where all is known that matters to a run. */
function describeUnknown({ name, price, window, assumed }: RunModel): string | null {
  if (!assumed && price !== null) return null;
  const size = assumed ? `nothing is known of ${name}, and a window of ${window} tokens is assumed` : null;
  const cost =
    price === null ? `what ${name} costs is not known: ${writePriceLine(name)} in a configuration says it` : null;
  return [size, cost].filter((part) => part !== null).join('; ');
}

/** Says which tools are left to be found and which are left out; an agent's watchers were told. */
function listAboutTools(
  { tools, servers, runServers }: Pick<Deps, 'tools' | 'servers' | 'runServers'>,
  config: RunConfig,
): readonly string[] {
  if (config.agent) return [];
  const offered = tools.definitionsOf(config).filter(({ name }) => isListed(config.tools, name));
  const { deferred } = chooseTools(offered, config.deferAbove);
  const leftOut = [...(servers?.leftOut() ?? []), ...(runServers?.leftOut(config.mcpServers) ?? [])];
  return [...describeDeferral(deferred.length, countTokens(deferred)), ...leftOut];
}

/**
 * Lists files that are no skills. An agent has the skills of the session that began it, whose
 * watchers were told.
 */
async function listBrokenSkills(
  { skills, dataDir: hidden }: Pick<Deps, 'skills' | 'dataDir'>,
  config: RunConfig,
): Promise<readonly string[]> {
  if (!skills || config.agent || !isListed(config.tools, 'skill')) return [];
  const { cwd } = config;
  const { problems } = await findSkills(skills, { cwd, hidden, mayRead: (path) => mayReadByRules(config, path) });
  const lines = problems.slice(0, MOST_FILES).map(({ file, problem }) => `left out as a skill: ${file} ${problem}`);
  const others = problems.length - lines.length;
  return others === 0 ? lines : [...lines, `left out as skills: ${others} more, which \`perdure skills\` lists`];
}
