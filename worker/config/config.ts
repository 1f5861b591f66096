// The configuration of a worker, and the one check of it. Strict: a key that is not known is a
// mistake, named by its path.
import { z } from 'zod';
import type { HookConfig } from '../../activities/hooks/hook-config.ts';
import {
  modelSchema,
  nameSchema,
  notesSchema,
  run,
  upTo,
  differentlyNamed,
  dollars,
  share,
  skillsSchema,
  sandboxSchema,
  type SandboxSettings,
  webFetchSchema,
  wholeNumberSchema,
  toolsSchema,
} from './tools.ts';
import type { AttachmentProvider } from '../../activities/attachments/prefetch.ts';
import type { AfterStopHandler } from '../../activities/deps.ts';
import type { ModelTable } from '../../store/configuration.ts';
import type { Tool } from '../../tools/tool.ts';
import type { CompactionRules, Effort } from '../../workflows/contract/loop.ts';
import type { Profile } from '../../workflows/contract/failures.ts';
import { efforts, optionsProblem, permissionModes } from '../../workflows/contract/options-problem.ts';
import {
  type ExtraFolders,
  extraFoldersProblem,
  type ToolEnv,
  toolEnvProblem,
} from '../../workflows/contract/facts.ts';
import { permissionsProblem } from '../../workflows/contract/permission-rules.ts';
import type { PermissionMode, PermissionRules } from '../../workflows/contract/session.ts';
import { issueText, tellRight } from './issue-text.ts';
import type { AgentLimits, AgentType } from '../../tools/agent-types.ts';
import type { WebSettings } from '../../tools/builtin/files/options.ts';
import type { McpServers } from '../../tools/mcp/servers.ts';
import { hooksSchema } from './hooks.ts';
import { agentLimitsSchema, agentsSchema } from './agents.ts';
import { mcpServersSchema } from './mcp-servers.ts';
import { runDefaults } from './defaults.ts';

/**
 * Everything is optional: what is absent is the default, what a caller chooses for a run goes
 * before (L57).
 */
export type PerdureConfig = {
  /** Who has the same name works on the same sessions, with guards that are taken for the same. */
  readonly name?: string;
  readonly model?: string;
  /** In order (L19). */
  readonly fallbackModels?: readonly string[];
  /** For questions beside the conversation: summaries, notes, pages. */
  readonly smallModel?: string;
  /** How much a model puts into its replies (X2). */
  readonly effort?: Effort;
  /**
   * By prefix of the name: what is given goes before what is known (X1). Tokens; US dollars per
   * million tokens, null when not known.
   */
  readonly models?: ModelTable;
  readonly permissionMode?: PermissionMode;
  /** Hold beside those of a caller (L55). */
  readonly permissions?: PermissionRules;
  readonly systemPrompt?: string;
  /** AGENTS.md files of the workspace are told to the model (L78). */
  readonly instructions?: boolean;
  /**
   * Notes of the workspace (L80). Absent: for sessions that the command line begins, and others
   * that ask for it.
   */
  readonly memory?: boolean;
  /**
   * Notes of runs in a workspace, from 2 to 200, which the small model then merges into fewer
   * (L80).
   */
  readonly consolidateMemoryAfter?: number;
  /**
   * After a run that ended by itself, what the person may write next, shown where they write (L56).
   */
  readonly suggestPrompts?: boolean;
  /**
   * Variables for shell commands and other tools of this worker. They stay in its process: the
   * place for those that are secret.
   */
  readonly toolEnv?: ToolEnv;
  /**
   * Other folders that tools may work in, where a caller names none: absolute real paths, at most
   * 20.
   */
  readonly additionalDirectories?: ExtraFolders;
  /**
   * Kinds of agents by name, beside the built-in `general` and `explore`; one of these names
   * replaces it (L66).
   */
  readonly agents?: Readonly<Record<string, AgentType>>;
  readonly agentLimits?: Partial<AgentLimits>;
  readonly maxTurns?: number;
  /** Before a limit ends a run, one more call sums up (L51). */
  readonly wrapUp?: boolean;
  /** max_tokens of a request, before it is raised (L26). */
  readonly maxOutputTokens?: number;
  /** Milliseconds until the first byte of a reply (L14). */
  readonly firstByteMs?: number;
  /** Milliseconds between two bytes of a reply (L14). */
  readonly stallMs?: number;
  /** Milliseconds of a whole request to a model (L14). */
  readonly requestMs?: number;
  /**
   * What a server says, in small or large letters, when a request is too long for its model, beside
   * the words that are known (L24).
   */
  readonly overflowWords?: readonly string[];
  /** `warning` and `critical` are shares of the window. */
  readonly compaction?: Partial<Pick<CompactionRules, 'enabled' | 'collapse' | 'warning' | 'critical'>>;
  readonly batchSummaries?: boolean;
  readonly approvalTimeoutMs?: number;
  /**
   * Milliseconds in which what runs may finish when the worker is told to stop, also when its
   * command or query() ends (L50).
   */
  readonly drainMs?: number;
  /** Times between worker and server: `machine` where it is the embedded one, else `fleet`. */
  readonly profile?: Profile;
  /**
   * Activities that run side by side in one worker: model calls, tools, hooks. What records has
   * slots of its own.
   */
  readonly maxConcurrentActivities?: number;
  /** Beside the built-in ones. A function is asked again between iterations (L44). */
  readonly tools?: ToolSource;
  /** Servers whose tools runs are offered, by name (L74). */
  readonly mcpServers?: McpServers;
  /** What `web_fetch` may reach beside the public internet (L86). */
  readonly webFetch?: WebSettings;
  /** What commands may reach through their sandbox: agents for keys. */
  readonly sandbox?: SandboxSettings;
  /** Folders of skills, absolute, at most 20 (L79). */
  readonly skills?: readonly string[];
  /**
   * Skills of a workspace count, too: whoever writes there then tells the model what it may load.
   */
  readonly workspaceSkills?: boolean;
  readonly hooks?: HookConfig;
  readonly afterStop?: readonly AfterStopHandler[];
  readonly attachments?: readonly AttachmentProvider[];
};

