// The options of such programs: what each is here, and a sentence for each that is not there. One that guards is refused; one that
// would change nothing here is passed over, and said so.
import { resolve } from 'node:path';
import { OF_SERVER, RESOURCES } from '../../activities/tools/listed.ts';
import type { PerdureConfig } from '../../worker/config/config.ts';
import { modelProblem } from '../../worker/models/find-model.ts';
import type { Effort, OptionChanges, PermissionMode as OurMode } from '../../workflows/contract/session.ts';
import { type ToolEnv, toolVariableProblem } from '../../workflows/contract/facts.ts';
import { ClientProblem } from '../problem.ts';
import { type Hooks, hooksOf, unknownEvents } from './callbacks.ts';
import { inwardName, inwardRules } from './names.ts';
import type { AgentDefinition, CanUseTool, OnElicitation, PermissionMode } from './shapes.ts';
import { type McpServerConfig, serversOf, toolsOf } from './tools.ts';

export type Options = {
  readonly model?: string;
  readonly fallbackModel?: string;
  readonly systemPrompt?: string | { readonly type: 'preset'; readonly preset: string; readonly append?: string };
  /** Rules that allow, as `Bash(npm test:*)` or `mcp__shop__order`. */
  readonly allowedTools?: readonly string[];
  readonly disallowedTools?: readonly string[];
  /** The built-in tools that the model is offered; those of the program are offered always. */
  readonly tools?: readonly string[] | { readonly type: 'preset'; readonly preset: string };
  readonly permissionMode?: PermissionMode;
  readonly allowDangerouslySkipPermissions?: boolean;
  readonly canUseTool?: CanUseTool;
  readonly hooks?: Hooks;
  /** Answers what MCP servers, processes or at an address, ask in the middle of a call. Absent: they may not. */
  readonly onElicitation?: OnElicitation;
  /** Made with `createSdkMcpServer()`, processes, or at an address. None is trusted: every call of the last two asks. */
  readonly mcpServers?: Readonly<Record<string, McpServerConfig>>;
  /** Types of agents by name, beside the built-in `general` and `explore`. */
  readonly agents?: Readonly<Record<string, AgentDefinition>>;
  readonly maxTurns?: number;
  readonly maxBudgetUsd?: number;
  readonly maxThinkingTokens?: number;
  readonly effort?: Effort;
  readonly outputFormat?: { readonly type: 'json_schema'; readonly schema: Readonly<Record<string, unknown>> };
  /** The session of this id goes on. */
  readonly resume?: string;
  /** The newest session of `cwd` that the program can work on goes on; where there is none, a new one begins. */
  readonly continue?: boolean;
  /** The id of the session that this opens; one that is open takes the prompt as its next message. */
  readonly sessionId?: string;
  readonly includePartialMessages?: boolean;
  /** Aborted: the run is interrupted, and its result is the last message. */
  readonly abortController?: AbortController;
  readonly cwd?: string;
  /** Other folders that tools may read and change, relative to `cwd` or absolute; no link on the way to one. */
  readonly additionalDirectories?: readonly string[];
  /** Settings of Perdure and of the model; the others go to commands and tools, and are stored nowhere. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Gets what is to be said to a person, a line each. Absent: standard error gets it. */
  readonly stderr?: (data: string) => void;
};

/** Would guard, or do something else: without them the program is not the one that was written. */
const REFUSED: Readonly<Record<string, string>> = {
  agent: 'a session is no agent of a type: give its systemPrompt, tools and model',
  enableFileCheckpointing: 'files are not rewound yet',
  forkSession: 'sessions are not forked yet: leave it out to go on with the same session',
  managedSettings: 'give permission rules as allowedTools and disallowedTools',
  permissionPromptToolName: 'give canUseTool',
  resumeSessionAt: 'sessions are not rewound yet',
  sandbox: 'commands are held by a sandbox of our own where the machine has one: see docs/security.md',
  sessionStore: 'a store is named by PERDURE_STORE',
  settings: 'give permission rules as allowedTools and disallowedTools, and hooks as hooks',
  skills: 'skills are folders of a configuration',
  plugins: 'there are no plugins',
};

