// Decides about each option of a query: it is taken, passed over with a notice, or refused with a
// reason.
import { ClientProblem } from '../problem.ts';
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
