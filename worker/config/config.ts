// The configuration of a worker, and the one check of it. The check is strict: an unknown key is a
// mistake, and named by its path.
import { z } from 'zod';
import type { HookConfig } from '../../activities/hooks/hook-config.ts';
import {
  modelSchema,
  nameSchema,
  notesSchema,
  functionSchema,
  millisecondsSchema,
  listOfDifferentNames,
  dollarsSchema,
  shareSchema,
  skillsSchema,
  sandboxSchema,
  type SandboxConfig,
  webFetchSchema,
  wholeNumberSchema,
} from './schema-parts.ts';
import { toolNamesSchema, webSearchSchema } from './offered-tools.ts';
import { toolsSchema } from './tools.ts';
import type { AttachmentProvider } from '../../activities/attachments/prefetch.ts';
import type { AfterStopHandler } from '../../activities/deps.ts';
import type { ToolNames, WebSearchSettings } from '../../store/configuration.ts';
import type { SnapshotSettings } from '../../store/snapshots/take-snapshot.ts';
import type { ModelTable } from '../../store/model-facts.ts';
import type { Tool } from '../../tools/tool.ts';
import type { CompactionRules, Effort } from '../../workflows/contract/loop.ts';
import type { Profile } from '../../workflows/contract/profiles.ts';
import { efforts, optionsProblem, permissionModes } from '../../workflows/contract/options-problem.ts';
import { type ExtraFolders, extraFoldersProblem } from '../../workflows/contract/extra-folders.ts';
import { type ToolEnv, toolEnvProblem } from '../../workflows/contract/tool-env.ts';
import { permissionsProblem } from '../../workflows/contract/permission-rules.ts';
import type { PermissionMode, PermissionRules } from '../../workflows/contract/session.ts';
import { describeIssue, ISSUE_OPTIONS } from './issue-text.ts';
import type { AgentLimits, AgentType } from '../../tools/agent-types.ts';
import type { WebSettings } from '../../tools/builtin/files/options.ts';
import type { McpServers } from '../../tools/mcp/servers.ts';
import { hooksSchema } from './hooks.ts';
import { agentLimitsSchema, agentsSchema } from './agents.ts';
import { mcpServersSchema } from './mcp-servers.ts';
import { runDefaults } from './defaults.ts';

/**
 * Every key is optional: an absent one has its default, and the choices of a run's caller go before
 * (L57).
 */