export type ToolSource = readonly Tool[] | (() => readonly Tool[] | Promise<readonly Tool[]>);

/** Types a configuration while it is written; it is checked where it is used. */
export function defineConfig(config: PerdureConfig): PerdureConfig {
  return config;
}

/**
 * A configuration that cannot be used: one line for people, that names the file. Commands end with
 * status 2.
 */
export class ConfigProblem extends Error {
  override readonly name = 'ConfigProblem';
}

/** Minutes. */
const DAY = 24 * 60;

const count = wholeNumberSchema(1_000_000);
const tokens = wholeNumberSchema(100_000_000, 'tokens');
// Fewer letters would be found in failures of every kind.
const wordRight = 'give a text of 8 to 200 characters';
const overflowWord = z.string(wordRight).regex(/^\s*\S.{6,198}\S\s*$/s, wordRight);
const prices = {
  input: dollars,
  output: dollars,
  cacheRead: dollars,
  cacheWrite: dollars,
  cacheWrite1h: dollars.optional(),
};
const price = z.strictObject({ ...prices, above: z.strictObject({ ...prices, tokens }).optional() });

const nameRight = 'give 1 to 64 letters, digits, "-", "_" or ".", beginning with a letter or digit';

/** What the client and the activity that opens a run check in the same words. */
const judgedBy = (problemOf: (given: unknown) => string | undefined) =>
  z
    .unknown()
    .optional()
    .superRefine((given, context) => {
      const problem = problemOf(given);
      if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
    });

const keys = z.strictObject({
  name: z
    .string(nameRight)
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, nameRight)
    .optional(),
  model: modelSchema.optional(),
  fallbackModels: z.array(modelSchema).max(10).optional(),
  smallModel: modelSchema.optional(),
  effort: z.enum(efforts as [Effort, ...Effort[]]).optional(),
  models: z
    .record(nameSchema, z.strictObject({ window: tokens, maxOutput: tokens, price: price.nullable() }).partial())
    .optional(),
  permissionMode: z.enum(permissionModes).optional(),
  permissions: judgedBy(permissionsProblem),
  systemPrompt: z.string().max(100_000).optional(),
  instructions: z.boolean().optional(),
  memory: z.boolean().optional(),
  consolidateMemoryAfter: notesSchema.optional(),
  suggestPrompts: z.boolean().optional(),
  toolEnv: judgedBy(toolEnvProblem),
  additionalDirectories: judgedBy(extraFoldersProblem),
  agents: agentsSchema.optional(),
  agentLimits: agentLimitsSchema.optional(),
  maxTurns: count.optional(),
  wrapUp: z.boolean().optional(),
  maxOutputTokens: count.optional(),
  firstByteMs: upTo(60).optional(),
  stallMs: upTo(60).optional(),
  requestMs: upTo(DAY).optional(),
  overflowWords: z.array(overflowWord).max(50).optional(),
  compaction: z
    .strictObject({
      enabled: z.boolean().optional(),
      collapse: z.boolean().optional(),
      warning: share.optional(),
      critical: share.optional(),
    })
    .superRefine(({ warning, critical }, context) => {
      const { warning: low, critical: high } = runDefaults.compaction;
      const message = `"warning" (${warning ?? low}) must be below "critical" (${critical ?? high})`;
      if ((warning ?? low) >= (critical ?? high)) context.addIssue({ code: 'custom', message });
    })
    .optional(),
  batchSummaries: z.boolean().optional(),
  approvalTimeoutMs: upTo(365 * DAY).optional(),
  drainMs: upTo(DAY).optional(),
  maxConcurrentActivities: wholeNumberSchema(1_000).optional(),
  profile: z.enum(['machine', 'fleet']).optional(),
  tools: z.union([run, toolsSchema]).optional(),
  mcpServers: mcpServersSchema.optional(),
  webFetch: webFetchSchema.optional(),
  sandbox: sandboxSchema.optional(),
  skills: skillsSchema.optional(),
  workspaceSkills: z.boolean().optional(),
  hooks: hooksSchema.optional(),
  // A session closes only when they are over.
  afterStop: z.array(z.strictObject({ name: nameSchema, timeoutMs: upTo(30), run })).optional(),
  attachments: differentlyNamed(
    z.strictObject({ name: nameSchema, timeoutMs: upTo(DAY).optional(), collect: run }),
  ).optional(),
});

/** Applies the check of a caller's options to two of them together. */
const schema = keys.superRefine((config, context) => {
  const { model, fallbackModels, permissionMode } = config;
  const issue = (key: keyof typeof config, problem: string | undefined): void => {
    if (problem !== undefined) context.addIssue({ code: 'custom', path: [key], message: problem });
  };
  issue('fallbackModels', optionsProblem({ ...(model && { model }), ...(fallbackModels && { fallbackModels }) }));
  const permissions = config.permissions as PermissionRules | undefined;
  issue(
    'permissions',
    optionsProblem({ ...(permissionMode && { permissionMode }), ...(permissions && { permissions }) }),
  );
});

/** `source` says where it is from. Throws ConfigProblem. */
export function checkConfig(value: unknown, source: string): PerdureConfig {
  const checked = schema.safeParse(value, tellRight);
  if (checked.success) return value as PerdureConfig;
  throw new ConfigProblem(`${source}: ${issueText(checked.error.issues[0])}`);
}
