// The options of a run. Each is declared once, here: its type and docstring, its check, its flag,
// and what people are told of it. RunOptions, the flags of the command line, the schemas of the
// HTTP API and the page docs/api/run-options.md follow from this one.
import { type ExtraFolders, extraFoldersProblem } from './extra-folders.ts';
import { type Tags, tagsProblem } from './facts.ts';
import { type Effort, efforts } from './loop.ts';
import { findRepeated, jsonSizeProblem } from './list-problems.ts';
import { mcpServersProblem, type RunServer } from './mcp-servers.ts';
import { mountsProblem, type RunMount } from './mounts.ts';
import { type PermissionMode, permissionModes, type PermissionRules, permissionsProblem } from './permission-rules.ts';
import { isOutsideTool, MOST_OUTSIDE, type OutsideTool } from './waits.ts';
import { type PromptContext, promptContextProblem } from './prompt-context.ts';
import { type RosterAgent, rosterShapeProblem } from './roster.ts';
import { type ToolEnv, toolEnvProblem } from './tool-env.ts';

/** Limits beyond which a value is a mistake rather than a wish. */
export const OPTION_BOUNDS = {
  /** Characters: options travel through the workflow. */
  systemPrompt: 100_000,
  tools: 1_000,
  /** Characters of JSON. */
  outputSchema: 64 * 1024,
  outsideTools: 96 * 1024,
  roster: 128 * 1024,
};

export const toolsets = ['agent_toolset_20260401'] as const;
export type Toolset = (typeof toolsets)[number];

const LONGEST_MODEL = 200;
const LONGEST_ENVIRONMENT = 100;
/** Characters of a goal among the options, and of a command that grades it. */
export const LONGEST_GOAL = 4_000;
/** Gradings of a run's goal. */
export const MOST_ROUNDS = 20;
const MOST_FALLBACKS = 10;
const MOST_TOKENS = 1_000_000_000;
const YEAR_MS = 365 * 24 * 3_600_000;

/**
 * The kind of a value, which decides how a flag is read and what the HTTP API takes. `names` are
 * one flag with commas; a flag of `list`, `folders`, `pairs` and `rules` is repeatable.
 */
export type OptionKind =
  | 'choice'
  | 'folder'
  | 'folders'
  | 'list'
  | 'mounts'
  | 'names'
  | 'number'
  | 'pairs'
  | 'roster'
  | 'rules'
  | 'schema'
  | 'servers'
  | 'switch'
  | 'text'
  | 'time'
  | 'tools';

type OptionWords = {
  /** A sentence for the help, the documentation and the HTTP API. */
  readonly says: string;
  /** The flag with its placeholder. Absent: the command line does not give it. */
  readonly flag?: string;
  /** A hint after the sentence, shown in the command line's help only. */
  readonly hint?: string;
  /** The sentence for `--no-…`, which a switch has as well. */
  readonly off?: string;
};

type Check = (value: unknown) => string | undefined;

type RunOption<Value> = OptionWords & {
  readonly kind: OptionKind;
  /** Says in a sentence what is wrong with a value that is not undefined. */
  readonly problemOf: Check;
  /** All values of a choice. */
  readonly values?: readonly string[];
  /** Carries the type of the value; it is always absent. */
  readonly type?: Value;
};

/** A limit that can be changed while a run is under way. */
type LimitOption = RunOption<number> & {
  /** How sentences name what it counts. */
  readonly counts: string;
  /** The sentence for the flag of `top-up`. */
  readonly raises: string;
};

function defineOption<Value>(kind: OptionKind, problemOf: Check, words: OptionWords): RunOption<Value> {
  return { kind, problemOf, ...words };
}

const textOption = (name: string, most: number, words: OptionWords): RunOption<string> =>
  defineOption('text', (value) => textProblem(name, value, most), words);

const countOption = (name: string, most: number, words: OptionWords, least = 1): RunOption<number> =>
  defineOption('number', (value) => wholeNumberProblem(name, value, least, most), words);

const timeOption = (name: string, words: OptionWords): RunOption<number> =>
  defineOption('time', (value) => positiveNumberProblem(name, 'milliseconds', value, YEAR_MS), words);