export type PerdureConfig = {
  /**
   * Workers with the same name work on the same sessions, and their guards are taken for the same.
   */
  readonly name?: string;
  readonly model?: string;
  /** The fallback models, in order (L19). */
  readonly fallbackModels?: readonly string[];
  /** The model for questions apart from the conversation: summaries, notes, pages. */
  readonly smallModel?: string;
  /** How much a model puts into its replies (X2). */
  readonly effort?: Effort;
  /**
   * Facts of models by the prefix of the name, which go before what is known otherwise (X1). Sizes
   * are in tokens, prices in US dollars per million tokens, null when not known.
   */
  readonly models?: ModelTable;
  readonly permissionMode?: PermissionMode;
  /** Rules that hold in addition to those of a caller (L55). */
  readonly permissions?: PermissionRules;
  readonly systemPrompt?: string;
  /** Whether AGENTS.md files of the workspace are told to the model (L78). */
  readonly instructions?: boolean;
  /**
   * Whether runs keep notes of the workspace (L80). Absent: only in sessions that the command line
   * begins, and others that ask for it.
   */
  readonly memory?: boolean;
  /**
   * How many notes of runs in a workspace, from 2 to 200, there may be before the small model
   * merges them into fewer (L80).
   */
  readonly consolidateMemoryAfter?: number;
  /**
   * Whether a prompt is suggested after a run that ended by itself, where the person writes (L56).
   */
  readonly suggestPrompts?: boolean;
  /**
   * Variables for shell commands and other tools of this worker. They stay in its process: this is
   * the place for secret ones.
   */
  readonly toolEnv?: ToolEnv;
  /**
   * Other folders that tools may work in, where a caller names none: absolute real paths, at most
   * 20.
   */
  readonly additionalDirectories?: ExtraFolders;
  /**
   * Kinds of agents by name, in addition to the built-in `general` and `explore`; one of these
   * names replaces it (L66).
   */
  readonly agents?: Readonly<Record<string, AgentType>>;
  readonly agentLimits?: Partial<AgentLimits>;
  readonly maxTurns?: number;
  /** Whether one more call sums up before a limit ends a run (L51). */
  readonly wrapUp?: boolean;
  /** The max_tokens of a request, before it is raised (L26). */
  readonly maxOutputTokens?: number;
  /** Milliseconds until the first byte of a reply (L14). */
  readonly firstByteMs?: number;
  /** Milliseconds between two bytes of a reply (L14). */
  readonly stallMs?: number;
  /** Milliseconds of a whole request to a model (L14). */
  readonly requestMs?: number;
  /**
   * Words of a server, in small or large letters, when a request is too long for its model, in
   * addition to those that are known (L24).
   */
  readonly overflowWords?: readonly string[];
  /** `warning` and `critical` are shares of the window. */
  readonly compaction?: Partial<Pick<CompactionRules, 'enabled' | 'collapse' | 'warning' | 'critical'>>;
  readonly batchSummaries?: boolean;
  readonly approvalTimeoutMs?: number;
  /**
   * Milliseconds in which running work may finish when the worker is told to stop, also when its
   * command or query() ends (L50).
   */
  readonly drainMs?: number;
  /** The times between worker and server: `machine` for the embedded server, else `fleet`. */
  readonly profile?: Profile;
  /**
   * Activities that run side by side in one worker: model calls, tools, hooks. Activities that
   * record have slots of their own.
   */
  readonly maxConcurrentActivities?: number;
  /** Tools in addition to the built-in ones. A function is asked again between iterations (L44). */
  readonly tools?: ToolSource;
  /**
   * Names of tools, by ours, that the model knows them under (L89): rules, lists, events and what
   * is stored have ours.
   */
  readonly toolNames?: ToolNames;
  /** Servers whose tools are offered to runs, by name (L74). */
  readonly mcpServers?: McpServers;
  /** Hosts and addresses that `web_fetch` may reach in addition to the public internet (L86). */
  readonly webFetch?: WebSettings;
  /**
   * The API searches the web for models that have it (L88): it costs money, and queries leave the
   * machine. Absent: it is not offered.
   */
  readonly webSearch?: boolean | WebSearchSettings;
  /** The agents for keys that commands may reach through their sandbox. */
  readonly sandbox?: SandboxConfig;
  /** Folders of skills, absolute, at most 20 (L79). */
  readonly skills?: readonly string[];
  /**
   * Whether skills of a workspace count, too, or which: any user who writes there then tells the
   * model what it may load.
   */
  readonly workspaceSkills?: boolean | readonly string[];
  /**
   * Whether the files of a workspace are captured after each step that may change them (T1), and
   * how many: at most `files` files, `bytes` bytes in all and `fileBytes` of one file; and which
   * ignored ones all the same.
   */
  readonly snapshots?: SnapshotSettings;
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
 * The error for a configuration that cannot be used. Its message is one line for people that names
 * the file. Commands end with status 2.
 */
export class ConfigProblem extends Error {
  override readonly name = 'ConfigProblem';
}

/** Minutes of a day. */
const DAY = 24 * 60;

const countSchema = wholeNumberSchema(1_000_000);
const tokensSchema = wholeNumberSchema(100_000_000, 'tokens');
// Shorter words would be found in failures of every kind.
const wordRight = 'give a text of 8 to 200 characters';
const overflowWordSchema = z.string(wordRight).regex(/^\s*\S.{6,198}\S\s*$/s, wordRight);
const priceFields = {
  input: dollarsSchema,
  output: dollarsSchema,
  cacheRead: dollarsSchema,
  cacheWrite: dollarsSchema,
  cacheWrite1h: dollarsSchema.optional(),
};
const priceSchema = z.strictObject({
  ...priceFields,
  above: z.strictObject({ ...priceFields, tokens: tokensSchema }).optional(),
});

const snapshotsSchema = z.union(
  [
    z.boolean(),
    z.strictObject({
      files: wholeNumberSchema(1_000_000).optional(),
      bytes: wholeNumberSchema(1024 ** 4).optional(),
      fileBytes: wholeNumberSchema(1024 ** 3).optional(),
      include: z.array(z.string().min(1).max(1_000)).max(100).optional(),
    }),
  ],
  'give true, false or { files, bytes, fileBytes, include }',
);

const level = z.enum(efforts as [Effort, ...Effort[]]);
const modelFacts = z
  .strictObject({
    window: tokensSchema,
    maxOutput: tokensSchema,
    price: priceSchema.nullable(),
    thinking: z.strictObject({
      kinds: z.array(z.enum(['adaptive', 'enabled', 'disabled', 'between_tools'])),
      byDefault: z.boolean(),
    }),
    effort: z.strictObject({ levels: z.array(level).min(1), byDefault: level }),
    webSearch: z.boolean(),
  })
  .partial();

const nameRight = 'give 1 to 64 letters, digits, "-", "_" or ".", beginning with a letter or digit';

/**
 * Makes a schema from a check that the client and the activity that opens a run share, so that its
 * words are the same.
 */
const schemaByProblem = (problemOf: (given: unknown) => string | undefined) =>
  z
    .unknown()
    .optional()
    .superRefine((given, context) => {
      const problem = problemOf(given);
      if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
    });

const keysSchema = z.strictObject({
  name: z
    .string(nameRight)
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, nameRight)
    .optional(),
  model: modelSchema.optional(),
  fallbackModels: z.array(modelSchema).max(10).optional(),
  smallModel: modelSchema.optional(),
  effort: level.optional(),
  models: z.record(nameSchema, modelFacts).optional(),
  permissionMode: z.enum(permissionModes).optional(),
  permissions: schemaByProblem(permissionsProblem),
  systemPrompt: z.string().max(100_000).optional(),
  instructions: z.boolean().optional(),
  memory: z.boolean().optional(),
  consolidateMemoryAfter: notesSchema.optional(),
  suggestPrompts: z.boolean().optional(),
  toolEnv: schemaByProblem(toolEnvProblem),
  additionalDirectories: schemaByProblem(extraFoldersProblem),
  agents: agentsSchema.optional(),
  agentLimits: agentLimitsSchema.optional(),
  maxTurns: countSchema.optional(),
  wrapUp: z.boolean().optional(),
  maxOutputTokens: countSchema.optional(),
  firstByteMs: millisecondsSchema(60).optional(),
  stallMs: millisecondsSchema(60).optional(),
  requestMs: millisecondsSchema(DAY).optional(),
  overflowWords: z.array(overflowWordSchema).max(50).optional(),
  compaction: z
    .strictObject({
      enabled: z.boolean().optional(),
      collapse: z.boolean().optional(),
      warning: shareSchema.optional(),
      critical: shareSchema.optional(),
    })
    .superRefine(({ warning, critical }, context) => {
      const { warning: low, critical: high } = runDefaults.compaction;
      const message = `"warning" (${warning ?? low}) must be below "critical" (${critical ?? high})`;
      if ((warning ?? low) >= (critical ?? high)) context.addIssue({ code: 'custom', message });
    })
    .optional(),
  batchSummaries: z.boolean().optional(),
  approvalTimeoutMs: millisecondsSchema(365 * DAY).optional(),
  drainMs: millisecondsSchema(DAY).optional(),
  maxConcurrentActivities: wholeNumberSchema(1_000).optional(),
  profile: z.enum(['machine', 'fleet']).optional(),
  tools: z.union([functionSchema, toolsSchema]).optional(),
  toolNames: toolNamesSchema.optional(),
  mcpServers: mcpServersSchema.optional(),
  webFetch: webFetchSchema.optional(),
  webSearch: webSearchSchema.optional(),
  sandbox: sandboxSchema.optional(),
  skills: skillsSchema.optional(),
  workspaceSkills: z
    .union([z.boolean(), z.array(z.string()).max(100)], 'give true, false or names of skills')
    .optional(),
  snapshots: snapshotsSchema.optional(),
  hooks: hooksSchema.optional(),
  // A session closes only when these handlers are over.
  afterStop: z
    .array(z.strictObject({ name: nameSchema, timeoutMs: millisecondsSchema(30), run: functionSchema }))
    .optional(),
  attachments: listOfDifferentNames(
    z.strictObject({ name: nameSchema, timeoutMs: millisecondsSchema(DAY).optional(), collect: functionSchema }),
  ).optional(),
});

/** Applies the check of a caller's options to pairs of them. */
const configSchema = keysSchema.superRefine((config, context) => {
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

/**
 * Returns `value` when it is a valid configuration. `source` names where it is from. Throws
 * ConfigProblem.
 */
export function checkConfig(value: unknown, source: string): PerdureConfig {
  const checked = configSchema.safeParse(value, ISSUE_OPTIONS);
  if (checked.success) return value as PerdureConfig;
  throw new ConfigProblem(`${source}: ${describeIssue(checked.error.issues[0])}`);
}
