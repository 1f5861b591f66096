// Translates the options of a query into a worker's configuration and run options. The table in
// option-fates.ts says which options are refused or passed over.
import { resolve } from 'node:path';
import { WEB_SEARCH } from '../faces/words.ts';
import { isListedAs, SERVER_PREFIX, RESOURCES } from '../faces/tools.ts';
import type { PerdureConfig, OptionChanges, ToolEnv } from '../faces/types.ts';
import { toolVariableProblem } from '../faces/options.ts';
import { present } from '../faces/basics.ts';
import { ClientProblem } from '../faces/start.ts';
import { toHookConfig, unknownEvents } from './callbacks.ts';
import { toAgentTypes } from './agent-types.ts';
import type { HookRelay } from './program-hooks.ts';
import {
  asksForSearch,
  asksSomebody,
  inwardMode,
  inwardName,
  inwardRules,
  MODEL_TOOL_NAMES,
  SESSION_TOOLS,
} from './names.ts';
import { checkOptions, isAskedFor } from './option-fates.ts';
import type { Options } from './shapes/options.ts';
import { asksForSkills, skillsToLoad } from './skills.ts';
import { renameRule, serverNames } from './server-names.ts';
import { askRules } from './query-settings.ts';
import { policyRules, outsideServers, programTools } from './tools.ts';
import { SYSTEM_PROMPT_DYNAMIC_BOUNDARY } from './values.ts';

export type TranslatedOptions = {
  readonly config: PerdureConfig;
  readonly run: OptionChanges & { readonly cwd: string };
};

type Translation = {
  /** The session follows one that was cleared. */
  readonly afterClear?: boolean;
  readonly relay?: HookRelay;
};

/**
 * Throws ClientProblem `refused` for an option that must not be dropped, or that has no valid
 * value.
 */
export function translateOptions(
  options: Options,
  say: (line: string) => void,
  { afterClear = false, relay }: Translation = {},
): TranslatedOptions {
  checkOptions(options, say);
  const named = options.resume ?? (options.forkSession ? undefined : options.sessionId);
  if (options.continue === true && named !== undefined) {
    const other = options.resume === undefined ? 'sessionId' : 'resume';
    throw new ClientProblem('refused', `the options "continue" and "${other}" each name a session: give one of them`);
  }
  const goesOn = options.continue === true || options.resume !== undefined;
  for (const name of ['forkSession', 'resumeSessionAt'] as const)
    if (isAskedFor(options[name]) && !goesOn)
      throw new ClientProblem(
        'refused',
        `the option "${name}" is about a session that goes on: give resume or continue`,
      );
  if (options.resumeDropsTurn !== undefined && options.resumeSessionAt === undefined)
    throw new ClientProblem(
      'refused',
      'the option "resumeDropsTurn" is about what resumeSessionAt leaves out: give both',
    );
  if (options.thinking?.type === 'disabled')
    say('the option thinking is passed over: a model thinks as it does by itself');
  const { hooks, mcpServers = {}, agents } = options;
  for (const event of hooks ? unknownEvents(hooks) : [])
    say(`hooks for ${event} are never called: there is no such event here`);
  const tools = programTools(mcpServers);
  const servers = outsideServers(mcpServers, options.onElicitation);
  const toolEnv = toolEnvOf(options.env);
  const others = Object.keys(servers).map((name) => `${SERVER_PREFIX}${name}`);
  const names = [...tools.map(({ name }) => name), ...others, ...(others.length > 0 ? [RESOURCES] : [])];
  const searches = asksForSearch(options);
  const skills = asksForSkills(options);
  const wanted = [...(searches ? [WEB_SEARCH] : []), ...(skills ? ['skill'] : [])];
  const known = [...SESSION_TOOLS, ...wanted];
  if (!skills && isGiven(options.skills)) say('there are no skills: settingSources without "project" leaves them out');
  const source = afterClear ? ('clear' as const) : ('startup' as const);
  const config: PerdureConfig = {
    toolNames: MODEL_TOOL_NAMES,
    // Programs count on the tools of their servers being there.
    deferTools: false,
    snapshots: options.enableFileCheckpointing ?? false,
    ...present({
      webSearch: searches || undefined,
      workspaceSkills: skills ? skillsToLoad(options) : undefined,
      tools: tools.length > 0 ? tools : undefined,
      mcpServers: others.length > 0 ? servers : undefined,
      hooks: hooks && toHookConfig(hooks, say, present({ mode: options.permissionMode, source, relay })),
      agents: agents && toAgentTypes(agents, [...names, ...wanted], serverNames(Object.keys(mcpServers)), say),
      toolEnv,
    }),
  };
  const cwd = options.cwd ?? process.cwd();
  return {
    config,
    run: {
      cwd,
      ...folderOptions(options, cwd),
      ...modelOptions(options),
      ...ruleOptions(options, { own: names, known, say }),
    },
  };
}

