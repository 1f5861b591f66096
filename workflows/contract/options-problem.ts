// The one check of a run's options, shared by the client (before anything starts) and the activity
// that opens a run.
import { permissionsProblem } from './permission-rules.ts';
import { extraFoldersProblem, tagsProblem, toolEnvProblem } from './facts.ts';
import type { Effort } from './loop.ts';
import type { PermissionMode, RunOptions, OptionChanges, TopUp } from './session.ts';

export const efforts: readonly Effort[] = ['low', 'medium', 'high', 'xhigh', 'max'];
export const permissionModes: readonly PermissionMode[] = ['default', 'acceptEdits', 'plan', 'dontAsk', 'bypass'];

/** Limits beyond which a number is a mistake rather than a wish. */
export const MOST = {
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
   * Characters of JSON: a handover carries all of it twice, below the server's limit of 2 MiB also
   * where a character is three bytes.
   */
  together: 192 * 1024,
};

/** Tokens below which the API refuses a request. */
const LEAST = { taskBudget: 20_000, thinkingTokens: 1_024 };

/** All there are: the compiler sees to it. */
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

/** The limits of a run that can be raised, and how sentences name them. */
export const LIMITS: Readonly<Record<keyof TopUp, string>> = {
  maxTurns: 'turns',
  maxBudgetUsd: 'US dollars',
  maxTokens: 'tokens',
  timeoutMs: 'milliseconds',
};

/** One that nobody reads may have been meant as a guard. */
function unknownProblem(options: object): string | undefined {
  const unknown = Object.keys(options).find((key) => !Object.hasOwn(RUN_OPTIONS, key));
  if (unknown === undefined) return undefined;
  return `there is no option ${JSON.stringify(unknown.slice(0, 60))}: ${didYouMean(unknown, Object.keys(RUN_OPTIONS))}`;
}

/** A sentence that says what is wrong with the options and what would be right, or undefined. */
export function optionsProblem(options: Partial<RunOptions>): string | undefined {
  const { maxTurns, maxBudgetUsd, timeoutMs, maxOutputTokens, permissionMode, permissions } = options;
  const { model, cwd, systemPrompt } = options;
  return (
    unknownProblem(options) ??
    text('system prompt', systemPrompt, MOST.systemPrompt) ??
    text('appended system prompt', options.appendSystemPrompt, MOST.systemPrompt) ??
    toolsProblem(options.tools) ??
    toolEnvProblem(options.toolEnv) ??
    extraFoldersProblem(options.additionalDirectories) ??
    text('model', model, MOST.model) ??
    text('working directory', cwd, MOST.cwd) ??
    whole('max turns', maxTurns, MOST.maxTurns) ??
    positive('max budget', 'US dollars', maxBudgetUsd, MOST.maxBudgetUsd) ??
    positive('timeout', 'milliseconds', timeoutMs, MOST.timeoutMs) ??
    whole('max output tokens', maxOutputTokens, MOST.maxOutputTokens) ??
    tokensProblem(options) ??
    yesOrNo('wrap up', options.wrapUp) ??
    yesOrNo('instructions', options.instructions) ??
    yesOrNo('memory', options.memory) ??
    yesOrNo('suggest prompts', options.suggestPrompts) ??
    fallbacksProblem(options.fallbackModels, model) ??
    schemaProblem(options.outputSchema) ??
    positive('approval timeout', 'milliseconds', options.approvalTimeoutMs, MOST.timeoutMs) ??
    (permissionMode !== undefined && !permissionModes.includes(permissionMode)
      ? `permission mode "${permissionMode}" is not one of ${permissionModes.join(', ')}`
      : undefined) ??
    (options.effort !== undefined && !efforts.includes(options.effort)
      ? `effort "${options.effort}" is not one of ${efforts.join(', ')}`
      : undefined) ??
    permissionsProblem(permissions) ??
    tagsProblem(options.tags) ??
    unaskedProblem(options) ??
    (model !== undefined && model.trim() === '' ? 'the model is empty: give its name' : undefined) ??
    (cwd !== undefined && !cwd.startsWith('/') && !/^[A-Za-z]:[\\/]/.test(cwd)
      ? `the working directory "${cwd}" is not an absolute path`
      : undefined) ??
    sizeProblem(options)
  );
}

function yesOrNo(what: string, value: boolean | undefined): string | undefined {
  return value === undefined || typeof value === 'boolean' ? undefined : `${what} is neither true nor false`;
}

/** Whoever wants to be asked must not believe that it happens (L55). */
function unaskedProblem({ permissionMode, permissions }: Partial<RunOptions>): string | undefined {
  if (permissionMode !== 'bypass' || !permissions?.ask?.length) return undefined;
  return 'permission mode "bypass" asks about nothing, and there are rules that ask: give the rules again without those, deny instead, or choose another mode';
}

