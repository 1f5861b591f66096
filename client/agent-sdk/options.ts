// The options of such programs: what each is here, and a sentence for each that is not there. One
// that guards is refused; one that would change nothing here is passed over, and said so.
import { resolve } from 'node:path';
import { WEB_SEARCH } from '../../store/transcript/server-tools.ts';
import { isListedAs, SERVER_PREFIX, RESOURCES } from '../../tools/listed.ts';
import type { PerdureConfig } from '../../worker/config/config.ts';
import type { OptionChanges } from '../../workflows/contract/session.ts';
import { type ToolEnv, toolVariableProblem } from '../../workflows/contract/tool-env.ts';
import { ClientProblem } from '../problem.ts';
import { hooksOf, unknownEvents } from './callbacks.ts';
import { agentTypes } from './agent-types.ts';
import { asksForSearch, inwardName, inwardRules, MODEL_TOOL_NAMES, SESSION_TOOLS } from './names.ts';
import { checkOptions } from './option-fates.ts';
import { asksSomebody, modeOf } from './permission-modes.ts';
import type { Options } from './shapes/options.ts';
import { renamedRule, serverNames } from './server-names.ts';
import { policyRules, serversOf, toolsOf } from './tools.ts';
import { SYSTEM_PROMPT_DYNAMIC_BOUNDARY } from './values.ts';

export type Translated = { readonly config: PerdureConfig; readonly run: OptionChanges & { readonly cwd: string } };

/**
 * `afterClear`: the session follows one that was cleared. Throws ClientProblem `refused` for what
 * would make another program of it.
 */
export function translateOptions(options: Options, say: (line: string) => void, afterClear = false): Translated {
  checkOptions(options, say);
  if (options.continue === true && (options.resume ?? options.sessionId) !== undefined) {
    const other = options.resume === undefined ? 'sessionId' : 'resume';
    throw new ClientProblem('refused', `the options "continue" and "${other}" each name a session: give one of them`);
  }
  if (options.thinking?.type === 'disabled')
    say('the option thinking is passed over: a model thinks as it does by itself');
  const { hooks, mcpServers = {}, agents } = options;
  for (const event of hooks ? unknownEvents(hooks) : [])
    say(`hooks for ${event} are never called: there is no such event here`);
  const tools = toolsOf(mcpServers);
  const servers = serversOf(mcpServers, options.onElicitation);
  const toolEnv = toolEnvOf(options.env);
  const others = Object.keys(servers).map((name) => `${SERVER_PREFIX}${name}`);
  const names = [...tools.map(({ name }) => name), ...others, ...(others.length > 0 ? [RESOURCES] : [])];
  const searches = asksForSearch(options);
  const known = [...SESSION_TOOLS, ...(searches ? [WEB_SEARCH] : [])];
  const config: PerdureConfig = {
    toolNames: MODEL_TOOL_NAMES,
    ...(searches && { webSearch: true }),
    ...(tools.length > 0 && { tools }),
    ...(Object.keys(servers).length > 0 && { mcpServers: servers }),
    ...(hooks && { hooks: hooksOf(hooks, say, options.permissionMode, afterClear ? 'clear' : 'startup') }),
    ...(agents && {
      agents: agentTypes(agents, searches ? [...names, WEB_SEARCH] : names, serverNames(Object.keys(mcpServers)), say),
    }),
    ...(toolEnv && { toolEnv }),
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

/** Also none of them: the worker's own are not the program's. */
function folderOptions({ additionalDirectories: given }: Options, cwd: string): OptionChanges {
  return given === undefined ? {} : { additionalDirectories: given.map((path) => resolve(cwd, path)) };
}

/**
 * The variables that the program adds to those of its process, or changes, as far as tools may have
 * them.
 */
function toolEnvOf(env: Options['env']): ToolEnv | undefined {
  if (env === undefined) return undefined;
  const own = Object.entries(env).filter((pair): pair is [string, string] => {
    const [name, value] = pair;
    return value !== undefined && value !== process.env[name] && toolVariableProblem(name) === undefined;
  });
  // Also when it is empty: on its next start the program must have the same kind of configuration.
  return Object.fromEntries(own);
}

/**
 * A text, a list of texts, or `custom`: in place of our own prompt. A preset: what is added to it.
 */
function promptOptions(given: Options['systemPrompt']): OptionChanges {
  if (given === undefined) return {};
  if (typeof given === 'string') return { systemPrompt: given };
  if (Array.isArray(given)) return given.length === 0 ? {} : { systemPrompt: joinedPrompt(given) };
  if (given.type === 'custom') return promptOptions(given.prompt);
  return given.append === undefined ? {} : { appendSystemPrompt: given.append };
}

function joinedPrompt(parts: readonly string[]): string {
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
  // Adaptive is how models think that take no number.
  const tokens = thinking?.type === 'enabled' ? (thinking.budgetTokens ?? maxThinkingTokens) : maxThinkingTokens;
  return {
    ...promptOptions(systemPrompt),
    ...(model !== undefined && { model }),
    ...(fallbackModel !== undefined && { fallbackModels: fallbackModel.split(',').map((name) => name.trim()) }),
    ...(maxTurns !== undefined && { maxTurns }),
    ...(maxBudgetUsd !== undefined && { maxBudgetUsd }),
    ...(tokens ? { thinkingTokens: tokens } : {}),
    ...(effort !== undefined && { effort }),
    ...(outputFormat !== undefined && { outputSchema: outputFormat.schema }),
    ...(taskBudget !== undefined && { taskBudget: taskBudget.total }),
    // Of what sources there are, the instructions of a workspace alone are read here.
    ...(settingSources !== undefined && { instructions: settingSources.includes('project') }),
  };
}

function ruleOptions(
  { allowedTools, disallowedTools, tools, mcpServers = {}, ...asked }: Options,
  { own, known, say }: Offered,
): OptionChanges {
  const names = serverNames(Object.keys(mcpServers));
  const policies = policyRules(mcpServers);
  const rules = (given: readonly string[] | undefined, more: readonly string[] = []) =>
    given || more.length > 0
      ? [...(given ?? []).flatMap(inwardRules).map((rule) => renamedRule(rule, names)), ...more]
      : null;
  const [allow, deny, ask] = [
    rules(allowedTools, policies.allow),
    rules(disallowedTools, policies.deny),
    rules(undefined, policies.ask),
  ];
  const permissions = { ...(allow && { allow }), ...(deny && { deny }), ...(ask && { ask }) };
  return {
    permissionMode: modeOf(asked.permissionMode, asksSomebody(asked)),
    ...(Object.keys(permissions).length > 0 && { permissions }),
    ...(Array.isArray(tools) && { tools: [...listOf(tools, names, { own, known, say }), ...own] }),
  };
}

/** `own`: the program's, and those of its servers; `known`: ours. */
type Offered = {
  readonly own: readonly string[];
  readonly known: readonly string[];
  readonly say: (line: string) => void;
};

/** A list only narrows: without a tool that is not here it narrows no less. */
function listOf(
  tools: readonly string[],
  servers: ReturnType<typeof serverNames>,
  { own, known, say }: Offered,
): readonly string[] {
  const wanted = tools.map((tool) => renamedRule(inwardName(tool), servers));
  const isThere = (name: string): boolean => known.includes(name) || own.some((each) => isListedAs(each, name));
  const missing = wanted.filter((name) => !isThere(name) && !name.startsWith(SERVER_PREFIX));
  if (missing.length > 0) say(`the option tools names ${missing.join(', ')}: there is no such tool here`);
  return wanted.filter((name) => !missing.includes(name));
}