/** Change nothing that a program could rely on. */
const PASSED_OVER: Readonly<Record<string, string>> = {
  betas: 'the betas that are needed are asked for',
  debug: 'see PERDURE_DATA for the logs',
  executable: 'no other process is started',
  executableArgs: 'no other process is started',
  extraArgs: 'no other process is started',
  includeHookEvents: 'hooks are not among the messages',
  pathToClaudeCodeExecutable: 'no other process is started',
  persistSession: 'sessions are always kept',
  promptSuggestions: 'nothing is suggested',
  settingSources: 'files of a workspace are untrusted, and no settings are read from them',
  spawnClaudeCodeProcess: 'no other process is started',
  strictMcpConfig: 'no other servers are looked for',
  thinking: 'give maxThinkingTokens',
  title: 'the title is the beginning of the first prompt',
};

const KNOWN: Readonly<Record<keyof Options, true>> = {
  model: true,
  fallbackModel: true,
  systemPrompt: true,
  allowedTools: true,
  disallowedTools: true,
  tools: true,
  permissionMode: true,
  allowDangerouslySkipPermissions: true,
  canUseTool: true,
  hooks: true,
  onElicitation: true,
  mcpServers: true,
  agents: true,
  maxTurns: true,
  maxBudgetUsd: true,
  maxThinkingTokens: true,
  effort: true,
  outputFormat: true,
  resume: true,
  continue: true,
  sessionId: true,
  includePartialMessages: true,
  abortController: true,
  cwd: true,
  additionalDirectories: true,
  env: true,
  stderr: true,
};

export type Translated = { readonly config: PerdureConfig; readonly run: OptionChanges & { readonly cwd: string } };

/** Throws ClientProblem `refused` for what would make another program of it. */
export function translateOptions(options: Options, say: (line: string) => void): Translated {
  for (const [name, value] of Object.entries(options)) if (isAskedFor(value)) checkOption(name, say);
  if (options.continue === true && (options.resume ?? options.sessionId) !== undefined) {
    const other = options.resume === undefined ? 'sessionId' : 'resume';
    throw new ClientProblem('refused', `the options "continue" and "${other}" each name a session: give one of them`);
  }
  const { hooks, mcpServers = {}, agents } = options;
  for (const event of hooks ? unknownEvents(hooks) : [])
    say(`hooks for ${event} are never called: there is no such event here`);
  const tools = toolsOf(mcpServers);
  const servers = serversOf(mcpServers, options.onElicitation);
  const toolEnv = toolEnvOf(options.env);
  const config: PerdureConfig = {
    ...(tools.length > 0 && { tools }),
    ...(Object.keys(servers).length > 0 && { mcpServers: servers }),
    ...(hooks && { hooks: hooksOf(hooks, say) }),
    ...(agents && { agents: agentTypes(agents) }),
    ...(toolEnv && { toolEnv }),
  };
  const others = Object.keys(servers).map((name) => `${OF_SERVER}${name}`);
  const names = [...tools.map(({ name }) => name), ...others, ...(others.length > 0 ? [RESOURCES] : [])];
  const cwd = options.cwd ?? process.cwd();
  return {
    config,
    run: { cwd, ...folderOptions(options, cwd), ...modelOptions(options), ...ruleOptions(options, names) },
  };
}

/** Throws ClientProblem `refused`: a part of one that is not there would have guarded, or made another agent of it. */
function agentTypes(agents: Readonly<Record<string, AgentDefinition>>): NonNullable<PerdureConfig['agents']> {
  const types = Object.entries(agents).map(([name, { description, prompt, tools, model, maxTurns, ...more }]) => {
    const { isolation, effort, ...unknown } = more;
    const [other] = Object.keys(isolation === undefined || isolation === 'worktree' ? unknown : { isolation });
    const why = other !== undefined ? `has ${JSON.stringify(other)}, which is not known here` : modelOf(model);
    if (why !== undefined) throw new ClientProblem('refused', `the agent ${JSON.stringify(name)} of query() ${why}`);
    const type = {
      description,
      systemPrompt: prompt,
      ...(tools && { tools: tools.map(inwardName) }),
      ...(model !== undefined && model !== 'inherit' && { model }),
      ...(maxTurns !== undefined && { limits: { maxTurns } }),
      ...(isolation && { isolation }),
      ...(effort && { effort }),
    };
    return [name, type] as const;
  });
  return Object.fromEntries(types);
}

