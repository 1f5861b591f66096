// Checks a run's options. The client uses it before anything starts, and so does the activity that
// opens a run.
import { didYouMean } from './did-you-mean.ts';
import { permissionsProblem } from './permission-rules.ts';
import { extraFoldersProblem } from './extra-folders.ts';
import { tagsProblem } from './facts.ts';
import { toolEnvProblem } from './tool-env.ts';
import type { Effort } from './loop.ts';
import type { PermissionMode, RunOptions, OptionChanges, NewLimits } from './session.ts';

export const efforts: readonly Effort[] = ['low', 'medium', 'high', 'xhigh', 'max'];
export const permissionModes: readonly PermissionMode[] = ['default', 'acceptEdits', 'plan', 'dontAsk', 'bypass'];

/** Limits beyond which a number is a mistake rather than a wish. */
export const OPTION_BOUNDS = {
  maxTurns: 1_000_000,
  maxBudgetUsd: 1_000_000,
  timeoutMs: 365 * 24 * 3_600_000,
  maxOutputTokens: 1_000_000,
  /** Characters: options travel through the workflow. */
  systemPrompt: 100_000,
  model: 200,
  cwd: 4_096,
  tokens: 1_000_000_000,
  thinkingTokens: 1_000_000,
  fallbackModels: 10,
  tools: 1_000,
  /** Characters of JSON. */
  outputSchema: 64 * 1024,
  /**
   * Characters of JSON of all options. A handover carries them twice, which stays below the
   * server's limit of 2 MiB also where a character is three bytes.
   */
  together: 192 * 1024,
};

/** Tokens below which the API refuses a request. */
const LEAST = { taskBudget: 20_000, thinkingTokens: 1_024 };

/** All options; the compiler keeps the list complete. */
export const RUN_OPTIONS: Readonly<Record<keyof RunOptions, true>> = {
  cwd: true,
  model: true,
  maxTurns: true,
  maxBudgetUsd: true,
  timeoutMs: true,
  wrapUp: true,
  permissionMode: true,
  permissions: true,
  systemPrompt: true,
  appendSystemPrompt: true,
  instructions: true,
  memory: true,
  suggestPrompts: true,
  tools: true,
  toolEnv: true,
  additionalDirectories: true,
  maxOutputTokens: true,
  fallbackModels: true,
  maxTokens: true,
  tokenBudget: true,
  taskBudget: true,
  thinkingTokens: true,
  effort: true,
  outputSchema: true,
  approvalTimeoutMs: true,
  tags: true,
};

/** The limits of a run that can be changed, and how sentences name them. */
export const LIMITS: Readonly<Record<keyof NewLimits, string>> = {
  maxTurns: 'turns',
  maxBudgetUsd: 'US dollars',
  maxTokens: 'tokens',
  timeoutMs: 'milliseconds',
};

/** Refuses unknown options: one that is ignored may have been meant as a guard. */
function unknownProblem(options: object): string | undefined {
  const unknown = Object.keys(options).find((key) => !Object.hasOwn(RUN_OPTIONS, key));
  if (unknown === undefined) return undefined;
  return `there is no option ${JSON.stringify(unknown.slice(0, 60))}: ${didYouMean(unknown, Object.keys(RUN_OPTIONS))}`;
}

/**
 * Returns a sentence that says what is wrong with the options and what would be right, or
 * undefined.
 */
export function optionsProblem(options: Partial<RunOptions>): string | undefined {
  const { maxTurns, maxBudgetUsd, timeoutMs, maxOutputTokens, permissionMode, permissions } = options;
  const { model, cwd, systemPrompt } = options;
  return (
    unknownProblem(options) ??
    textProblem('system prompt', systemPrompt, OPTION_BOUNDS.systemPrompt) ??
    textProblem('appended system prompt', options.appendSystemPrompt, OPTION_BOUNDS.systemPrompt) ??
    toolsProblem(options.tools) ??
    toolEnvProblem(options.toolEnv) ??
    extraFoldersProblem(options.additionalDirectories) ??
    textProblem('model', model, OPTION_BOUNDS.model) ??
    textProblem('working directory', cwd, OPTION_BOUNDS.cwd) ??
    wholeNumberProblem('max turns', maxTurns, OPTION_BOUNDS.maxTurns) ??
    positiveNumberProblem('max budget', 'US dollars', maxBudgetUsd, OPTION_BOUNDS.maxBudgetUsd) ??
    positiveNumberProblem('timeout', 'milliseconds', timeoutMs, OPTION_BOUNDS.timeoutMs) ??
    wholeNumberProblem('max output tokens', maxOutputTokens, OPTION_BOUNDS.maxOutputTokens) ??
    tokensProblem(options) ??
    booleanProblem('wrap up', options.wrapUp) ??
    booleanProblem('instructions', options.instructions) ??
    booleanProblem('memory', options.memory) ??
    booleanProblem('suggest prompts', options.suggestPrompts) ??
    fallbacksProblem(options.fallbackModels, model) ??
    schemaProblem(options.outputSchema) ??
    positiveNumberProblem('approval timeout', 'milliseconds', options.approvalTimeoutMs, OPTION_BOUNDS.timeoutMs) ??
    (permissionMode !== undefined && !permissionModes.includes(permissionMode)
      ? `permission mode "${permissionMode}" is not one of ${permissionModes.join(', ')}`
      : undefined) ??
    (options.effort !== undefined && !efforts.includes(options.effort)
      ? `effort "${options.effort}" is not one of ${efforts.join(', ')}`
      : undefined) ??
    permissionsProblem(permissions) ??
    tagsProblem(options.tags) ??
    bypassProblem(options) ??
    (model !== undefined && model.trim() === '' ? 'the model is empty: give its name' : undefined) ??
    (cwd !== undefined && !cwd.startsWith('/') && !/^[A-Za-z]:[\\/]/.test(cwd)
      ? `the working directory "${cwd}" is not an absolute path`
      : undefined) ??
    optionsSizeProblem(options)
  );
}

