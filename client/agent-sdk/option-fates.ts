// Decides about each option of a query: it is taken, passed over with a notice, or refused with a
// reason.
import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { reasonOf } from '../../system/text.ts';
import { ClientProblem } from '../faces/start.ts';
import type { Options } from './shapes/options.ts';

type Fate = { readonly kind: 'taken' } | { readonly kind: 'passed' | 'refused'; readonly why: string };

const TAKEN: Fate = { kind: 'taken' };
/** For an option whose absence changes nothing that a program could rely on. */
const passOver = (why: string): Fate => ({ kind: 'passed', why });
/** For an option that guards or changes the behaviour, so that it must not be dropped. */
const refuse = (why: string): Fate => ({ kind: 'refused', why });

const noProcess = passOver('no other process is started');

export const FATES: Readonly<Record<keyof Options, Fate>> = {
  model: TAKEN,
  fallbackModel: TAKEN,
  systemPrompt: TAKEN,
  allowedTools: TAKEN,
  disallowedTools: TAKEN,
  tools: TAKEN,
  permissionMode: TAKEN,
  allowDangerouslySkipPermissions: TAKEN,
  canUseTool: TAKEN,
  hooks: TAKEN,
  onElicitation: TAKEN,
  mcpServers: TAKEN,
  agents: TAKEN,
  maxTurns: TAKEN,
  maxBudgetUsd: TAKEN,
  maxThinkingTokens: TAKEN,
  effort: TAKEN,
  outputFormat: TAKEN,
  resume: TAKEN,
  continue: TAKEN,
  sessionId: TAKEN,
  includePartialMessages: TAKEN,
  abortController: TAKEN,
  cwd: TAKEN,
  additionalDirectories: TAKEN,
  env: TAKEN,
  stderr: TAKEN,
  agent: refuse('a session is no agent of a type: give its systemPrompt, tools and model'),
  enableFileCheckpointing: TAKEN,
  forkSession: TAKEN,
  managedSettings: TAKEN,
  permissionPromptToolName: refuse('give canUseTool'),
  permissionPrompts: refuse('give canUseTool, or a permissionMode that asks nobody'),
  planModeInstructions: refuse('give them as the append of systemPrompt'),
  plugins: refuse('there are no plugins'),
  resumeDropsTurn: TAKEN,
  resumeSessionAt: TAKEN,
  sandbox: refuse('commands are held by a sandbox of our own where the machine has one: see docs/security.md'),
  sessionStore: refuse('a store is named by PERDURE_STORE'),
  settings: TAKEN,
  skills: TAKEN,
  taskBudget: TAKEN,
  toolAliases: refuse('tools go by the names that docs/api/agent-sdk-rows.md lists'),
  agentProgressSummaries: passOver('agents are not summed up while they work'),
  betas: passOver('the betas that are needed are asked for'),
  debug: passOver('see PERDURE_DATA for the logs'),
  debugFile: passOver('see PERDURE_DATA for the logs'),
  executable: noProcess,
  executableArgs: noProcess,
  extraArgs: TAKEN,
  forwardSubagentText: TAKEN,
  includeHookEvents: TAKEN,
  loadTimeoutMs: noProcess,
  mcpServersDelivery: noProcess,
  onUserDialog: passOver('no dialogs are shown'),
  pathToClaudeCodeExecutable: noProcess,
  perTaskStopAffordance: passOver('no dialogs are shown'),
  persistSession: TAKEN,
  pluginDelivery: noProcess,
  projectConfigRoot: passOver('files of a workspace are untrusted, and no settings are read from them'),
  promptSuggestions: passOver('nothing is suggested'),
  sessionStoreFlush: passOver('each step is stored before the next'),
  settingSources: TAKEN,
  spawnClaudeCodeProcess: noProcess,
  strictMcpConfig: passOver('no other servers are looked for'),
  supportedDialogKinds: passOver('no dialogs are shown'),
  thinking: TAKEN,
  title: passOver('the title is the beginning of the first prompt'),
  toolConfig: passOver('questions are texts'),
  verbatimPrompts: passOver('prompts are sent as they are'),
};

/** Options of earlier SDK versions, which later ones pass over. */
const OLD: Readonly<Record<string, Fate>> = {
  appendSystemPrompt: passOver('give it as the append of systemPrompt'),
  customSystemPrompt: passOver('give it as systemPrompt'),
};

/**
 * Throws ClientProblem `refused` for an option that must not be dropped, and tells `say` which ones
 * are passed over.
 */
export function checkOptions(options: Options, say: (line: string) => void): void {
  for (const [name, value] of Object.entries(options)) if (isAskedFor(value)) checkOption(name, say);
}

/** Returns false for a value that is absent, off or an empty list. */
export function isAskedFor(value: unknown): boolean {
  if (value === undefined || value === null || value === false) return false;
  if (Array.isArray(value)) return value.length > 0;
  return typeof value !== 'object' || (value as { readonly enabled?: unknown }).enabled !== false;
}

/** Libraries that wrap a query leave such notes for themselves. */
const PRIVATE = passOver('names that begin with "_" are of a library, for its own use');

const UNKNOWN = refuse('it is none that is known here; docs/api/agent-sdk-rows.md lists those that are');

function checkOption(name: string, say: (line: string) => void): void {
  const known = Object.hasOwn(FATES, name) ? FATES[name as keyof Options] : undefined;
  const old = Object.hasOwn(OLD, name) ? OLD[name] : undefined;
  const fate = known ?? old ?? (name.startsWith('_') ? PRIVATE : UNKNOWN);
  if (fate.kind === 'passed') say(`the option ${name} is passed over: ${fate.why}`);
  if (fate.kind === 'refused')
    throw new ClientProblem(
      'refused',
      `the option ${JSON.stringify(name.slice(0, 60))} of query() is refused: ${fate.why}`,
    );
}