/** Says why all options together are too large; undefined when they are not. */
export function sizeProblem(options: Partial<RunOptions>): string | undefined {
  const { length } = JSON.stringify(options);
  if (length <= MOST.together) return undefined;
  return `the options have ${length} characters of JSON in all: give at most ${MOST.together}, with fewer rules or shorter texts`;
}

function tokensProblem({
  maxTokens,
  tokenBudget,
  taskBudget,
  thinkingTokens,
  maxOutputTokens,
}: Partial<RunOptions>): string | undefined {
  return (
    whole('max tokens', maxTokens, MOST.tokens) ??
    whole('token budget', tokenBudget, MOST.tokens) ??
    whole('task budget', taskBudget, MOST.tokens, LEAST.taskBudget) ??
    whole('thinking tokens', thinkingTokens, MOST.thinkingTokens, LEAST.thinkingTokens) ??
    (thinkingTokens !== undefined && maxOutputTokens !== undefined && thinkingTokens >= maxOutputTokens
      ? `thinking tokens are ${thinkingTokens} of ${maxOutputTokens} max output tokens, which leaves no room for an answer: give fewer of the first or more of the second`
      : undefined)
  );
}

function fallbacksProblem(models: unknown, primary: string | undefined): string | undefined {
  if (models === undefined) return undefined;
  if (!Array.isArray(models)) return 'the fallback models are not a list: give their names in order';
  if (models.length > MOST.fallbackModels)
    return `${models.length} fallback models are given: give at most ${MOST.fallbackModels}`;
  const empty = models.some((model) => typeof model === 'string' && model.trim() === '');
  if (empty) return 'a fallback model is empty: give its name';
  const wrong = models
    .map((model) => text('fallback model', model, MOST.model))
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
  return tools.length <= MOST.tools ? undefined : `${tools.length} tools are named: give at most ${MOST.tools}`;
}

function schemaProblem(schema: unknown): string | undefined {
  if (schema === undefined) return undefined;
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    return 'the output schema is not an object: give a JSON schema';
  const { length } = JSON.stringify(schema);
  return length <= MOST.outputSchema
    ? undefined
    : `the output schema has ${length} characters of JSON: give at most ${MOST.outputSchema}`;
}

function whole(name: string, value: number | undefined, most: number, least = 1): string | undefined {
  if (value === undefined || (Number.isInteger(value) && value >= least && value <= most)) return undefined;
  return `${name} is ${value}: give a whole number from ${least} to ${most}`;
}

function positive(name: string, unit: string, value: number | undefined, most: number): string | undefined {
  if (value === undefined || (Number.isFinite(value) && value > 0 && value <= most)) return undefined;
  return `${name} is ${value}: give a number of ${unit} above 0 and up to ${most}`;
}

/** Options may come from any Temporal client, so even their types are not certain. */
function text(name: string, value: unknown, most: number): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string') return `the ${name} is not a text`;
  return value.length <= most ? undefined : `the ${name} has ${value.length} characters: give at most ${most}`;
}

// Changes that a message makes to its session's options: one is given anew, or taken back with null
// (L57).

/** A workspace cannot be taken back: its null stays, and is refused where options are checked. */
export function withChanges<Options extends Partial<RunOptions>>(options: Options, changes: OptionChanges): Options {
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  const all = Object.entries({ ...options, ...Object.fromEntries(given) });
  return Object.fromEntries(all.filter(([key, value]) => value !== null || key === 'cwd')) as Options;
}

// The name that was meant, for a name that is not known: options and rules that are passed over in
// silence guard nothing.

/** One that differs in a letter or two, or only in case; undefined when none is near. */
export function nearName(given: string, names: readonly string[]): string | undefined {
  // Whoever gives a longer one did not mean any of ours.
  if (given.length > 64) return undefined;
  const low = given.toLowerCase();
  const most = low.length <= 4 ? 1 : 2;
  const [best] = names
    .map((name) => ({ name, changes: changesBetween(low, name.toLowerCase()) }))
    .filter(({ changes }) => changes <= most)
    .sort((a, b) => a.changes - b.changes);
  return best?.name;
}

/** For a sentence that has just named it. */
export function didYouMean(given: string, names: readonly string[]): string {
  const near = nearName(given, names);
  return near === undefined ? `use ${names.join(', ')}` : `did you mean ${near}?`;
}

/** Letters to put in, take out or replace; two neighbours that changed places count as one. */
function changesBetween(a: string, b: string): number {
  let [last, row] = [[] as number[], Array.from({ length: b.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const cost = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + same);
      next.push(swapped ? Math.min(cost, (last[j - 2] ?? 0) + 1) : cost);
    }
    [last, row] = [row, next];
  }
  return row[b.length] ?? 0;
}