const switchOption = (name: string, words: OptionWords): RunOption<boolean> =>
  defineOption(
    'switch',
    (value) => (typeof value === 'boolean' ? undefined : `${name} is neither true nor false`),
    words,
  );

const contextOption = (name: string, says: string): RunOption<PromptContext> =>
  defineOption('pairs', (value) => promptContextProblem(name, value), { says });

function choiceOption<Value extends string>(
  name: string,
  values: readonly Value[],
  words: OptionWords,
): RunOption<Value> {
  const problemOf = (value: unknown): string | undefined =>
    values.some((known) => known === value)
      ? undefined
      : `${name} "${String(value)}" is not one of ${values.join(', ')}`;
  return { ...defineOption<Value>('choice', problemOf, words), values };
}

/** An absent option has the worker's default, snapshotted when the run starts (L57). */
export const RUN_OPTIONS = {
  cwd: defineOption<string>('folder', cwdProblem, {
    flag: '--cwd <dir>',
    says: 'the workspace: file tools touch nothing outside it',
    hint: ' (default: the current folder)',
  }),
  additionalDirectories: defineOption<ExtraFolders>('folders', extraFoldersProblem, {
    flag: '--add-dir <dir>',
    says: 'another folder that tools may read and change',
  }),
  model: defineOption<string>('text', modelNameProblem, {
    flag: '--model <name>',
    says: 'the model to use: a whole name, or opus, sonnet, haiku or fable for the newest of these',
  }),
  /**
   * Models to go on with when one is overloaded, missing or refuses, in order (L19). At most 10.
   */
  fallbackModels: defineOption<readonly string[]>('list', fallbacksProblem, {
    flag: '--fallback-model <name>',
    says: 'a model to switch to when the one before is overloaded, missing or refuses',
  }),
  /** Turns, at least 1 (L45). */
  maxTurns: {
    ...countOption('max turns', 1_000_000, { flag: '--max-turns <n>', says: 'end the run after this many turns' }),
    counts: 'turns',
    raises: 'the number of turns it may take',
  },
  /** US dollars (L51). */
  maxBudgetUsd: {
    ...defineOption<number>('number', (value) => positiveNumberProblem('max budget', 'US dollars', value, 1_000_000), {
      flag: '--max-budget-usd <x>',
      says: 'end the run before it costs more than this, in US dollars',
    }),
    counts: 'US dollars',
    raises: 'the US dollars it may cost',
  },
  /**
   * US dollars, 0 or more, that all runs of the session and their agents may cost together. A run
   * that reaches it waits until it is raised or removed, also while the run is under way (G69).
   */
  sessionBudgetUsd: defineOption<number>('number', sessionBudgetProblem, {
    says: 'wait when all runs of the session have cost this much, in US dollars, until it is raised',
  }),
  /** Tokens of all kinds over all calls (L51). */
  maxTokens: {
    ...countOption('max tokens', MOST_TOKENS, {
      flag: '--max-tokens <n>',
      says: 'end the run before it uses more tokens than this, of all kinds',
    }),
    counts: 'tokens',
    raises: 'the tokens of all kinds it may use',
  },
  /** What must be true when a run would end by itself (X10). At most 4,000 characters. */
  goal: textOption('goal', LONGEST_GOAL, {
    flag: '--goal <text>',
    says: 'grade each run before it ends: what must be true, and goes back to the model until it is',
  }),
  /** Runs as `bash` does; its exit status grades the goal in the place of a model (X10). */
  goalCommand: textOption('goal command', LONGEST_GOAL, {
    flag: '--goal-command <command>',
    says: 'grade the goal by the exit status of this command instead of asking a model',
  }),
  /** The most gradings of a run, from 1 to 20. Absent: 3 (X10). */
  goalRounds: countOption('goal rounds', MOST_ROUNDS, {
    flag: '--goal-rounds <n>',
    says: 'grade a run at most this many times',
    hint: ' (default: 3)',
  }),
  /** Output tokens to spend before the run may stop by itself (L31). */
  tokenBudget: countOption('token budget', MOST_TOKENS, {
    flag: '--token-budget <n>',
    says: 'spend this many output tokens before stopping on its own',
  }),
  /** Tokens, at least 20,000, told to the API and carried over compactions (L11). */
  taskBudget: countOption(
    'task budget',
    MOST_TOKENS,
    { flag: '--task-budget <n>', says: 'tell the model how many tokens it has for the task' },
    20_000,
  ),
  /**
   * Tokens of extended thinking in each reply, for a model that takes a number. Absent: the model's
   * own default (L59).
   */
  thinkingTokens: countOption(
    'thinking tokens',
    1_000_000,
    { flag: '--thinking <n>', says: 'let the model think with up to this many tokens in each reply' },
    1_024,
  ),
  /** max_tokens of each request; a caller's own value is never raised (L26). */
  maxOutputTokens: countOption('max output tokens', 1_000_000, { says: 'the most tokens that one reply may have' }),
  /** How much a model puts into its replies. Absent: the model's own default (X2). */
  effort: choiceOption<Effort>('effort', efforts, {
    flag: '--effort <level>',
    says: 'how much the model puts into its replies',
  }),
  /** A JSON schema that the final answer must satisfy (L53). At most 64 KB. */
  outputSchema: defineOption<Readonly<Record<string, unknown>>>('schema', schemaSizeProblem, {
    flag: '--output-schema <file>',
    says: 'a JSON schema that the final answer must satisfy',
  }),
  /** Milliseconds of running time; parking does not count (L51). */
  timeoutMs: {
    ...timeOption('timeout', {
      flag: '--timeout <time>',
      says: 'end the run after this time',
      hint: ': 1500ms, 90s, 30m, 2h',
    }),
    counts: 'milliseconds',
    raises: 'the time it may take',
  },
  /**
   * Before a limit ends the run, one more call says what is done and what is not. It runs no tools,
   * and counts as no turn (L51).
   */
  wrapUp: switchOption('wrap up', {
    flag: '--wrap-up',
    says: 'before a limit ends the run, make one more call that sums up what is done',
    off: 'do not sum up, even if the worker is configured to',
  }),
  systemPrompt: textOption('system prompt', OPTION_BOUNDS.systemPrompt, {
    flag: '--system-prompt <text>',
    says: 'instructions to use instead of the default system prompt',
  }),
  /**
   * Comes after the system prompt, whether the worker's own or the one given. At most 100,000
   * characters.
   */
  appendSystemPrompt: textOption('appended system prompt', OPTION_BOUNDS.systemPrompt, {
    flag: '--append-system-prompt <text>',
    says: 'instructions to add to the system prompt',
  }),
  /**
   * Facts about where the agent works, by name, told with the system prompt: when one of them is
   * another in a later run, the model is told that one. At most 50, 100,000 characters together.
   */
  systemContext: contextOption('system context', 'facts about where the agent works, by name, for the system prompt'),
  /** Facts about whom the agent works for, as `systemContext`. */
  userContext: contextOption('user context', 'facts about whom the agent works for, by name, for the system prompt'),
  /** False keeps the workspace's AGENTS.md files from the model (L78). */
  instructions: switchOption('instructions', {
    flag: '--instructions',
    says: 'tell the model the AGENTS.md files of the workspace',
    hint: ' (the default)',
    off: 'do not tell the model the AGENTS.md files of the workspace',
  }),
  /** The model is told the notes of the workspace, and each run makes one (L80). */
  memory: switchOption('memory', {
    flag: '--memory',
    says: 'tell the model notes of earlier sessions in this workspace, and make one',
    hint: ' (the default)',
    off: 'neither tell the model notes of earlier sessions nor make one',
  }),
  /** Files are captured after each step that may have changed them (T1). */
  snapshots: switchOption('snapshots', {
    flag: '--snapshots',
    says: 'capture the files of the workspace after each step that may change them',
    hint: ' (the default)',
    off: 'capture no files: the session can be neither compared nor taken back with them',
  }),
  /** The session never moves to another host, where hosts share a store (T18). */
  stay: switchOption('stay', {
    flag: '--stay',
    says: 'wait for the host that has the files, however long it is away',
    off: 'go on with the last snapshot of the files on another host when this one is away (the default)',
  }),
  /**
   * After a natural end, the small model suggests what the person may write next, and the memo
   * tells it (L56).
   */
  suggestPrompts: switchOption('suggest prompts', {
    says: 'suggest what the person may write next, after a run that ended by itself',
  }),
  /**
   * The worker's tools that the model is offered, by name. An empty list offers none; absent: all.
   */
  tools: defineOption<readonly string[]>('names', toolsProblem, {
    flag: '--tools <names>',
    says: 'the tools the model is offered',
    hint: ', such as "read,grep"; "" for no tool at all',
  }),
  /** File and shell tools take the inputs of the toolset that Managed Agents name (G51). */
  toolset: choiceOption<'agent_toolset_20260401'>('toolset', toolsets, {
    says: 'offer the file and shell tools with the inputs of a public toolset',
  }),
  /** Shell commands and `web_fetch` reach nothing; tools of your own and of MCP servers may. */
  offline: switchOption('offline', {
    says: 'run shell commands without a network, and fetch no pages',
  }),
  /**
   * Commands and the tools of the toolset see files that are attached to the session at
   * /mnt/session/uploads, and a folder beside the workspace, `<workspace>.outputs`, at
   * /mnt/session/outputs (G66).
   */
  sessionFiles: switchOption('session files', {
    says: 'show files that are attached to the session at /mnt/session/uploads, and a folder beside the workspace at /mnt/session/outputs',
  }),
  permissionMode: choiceOption<PermissionMode>('permission mode', permissionModes, {
    flag: '--permission-mode <mode>',
    says: 'what runs without asking',
  }),
  /** Rules that hold together with the worker's own (L55). */
  permissions: defineOption<PermissionRules>('rules', permissionsProblem, {
    flag: '--allow, --deny, --ask <rule>',
    says: 'rules that allow, deny or ask about matching calls, together with those of the worker',
  }),
  /** Kept as all options are: a secret variable belongs in the worker's configuration. */
  toolEnv: defineOption<ToolEnv>('pairs', toolEnvProblem, {
    flag: '--tool-env <name=value>',
    says: 'a variable for shell commands and tools, kept with the session, so no secret',
  }),
  tags: defineOption<Tags>('pairs', tagsProblem, {
    flag: '--tag <name=value>',
    says: 'a label by which lists find the session, such as team=web',
  }),
  /** The transcript says which calls wait, and how each wait ended (G37). */
  recordWaits: switchOption('record waits', {
    says: 'store in the transcript which calls wait for somebody, and how each wait ended',
  }),
  /**
   * Tools whose calls somebody outside carries out (G53), in the place of the worker's of the same
   * name. At most 128, 96 KB of JSON together.
   */
  outsideTools: defineOption<readonly OutsideTool[]>('tools', outsideToolsProblem, {
    says: 'tools whose calls somebody outside carries out, and gives the results of by the update `giveResult`',
  }),
  /**
   * MCP servers of this session alone (G54), by streamable HTTP: the worker connects to them, with
   * the headers of its own configuration. At most 20, 64 KB of JSON together.
   */
  mcpServers: defineOption<readonly RunServer[]>('servers', mcpServersProblem, {
    says: 'MCP servers of the session: names, addresses, and the policies of their tools',
  }),
  /**
   * The agents that calls of `agent` may start, in the place of the worker's types (G68). At most
   * 20, 128 KB of JSON together.
   */
  roster: defineOption<readonly RosterAgent[]>('roster', (value) => rosterShapeProblem(value, OPTION_BOUNDS.roster), {
    says: 'the agents that the model may start, instead of the types of the worker',
  }),
  /**
   * Folders below /mnt that the tools of a toolset see (G67): some hold the memories of a store. At
   * most 100.
   */
  mounts: defineOption<readonly RunMount[]>('mounts', mountsProblem, {
    says: 'folders below /mnt that file tools and commands see, besides the workspace',
  }),
  /** The self-hosted environment whose workers run the tools of its sandbox (G74). */
  environment: textOption('environment', LONGEST_ENVIRONMENT, {
    says: 'the self-hosted environment whose workers run its tools',
  }),
  /** Milliseconds that an approval may take before the call counts as denied (L55). */
  approvalTimeoutMs: timeOption('approval timeout', {
    flag: '--approval-timeout <time>',
    says: 'deny a call after it waited this long for a decision',
  }),
};