const isGiven = (skills: Options['skills']): boolean => skills !== undefined && skills.length > 0;

/** An empty list counts, too: it replaces the folders of the worker. */
function folderOptions({ additionalDirectories: paths }: Options, cwd: string): OptionChanges {
  return paths === undefined ? {} : { additionalDirectories: paths.map((path) => resolve(cwd, path)) };
}

/**
 * Returns the variables that the program adds to those of its process, or changes, as far as tools
 * may have them.
 */
function toolEnvOf(env: Options['env']): ToolEnv | undefined {
  if (env === undefined) return undefined;
  const own = Object.entries(env).filter((pair): pair is [string, string] => {
    const [name, value] = pair;
    return value !== undefined && value !== process.env[name] && toolVariableProblem(name) === undefined;
  });
  // An empty object counts, so that the next start has the same kind of configuration.
  return Object.fromEntries(own);
}

/**
 * A text, a list of texts, or `custom` replaces our system prompt. A preset may append to it.
 */
function promptOptions(prompt: Options['systemPrompt']): OptionChanges {
  if (prompt === undefined) return {};
  if (typeof prompt === 'string') return { systemPrompt: prompt };
  if (Array.isArray(prompt)) return prompt.length === 0 ? {} : { systemPrompt: joinPrompt(prompt) };
  if (prompt.type === 'custom') return promptOptions(prompt.prompt);
  return prompt.append === undefined ? {} : { appendSystemPrompt: prompt.append };
}

function joinPrompt(parts: readonly string[]): string {
  return parts.filter((part) => part !== SYSTEM_PROMPT_DYNAMIC_BOUNDARY).join('\n\n');
}

function modelOptions(options: Options): OptionChanges {
  const {
    model,
    fallbackModel,
    systemPrompt,
    maxTurns,
    maxBudgetUsd,
    maxThinkingTokens,
    effort,
    outputFormat,
    settingSources,
    taskBudget,
    thinking,
  } = options;
  // Models that take no budget think adaptively by themselves.
  const tokens = thinking?.type === 'enabled' ? (thinking.budgetTokens ?? maxThinkingTokens) : maxThinkingTokens;
  return {
    ...promptOptions(systemPrompt),
    ...present({
      model,
      fallbackModels: fallbackModel?.split(',').map((name) => name.trim()),
      maxTurns,
      maxBudgetUsd,
      thinkingTokens: tokens || undefined,
      effort,
      outputSchema: outputFormat?.schema,
      taskBudget: taskBudget?.total,
      // The instructions of the workspace are the only setting source that is read here.
      instructions: settingSources?.includes('project'),
    }),
  };
}

function ruleOptions(
  { allowedTools, disallowedTools, tools, mcpServers = {}, ...others }: Options,
  { own, known, say }: OfferedTools,
): OptionChanges {
  const names = serverNames(Object.keys(mcpServers));
  const policies = policyRules(mcpServers);
  const asks = askRules(others);
  const rules = (list: readonly string[] | undefined, more: readonly string[] = []) =>
    list || more.length > 0
      ? [...(list ?? []).flatMap(inwardRules).map((rule) => renameRule(rule, names)), ...more]
      : undefined;
  const permissions = present({
    allow: rules(allowedTools, policies.allow),
    deny: rules(disallowedTools, policies.deny),
    ask: rules(asks.length > 0 ? asks : undefined, policies.ask),
  });
  return {
    permissionMode: inwardMode(others.permissionMode, asksSomebody(others)),
    ...present({
      permissions: Object.keys(permissions).length > 0 ? permissions : undefined,
      tools: Array.isArray(tools) ? [...narrowTools(tools, names, { own, known, say }), ...own] : undefined,
    }),
  };
}

/** `own` has the tools of the program and of its servers, and `known` has ours. */
type OfferedTools = {
  readonly own: readonly string[];
  readonly known: readonly string[];
  readonly say: (line: string) => void;
};

/** Returns the listed tools that exist here. Dropping unknown ones is safe: a list only narrows. */
function narrowTools(
  tools: readonly string[],
  servers: ReturnType<typeof serverNames>,
  { own, known, say }: OfferedTools,
): readonly string[] {
  const wanted = tools.map((tool) => renameRule(inwardName(tool), servers));
  const isThere = (name: string): boolean => known.includes(name) || own.some((each) => isListedAs(each, name));
  const missing = wanted.filter((name) => !isThere(name) && !name.startsWith(SERVER_PREFIX));
  if (missing.length > 0) say(`the option tools names ${missing.join(', ')}: there is no such tool here`);
  return wanted.filter((name) => !missing.includes(name));
}