const modelOf = (model = 'inherit') => modelProblem({ model })?.replace(/^/, 'has no model: ');

/** Also none of them: the worker's own are not the program's. */
function folderOptions({ additionalDirectories: given }: Options, cwd: string): OptionChanges {
  return given === undefined ? {} : { additionalDirectories: given.map((path) => resolve(cwd, path)) };
}

/** The variables that the program adds to those of its process, or changes, as far as tools may have them. */
function toolEnvOf(env: Options['env']): ToolEnv | undefined {
  if (env === undefined) return undefined;
  const own = Object.entries(env).filter((pair): pair is [string, string] => {
    const [name, value] = pair;
    return value !== undefined && value !== process.env[name] && toolVariableProblem(name) === undefined;
  });
  // Also when it is empty: on its next start the program must have the same kind of configuration.
  return Object.fromEntries(own);
}

/** What is absent, off or empty asks for nothing. */
function isAskedFor(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false && !(Array.isArray(value) && value.length === 0);
}

function checkOption(name: string, say: (line: string) => void): void {
  if (Object.hasOwn(KNOWN, name)) return;
  if (Object.hasOwn(PASSED_OVER, name)) return say(`the option ${name} is passed over: ${PASSED_OVER[name]}`);
  const why = REFUSED[name] ?? 'it is none that is known here; docs/from-the-agent-sdk.md lists those that are';
  throw new ClientProblem('refused', `the option ${JSON.stringify(name.slice(0, 60))} of query() is refused: ${why}`);
}

function modelOptions(options: Options): OptionChanges {
  const { model, fallbackModel, systemPrompt, maxTurns, maxBudgetUsd, maxThinkingTokens, effort, outputFormat } =
    options;
  const prompt =
    typeof systemPrompt === 'string'
      ? { systemPrompt }
      : systemPrompt?.append !== undefined
        ? { appendSystemPrompt: systemPrompt.append }
        : {};
  return {
    ...prompt,
    ...(model !== undefined && { model }),
    ...(fallbackModel !== undefined && { fallbackModels: fallbackModel.split(',').map((name) => name.trim()) }),
    ...(maxTurns !== undefined && { maxTurns }),
    ...(maxBudgetUsd !== undefined && { maxBudgetUsd }),
    ...(maxThinkingTokens ? { thinkingTokens: maxThinkingTokens } : {}),
    ...(effort !== undefined && { effort }),
    ...(outputFormat !== undefined && { outputSchema: outputFormat.schema }),
  };
}

function ruleOptions(
  { allowedTools, disallowedTools, tools, ...asked }: Options,
  own: readonly string[],
): OptionChanges {
  const permissions = {
    ...(allowedTools && { allow: allowedTools.flatMap(inwardRules) }),
    ...(disallowedTools && { deny: disallowedTools.flatMap(inwardRules) }),
  };
  return {
    permissionMode: modeOf(asked.permissionMode, asked.canUseTool !== undefined),
    ...(Object.keys(permissions).length > 0 && { permissions }),
    ...(Array.isArray(tools) && { tools: [...(tools as readonly string[]).map(inwardName), ...own] }),
  };
}

/** Where nobody answers, nothing is asked. Throws ClientProblem `refused`. */
export function modeOf(mode: PermissionMode = 'default', asksSomebody: boolean): OurMode {
  const modes: Readonly<Record<PermissionMode, OurMode>> = {
    default: asksSomebody ? 'default' : 'dontAsk',
    acceptEdits: 'acceptEdits',
    bypassPermissions: 'bypass',
    plan: 'plan',
    dontAsk: 'dontAsk',
  };
  if (Object.hasOwn(modes, mode)) return modes[mode];
  const known = Object.keys(modes).join(', ');
  throw new ClientProblem('refused', `permission mode ${JSON.stringify(mode)} is none of ${known}`);
}