type Rows = typeof RUN_OPTIONS;
type ValueOf<Row> = Row extends RunOption<infer Value> ? Value : never;
type Values = { readonly [Name in keyof Rows]: ValueOf<Rows[Name]> };

/**
 * The options of a run. An absent option has the worker's default, snapshotted when the run starts
 * (L57).
 */
export type RunOptions = Pick<Values, 'cwd'> & Partial<Omit<Values, 'cwd'>>;

type LimitName = { [Name in keyof Rows]: Rows[Name] extends LimitOption ? Name : never }[keyof Rows];

/** Limits of the run under way. They count from the run's beginning, as in its options. */
export type NewLimits = Partial<Pick<Values, LimitName>>;

/** The options that limit a run and can be changed while it is under way. */
export const LIMITS = Object.fromEntries(
  Object.entries(RUN_OPTIONS).filter(([, row]) => 'counts' in row),
) as unknown as Pick<Rows, LimitName>;

function cwdProblem(cwd: unknown): string | undefined {
  const problem = textProblem('working directory', cwd, 4_096);
  if (problem !== undefined || typeof cwd !== 'string') return problem;
  return cwd.startsWith('/') || /^[A-Za-z]:[\\/]/.test(cwd)
    ? undefined
    : `the working directory "${cwd}" is not an absolute path`;
}

