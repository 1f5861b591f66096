// What becomes of each option of such programs: it is taken, or passed over, and said so, or
// refused with a sentence.
import { ClientProblem } from '../problem.ts';
import type { Options } from './shapes/options.ts';

type Fate = { readonly kind: 'taken' } | { readonly kind: 'passed' | 'refused'; readonly why: string };

const taken: Fate = { kind: 'taken' };
/** Changes nothing that a program could rely on. */
const passed = (why: string): Fate => ({ kind: 'passed', why });
/** Would guard, or do something else: without it the program is not the one that was written. */
const refused = (why: string): Fate => ({ kind: 'refused', why });

const noProcess = passed('no other process is started');
const noOther = refused('give permission rules as allowedTools and disallowedTools, and hooks as hooks');

const FATES: Readonly<Record<keyof Options, Fate>> = {
  model: taken,
  fallbackModel: taken,
  systemPrompt: taken,
  allowedTools: taken,
  disallowedTools: taken,
  tools: taken,
  permissionMode: taken,
  allowDangerouslySkipPermissions: taken,
  canUseTool: taken,
  hooks: taken,
  onElicitation: taken,
  mcpServers: taken,
  agents: taken,
  maxTurns: taken,
  maxBudgetUsd: taken,
  maxThinkingTokens: taken,
  effort: taken,
  outputFormat: taken,
  resume: taken,
  continue: taken,
  sessionId: taken,
  includePartialMessages: taken,
  abortController: taken,
  cwd: taken,
  additionalDirectories: taken,
  env: taken,
  stderr: taken,
  agent: refused('a session is no agent of a type: give its systemPrompt, tools and model'),
  enableFileCheckpointing: refused('files are not rewound: keep the workspace in git, and go back there'),
  forkSession: refused('sessions are not forked yet: leave it out to go on with the same session'),
  managedSettings: noOther,
  permissionPromptToolName: refused('give canUseTool'),
  permissionPrompts: refused('give canUseTool, or a permissionMode that asks nobody'),
  planModeInstructions: refused('give them as the append of systemPrompt'),
  plugins: refused('there are no plugins'),
  resumeDropsTurn: refused('sessions are not rewound yet'),
  resumeSessionAt: refused('sessions are not rewound yet'),
  sandbox: refused('commands are held by a sandbox of our own where the machine has one: see docs/security.md'),
  sessionStore: refused('a store is named by PERDURE_STORE'),
  settings: noOther,
  skills: refused('skills are folders of a configuration'),
  taskBudget: taken,
  toolAliases: refused('tools go by the names that docs/from-the-agent-sdk.md lists'),
  agentProgressSummaries: passed('agents are not summed up while they work'),
  betas: passed('the betas that are needed are asked for'),
  debug: passed('see PERDURE_DATA for the logs'),
  debugFile: passed('see PERDURE_DATA for the logs'),
  executable: noProcess,
  executableArgs: noProcess,
  extraArgs: taken,
  forwardSubagentText: taken,
  includeHookEvents: taken,
  loadTimeoutMs: noProcess,
  mcpServersDelivery: noProcess,
  onUserDialog: passed('no dialogs are shown'),
  pathToClaudeCodeExecutable: noProcess,
  perTaskStopAffordance: passed('no dialogs are shown'),
  persistSession: taken,
  pluginDelivery: noProcess,
  projectConfigRoot: passed('files of a workspace are untrusted, and no settings are read from them'),
  promptSuggestions: passed('nothing is suggested'),
  sessionStoreFlush: passed('each step is stored before the next'),
  settingSources: taken,
  spawnClaudeCodeProcess: noProcess,
  strictMcpConfig: passed('no other servers are looked for'),
  supportedDialogKinds: passed('no dialogs are shown'),
  thinking: taken,
  title: passed('the title is the beginning of the first prompt'),
  toolConfig: passed('questions are texts'),
  verbatimPrompts: passed('prompts are sent as they are'),
};

/** Of earlier versions, which later ones pass over. */
const OLD: Readonly<Record<string, Fate>> = {
  appendSystemPrompt: passed('give it as the append of systemPrompt'),
  customSystemPrompt: passed('give it as systemPrompt'),
};

/**
 * Throws ClientProblem `refused` for what would make another program of it; `say` is told what is
 * passed over.
 */
export function checkOptions(options: Options, say: (line: string) => void): void {
  for (const [name, value] of Object.entries(options)) if (isAskedFor(value)) checkOption(name, say);
}

/** What is absent, off or empty asks for nothing. */
function isAskedFor(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false && !(Array.isArray(value) && value.length === 0);
}

const UNKNOWN = refused('it is none that is known here; docs/from-the-agent-sdk.md lists those that are');

function checkOption(name: string, say: (line: string) => void): void {
  const known = Object.hasOwn(FATES, name) ? FATES[name as keyof Options] : undefined;
  const fate = known ?? (Object.hasOwn(OLD, name) ? OLD[name] : undefined) ?? UNKNOWN;
  if (fate.kind === 'passed') say(`the option ${name} is passed over: ${fate.why}`);
  if (fate.kind === 'refused')
    throw new ClientProblem(
      'refused',
      `the option ${JSON.stringify(name.slice(0, 60))} of query() is refused: ${fate.why}`,
    );
}