function booleanProblem(what: string, value: boolean | undefined): string | undefined {
  return value === undefined || typeof value === 'boolean' ? undefined : `${what} is neither true nor false`;
}

/** Mode `bypass` never asks, so rules that ask would be ignored in silence (L55). */
function bypassProblem({ permissionMode, permissions }: Partial<RunOptions>): string | undefined {
  if (permissionMode !== 'bypass' || !permissions?.ask?.length) return undefined;
  return 'permission mode "bypass" asks about nothing, and there are rules that ask: give the rules again without those, deny instead, or choose another mode';
}

/** Returns a sentence that says why all options together are too large, or undefined. */
export function optionsSizeProblem(options: Partial<RunOptions>): string | undefined {
  const { length } = JSON.stringify(options);
  if (length <= OPTION_BOUNDS.together) return undefined;
  return `the options have ${length} characters of JSON in all: give at most ${OPTION_BOUNDS.together}, with fewer rules or shorter texts`;
}

function tokensProblem({
  maxTokens,
  tokenBudget,
  taskBudget,
  thinkingTokens,
  maxOutputTokens,
}: Partial<RunOptions>): string | undefined {
  return (
    wholeNumberProblem('max tokens', maxTokens, OPTION_BOUNDS.tokens) ??
    wholeNumberProblem('token budget', tokenBudget, OPTION_BOUNDS.tokens) ??
    wholeNumberProblem('task budget', taskBudget, OPTION_BOUNDS.tokens, LEAST.taskBudget) ??
    wholeNumberProblem('thinking tokens', thinkingTokens, OPTION_BOUNDS.thinkingTokens, LEAST.thinkingTokens) ??
    (thinkingTokens !== undefined && maxOutputTokens !== undefined && thinkingTokens >= maxOutputTokens
      ? `thinking tokens are ${thinkingTokens} of ${maxOutputTokens} max output tokens, which leaves no room for an answer: give fewer of the first or more of the second`
      : undefined)
  );
}

function fallbacksProblem(models: unknown, primary: string | undefined): string | undefined {
  if (models === undefined) return undefined;
  if (!Array.isArray(models)) return 'the fallback models are not a list: give their names in order';
  if (models.length > OPTION_BOUNDS.fallbackModels)
    return `${models.length} fallback models are given: give at most ${OPTION_BOUNDS.fallbackModels}`;
  const empty = models.some((model) => typeof model === 'string' && model.trim() === '');
  if (empty) return 'a fallback model is empty: give its name';
  const wrong = models
    .map((model) => textProblem('fallback model', model, OPTION_BOUNDS.model))
    .find((problem) => problem !== undefined);
  if (wrong !== undefined) return wrong;
  const names = [primary, ...(models as readonly string[])];
  const again = names.find((name, at) => at > 0 && name === names[at - 1]);
  return again && `fallback model ${again} comes right after itself: nothing is gained by asking it again`;
}

function toolsProblem(tools: unknown): string | undefined {
  if (tools === undefined) return undefined;
  if (!Array.isArray(tools) || !tools.every((name) => typeof name === 'string'))
    return 'the tools are not a list of names: give some such as ["read", "grep"]';
  return tools.length <= OPTION_BOUNDS.tools
    ? undefined
    : `${tools.length} tools are named: give at most ${OPTION_BOUNDS.tools}`;
}

function schemaProblem(schema: unknown): string | undefined {
  if (schema === undefined) return undefined;
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    return 'the output schema is not an object: give a JSON schema';
  const { length } = JSON.stringify(schema);
  return length <= OPTION_BOUNDS.outputSchema
    ? undefined
    : `the output schema has ${length} characters of JSON: give at most ${OPTION_BOUNDS.outputSchema}`;
}

function wholeNumberProblem(name: string, value: number | undefined, most: number, least = 1): string | undefined {
  if (value === undefined || (Number.isInteger(value) && value >= least && value <= most)) return undefined;
  return `${name} is ${value}: give a whole number from ${least} to ${most}`;
}

function positiveNumberProblem(
  name: string,
  unit: string,
  value: number | undefined,
  most: number,
): string | undefined {
  if (value === undefined || (Number.isFinite(value) && value > 0 && value <= most)) return undefined;
  return `${name} is ${value}: give a number of ${unit} above 0 and up to ${most}`;
}

/**
 * Checks a text. Options may come from any Temporal client, so that even their types are uncertain.
 */
function textProblem(name: string, value: unknown, most: number): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string') return `the ${name} is not a text`;
  return value.length <= most ? undefined : `the ${name} has ${value.length} characters: give at most ${most}`;
}

/**
 * Applies changes that a message makes to its session's options: each gives an option anew, or
 * takes it back with null (L57). A workspace cannot be taken back: its null stays, and is refused
 * where options are checked.
 */
export function withChanges<Options extends Partial<RunOptions>>(options: Options, changes: OptionChanges): Options {
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  const all = Object.entries({ ...options, ...Object.fromEntries(given) });
  return Object.fromEntries(all.filter(([key, value]) => value !== null || key === 'cwd')) as Options;
}