function modelNameProblem(model: unknown): string | undefined {
  const problem = textProblem('model', model, LONGEST_MODEL);
  return problem ?? (String(model).trim() === '' ? 'the model is empty: give its name' : undefined);
}

function fallbacksProblem(models: unknown): string | undefined {
  if (!Array.isArray(models)) return 'the fallback models are not a list: give their names in order';
  if (models.length > MOST_FALLBACKS)
    return `${models.length} fallback models are given: give at most ${MOST_FALLBACKS}`;
  const empty = models.some((model) => typeof model === 'string' && model.trim() === '');
  if (empty) return 'a fallback model is empty: give its name';
  return models
    .map((model) => textProblem('fallback model', model, LONGEST_MODEL))
    .find((problem) => problem !== undefined);
}

function toolsProblem(tools: unknown): string | undefined {
  if (!Array.isArray(tools) || !tools.every((name) => typeof name === 'string'))
    return 'the tools are not a list of names: give some such as ["read", "grep"]';
  return tools.length <= OPTION_BOUNDS.tools
    ? undefined
    : `${tools.length} tools are named: give at most ${OPTION_BOUNDS.tools}`;
}

function outsideToolsProblem(tools: unknown): string | undefined {
  if (!Array.isArray(tools) || !tools.every(isOutsideTool))
    return 'the outside tools are no list of { by, name, description, input_schema }';
  if (tools.length > MOST_OUTSIDE) return `${tools.length} outside tools are given: give at most ${MOST_OUTSIDE}`;
  const twice = findRepeated(tools.map(({ name }) => name));
  if (twice !== undefined) return `two outside tools are named ${JSON.stringify(twice)}`;
  return jsonSizeProblem('the outside tools have', tools, OPTION_BOUNDS.outsideTools);
}