// Translates `extraArgs`, the arguments for the process of an in-process agent. No such process is
// started here: an argument becomes the option that it stands for, a harmless one is passed over,
// and any other is refused.
type Translate = (value: string, options: Options) => Options;

const splitList = (value: string): string[] => {
  const parts = value.match(/[^,\s(]+(?:\([^)]*\))?/g) ?? [];
  return parts.filter((part) => part !== '');
};

/** Adds a text after the system prompt that the options have. */
function appendPrompt({ systemPrompt }: Options, text: string): Options {
  if (systemPrompt === undefined) return { systemPrompt: { type: 'preset', preset: 'claude_code', append: text } };
  if (typeof systemPrompt === 'string') return { systemPrompt: [systemPrompt, text] };
  if (Array.isArray(systemPrompt)) return { systemPrompt: [...systemPrompt, text] };
  if (systemPrompt.type === 'custom') return appendPrompt({ systemPrompt: systemPrompt.prompt }, text);
  const append = [systemPrompt.append, text].filter((part) => part !== undefined).join('\n\n');
  return { systemPrompt: { ...systemPrompt, append } };
}

const toNumberOption =
  (name: 'maxTurns' | 'maxBudgetUsd' | 'maxThinkingTokens'): Translate =>
  (value) => {
    if (value.trim() === '' || !Number.isFinite(Number(value))) throw new Error('it is no number');
    return { [name]: Number(value) };
  };

const mcpConfigSchema = z.looseObject({ mcpServers: z.record(z.string(), z.looseObject({})) });

function withServers(value: string, { mcpServers }: Options): Options {
  const text = value.trimStart().startsWith('{') || !existsSync(value) ? value : readFileSync(value, 'utf8');
  const servers = mcpConfigSchema.parse(JSON.parse(text)).mcpServers as NonNullable<Options['mcpServers']>;
  return { mcpServers: { ...mcpServers, ...servers } };
}

const outputSchema = z.record(z.string(), z.unknown());
const addAllowedTools: Translate = (value, { allowedTools = [] }) => ({
  allowedTools: [...allowedTools, ...splitList(value)],
});
const addDisallowedTools: Translate = (value, { disallowedTools = [] }) => ({
  disallowedTools: [...disallowedTools, ...splitList(value)],
});

const TRANSLATIONS: Readonly<Record<string, Translate>> = {
  'json-schema': (value) => ({ outputFormat: { type: 'json_schema', schema: outputSchema.parse(JSON.parse(value)) } }),
  'mcp-config': withServers,
  allowedTools: addAllowedTools,
  'allowed-tools': addAllowedTools,
  disallowedTools: addDisallowedTools,
  'disallowed-tools': addDisallowedTools,
  tools: (value) => ({ tools: splitList(value) }),
  'add-dir': (value, { additionalDirectories = [] }) => ({ additionalDirectories: [...additionalDirectories, value] }),
  'append-system-prompt': (value, options) => appendPrompt(options, value),
  'system-prompt': (value) => ({ systemPrompt: value }),
  model: (value) => ({ model: value }),
  'fallback-model': (value) => ({ fallbackModel: value }),
  'max-turns': toNumberOption('maxTurns'),
  'max-budget-usd': toNumberOption('maxBudgetUsd'),
  'max-thinking-tokens': toNumberOption('maxThinkingTokens'),
  // An unknown mode or effort is refused later, with the options.
  'permission-mode': (value) => ({ permissionMode: value as NonNullable<Options['permissionMode']> }),
  effort: (value) => ({ effort: value as NonNullable<Options['effort']> }),
  'session-id': (value) => ({ sessionId: value }),
  resume: (value) => ({ resume: value }),
  settings: (value) => ({ settings: value }),
  'setting-sources': (value) => ({ settingSources: splitList(value) as NonNullable<Options['settingSources']> }),
};

/** These say how a process prints, logs and reads, or turn off what is off anyway. */
const HARMLESS: readonly string[] = [
  'debug',
  'debug-file',
  'debug-to-stderr',
  'verbose',
  'print',
  'output-format',
  'input-format',
  'replay-user-messages',
  'include-partial-messages',
  'strict-mcp-config',
  'no-chrome',
];

/** Merges the options that `extraArgs` stand for. Throws ClientProblem `refused`. */
export function withExtraArgs(options: Options, say: (line: string) => void): Options {
  const { extraArgs = {}, ...others } = options;
  let all: Options = others;
  for (const [name, value] of Object.entries(extraArgs)) {
    if (HARMLESS.includes(name)) say(`the argument --${name} of extraArgs is passed over: no other process is started`);
    else all = { ...all, ...translateArgument(name, value ?? '', all) };
  }
  return all;
}

function translateArgument(name: string, value: string, options: Options): Options {
  const refuseArgument = (why: string, cause?: unknown) =>
    new ClientProblem(
      'refused',
      `the argument ${JSON.stringify(`--${name.slice(0, 60)}`)} of extraArgs is refused: ${why}`,
      {
        cause,
      },
    );
  const translate = Object.hasOwn(TRANSLATIONS, name) ? TRANSLATIONS[name] : undefined;
  if (!translate) throw refuseArgument('no other process is started: give the option of query() that does it');
  try {
    return translate(value, options);
  } catch (error) {
    throw refuseArgument(reasonOf(error), error);
  }
}