function schemaSizeProblem(schema: unknown): string | undefined {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    return 'the output schema is not an object: give a JSON schema';
  return jsonSizeProblem('the output schema has', schema, OPTION_BOUNDS.outputSchema);
}

function wholeNumberProblem(name: string, value: unknown, least: number, most: number): string | undefined {
  if (Number.isInteger(value) && Number(value) >= least && Number(value) <= most) return undefined;
  return `${name} is ${String(value)}: give a whole number from ${least} to ${most}`;
}

function sessionBudgetProblem(value: unknown): string | undefined {
  if (Number.isFinite(value) && Number(value) >= 0 && Number(value) <= 1_000_000) return undefined;
  return `session budget is ${String(value)}: give a number of US dollars from 0 to 1000000`;
}

function positiveNumberProblem(name: string, unit: string, value: unknown, most: number): string | undefined {
  if (Number.isFinite(value) && Number(value) > 0 && Number(value) <= most) return undefined;
  return `${name} is ${String(value)}: give a number of ${unit} above 0 and up to ${most}`;
}

/**
 * Checks a text. Options may come from any Temporal client, so that even their types are uncertain.
 */
function textProblem(name: string, value: unknown, most: number): string | undefined {
  if (typeof value !== 'string') return `the ${name} is not a text`;
  return value.length <= most ? undefined : `the ${name} has ${value.length} characters: give at most ${most}`;
}
