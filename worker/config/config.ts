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
  sameResultsSchema,
  shareSchema,
  skillsSchema,
  sandboxSchema,
  type SandboxConfig,
  webFetchSchema,
  webhooksSchema,
  wholeNumberSchema,
} from './schema-parts.ts';
import { toolNamesSchema, webSearchSchema } from './offered-tools.ts';
import { toolsSchema, knownServersSchema, mcpServersSchema } from './tools.ts';
import type { AttachmentProvider } from '../../activities/attachments/prefetch.ts';
import type { AfterStopHandler, WebhookEndpoint } from '../../activities/deps.ts';
import type { ToolNames, WebSearchSettings } from '../../store/configuration.ts';
import type { HostSettings } from './session-host.ts';
import type { SnapshotSettings } from '../../store/snapshots/take-snapshot.ts';
import type { ModelTable } from '../../store/model-facts.ts';
import type { Tool } from '../../tools/tool.ts';
import { type CompactionRules, type Effort, efforts } from '../../workflows/contract/loop.ts';
import type { Profile } from '../../workflows/contract/profiles.ts';
import { optionsProblem } from '../../workflows/contract/options-problem.ts';
import { permissionModes, permissionsProblem } from '../../workflows/contract/permission-rules.ts';
import { type ExtraFolders, extraFoldersProblem } from '../../workflows/contract/extra-folders.ts';
import { type ToolEnv, toolEnvProblem } from '../../workflows/contract/tool-env.ts';
import { present } from '../../workflows/contract/present.ts';
import type { PermissionMode, PermissionRules, RunOptions } from '../../workflows/contract/session.ts';
import { describeIssue, ISSUE_OPTIONS } from './issue-text.ts';
import type { AgentLimits, AgentType } from '../../tools/agent-types.ts';
import type { WebSettings } from '../../tools/builtin/files/options.ts';
import type { KnownServers, McpServers } from '../../tools/mcp/servers.ts';
import { hooksSchema } from './hooks.ts';
import { agentLimitsSchema, agentsSchema } from './agents.ts';
import { runDefaults } from './defaults.ts';

/** What holds for sessions of the Managed Agents API. */
export type ManagedSettings = {
  readonly mcpServers?: KnownServers;
  readonly webhooks?: readonly WebhookEndpoint[];
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
      diskBytes: wholeNumberSchema(1024 ** 5).optional(),
    }),
  ],
  'give true, false or { files, bytes, fileBytes, include, diskBytes }',
);

const level = z.enum(efforts);
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

const managedSchema = z.strictObject({
  mcpServers: knownServersSchema.optional(),
  webhooks: webhooksSchema.optional(),
} satisfies Readonly<Record<keyof ManagedSettings, unknown>>);

const nameRight = 'give 1 to 64 letters, digits, "-", "_" or ".", beginning with a letter or digit';

/**
 * Makes a schema from a check that the client and the activity that opens a run share, so that its
 * words are the same.
 */
const schemaByProblem = (problemOf: (value: unknown) => string | undefined) =>
  z
    .unknown()
    .optional()
    .superRefine((value, context) => {
      const problem = problemOf(value);
      if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
    });

/**
 * A key of the configuration. `use`: what depends on it, the runs that a worker opens, what it
 * works with, or how its process goes about it.
 */
type ConfigKey<Value, Use> = {
  readonly schema: z.ZodType;
  readonly use: Use;
  /** Carries the type of the value; it is always absent. */
  readonly type?: Value;
};

/**
 * The compiler holds the schema of a plain value to its type. Schemas of objects are held to theirs
 * field by field, by `satisfies`.
 */
type SchemaOf<Value> = z.ZodType<Value extends string | number | boolean ? Value : unknown>;

/** A default for the options of runs (L57): `defaultsOfConfig` passes it on. */
const forRuns = <Value>(schema: SchemaOf<Value>): ConfigKey<Value, 'runs'> => ({ schema, use: 'runs' });
const forWorker = <Value>(schema: SchemaOf<Value>): ConfigKey<Value, 'worker'> => ({ schema, use: 'worker' });
/** It ties no session to the workers that have it (`queue.ts`). */
const forProcess = <Value>(schema: SchemaOf<Value>): ConfigKey<Value, 'process'> => ({ schema, use: 'process' });

/** Every key of the configuration, declared once: its type, its schema, and what depends on it. */
export const CONFIG_KEYS = {
  /**
   * Workers with the same name work on the same sessions, and their guards are taken for the same.
   */
  name: forWorker<string>(z.string(nameRight).regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, nameRight)),
  model: forRuns<string>(modelSchema),
  /** The fallback models, in order (L19). */
  fallbackModels: forRuns<readonly string[]>(z.array(modelSchema).max(10)),
  /** The model for questions apart from the conversation: summaries, notes, pages. */
  smallModel: forRuns<string>(modelSchema),
  /** How much a model puts into its replies (X2). */
  effort: forRuns<Effort>(level),
  /**
   * Facts of models by the prefix of the name, which go before what is known otherwise (X1). Sizes
   * are in tokens, prices in US dollars per million tokens, null when not known.
   */
  models: forRuns<ModelTable>(z.record(nameSchema, modelFacts)),
  permissionMode: forRuns<PermissionMode>(z.enum(permissionModes)),
  /** Rules that hold in addition to those of a caller (L55). */
  permissions: forRuns<PermissionRules>(schemaByProblem(permissionsProblem)),
  systemPrompt: forRuns<string>(z.string().max(100_000)),
  /** Whether AGENTS.md files of the workspace are told to the model (L78). */
  instructions: forRuns<boolean>(z.boolean()),
  /**
   * Whether runs keep notes of the workspace (L80). Absent: only in sessions that the command line
   * begins, and others that ask for it.
   */
  memory: forRuns<boolean>(z.boolean()),
  /**
   * How many notes of runs in a workspace, from 2 to 200, there may be before the small model
   * merges them into fewer (L80).
   */
  consolidateMemoryAfter: forRuns<number>(notesSchema),
  /**
   * Whether a prompt is suggested after a run that ended by itself, where the person writes (L56).
   */
  suggestPrompts: forRuns<boolean>(z.boolean()),
  /**
   * Variables for shell commands and other tools of this worker. They stay in its process: this is
   * the place for secret ones.
   */
  toolEnv: forWorker<ToolEnv>(schemaByProblem(toolEnvProblem)),
  /**
   * Other folders that tools may work in, where a caller names none: absolute real paths, at most
   * 20.
   */
  additionalDirectories: forRuns<ExtraFolders>(schemaByProblem(extraFoldersProblem)),
  /**
   * Kinds of agents by name, in addition to the built-in `general` and `explore`; one of these
   * names replaces it (L66).
   */
  agents: forRuns<Readonly<Record<string, AgentType>>>(agentsSchema),
  agentLimits: forRuns<Partial<AgentLimits>>(agentLimitsSchema),
  maxTurns: forRuns<number>(countSchema),
  /**
   * The most replies in a row whose calls give only what they gave before, then the run ends;
   * false: no bound (L34).
   */
  maxSameResults: forRuns<number | false>(sameResultsSchema),
  /** Whether one more call sums up before a limit ends a run (L51). */
  wrapUp: forRuns<boolean>(z.boolean()),
  /** The max_tokens of a request, before it is raised (L26). */
  maxOutputTokens: forRuns<number>(countSchema),
  /** Milliseconds until the first byte of a reply (L14). */
  firstByteMs: forRuns<number>(millisecondsSchema(60)),
  /** Milliseconds between two bytes of a reply (L14). */
  stallMs: forRuns<number>(millisecondsSchema(60)),
  /** Milliseconds of a whole request to a model (L14). */
  requestMs: forRuns<number>(millisecondsSchema(DAY)),
  /**
   * Words of a server, in small or large letters, when a request is too long for its model, in
   * addition to those that are known (L24).
   */
  overflowWords: forRuns<readonly string[]>(z.array(overflowWordSchema).max(50)),
  /** `warning` and `critical` are shares of the window. */
  compaction: forRuns<Partial<Pick<CompactionRules, 'enabled' | 'collapse' | 'warning' | 'critical'>>>(
    z
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
      }),
  ),
  batchSummaries: forRuns<boolean>(z.boolean()),
  approvalTimeoutMs: forRuns<number>(millisecondsSchema(365 * DAY)),
  /**
   * Milliseconds in which running work may finish when the worker is told to stop, also when its
   * command or query() ends (L50).
   */
  drainMs: forProcess<number>(millisecondsSchema(DAY)),
  /**
   * Activities that run side by side in one worker: model calls, tools, hooks. Activities that
   * record have slots of their own.
   */
  maxConcurrentActivities: forProcess<number>(wholeNumberSchema(1_000)),
  /** The times between worker and server: `machine` for the embedded server, else `fleet`. */
  profile: forProcess<Profile>(z.enum(['machine', 'fleet'])),
  /** Tools in addition to the built-in ones. A function is asked again between iterations (L44). */
  tools: forWorker<ToolSource>(z.union([functionSchema, toolsSchema])),
  /**
   * Names of tools, by ours, that the model knows them under (L89): rules, lists, events and what
   * is stored have ours.
   */
  toolNames: forRuns<ToolNames>(toolNamesSchema),
  /**
   * When tools of MCP servers are left out of requests until the model finds them: `true` always,
   * `false` never, a number where their definitions have more tokens (L74).
   */
  deferTools: forRuns<boolean | number>(z.union([z.boolean(), tokensSchema], 'give true, false or a number of tokens')),
  /** Servers whose tools are offered to runs, by name (L74). */
  mcpServers: forWorker<McpServers>(mcpServersSchema),
  /** Servers that agents of the Managed Agents API may name (G54), and webhooks (G70). */
  managed: forWorker<ManagedSettings>(managedSchema),
  /** Hosts and addresses that `web_fetch` may reach in addition to the public internet (L86). */
  webFetch: forWorker<WebSettings>(webFetchSchema),
  /**
   * The API searches the web for models that have it (L88): it costs money, and queries leave the
   * machine. Absent: it is not offered.
   */
  webSearch: forRuns<boolean | WebSearchSettings>(webSearchSchema),
  /**
   * The agents for keys, and other sockets, that commands may reach through their sandbox, and
   * whether they run without bubblewrap.
   */
  sandbox: forWorker<SandboxConfig>(sandboxSchema),
  /** Folders of skills, absolute, at most 20 (L79). */
  skills: forWorker<readonly string[]>(skillsSchema),
  /**
   * Whether skills of a workspace count, too, or which: any user who writes there then tells the
   * model what it may load.
   */
  workspaceSkills: forWorker<boolean | readonly string[]>(
    z.union([z.boolean(), z.array(z.string()).max(100)], 'give true, false or names of skills'),
  ),
  /**
   * Whether the files of a workspace are captured after each step that may change them (T1), and
   * how many: at most `files` files, `bytes` bytes in all and `fileBytes` of one file; and which
   * ignored ones all the same.
   */
  snapshots: forWorker<SnapshotSettings>(snapshotsSchema),
  /**
   * Where hosts share a store, `graceMs`: milliseconds without a worker on its host after which a
   * session moves to another one, 120,000 when absent (T18).
   */
  hosts: forWorker<HostSettings>(z.strictObject({ graceMs: millisecondsSchema(DAY).optional() })),
  hooks: forWorker<HookConfig>(hooksSchema),
  /** A session closes only when these handlers are over. */
  afterStop: forWorker<readonly AfterStopHandler[]>(
    z.array(z.strictObject({ name: nameSchema, timeoutMs: millisecondsSchema(30), run: functionSchema })),
  ),
  attachments: forWorker<readonly AttachmentProvider[]>(
    listOfDifferentNames(
      z.strictObject({ name: nameSchema, timeoutMs: millisecondsSchema(DAY).optional(), collect: functionSchema }),
    ),
  ),
};

type Rows = typeof CONFIG_KEYS;
type ValueOf<Row> = Row extends ConfigKey<infer Value, string> ? Value : never;

/**
 * Every key is optional: an absent one has its default, and the choices of a run's caller go before
 * (L57).
 */
export type PerdureConfig = { readonly [Name in keyof Rows]?: ValueOf<Rows[Name]> };

/** The keys whose use is this one. */
export type KeysFor<Use> = {
  [Name in keyof Rows]: Rows[Name] extends ConfigKey<unknown, Use> ? Name : never;
}[keyof Rows];

const keysSchema = z.strictObject(
  Object.fromEntries(Object.entries(CONFIG_KEYS).map(([name, { schema }]) => [name, schema.optional()])),
);

/** Applies the check of a caller's options to pairs of them. */
const configSchema = keysSchema.superRefine((config: PerdureConfig, context) => {
  const { model, fallbackModels, permissionMode, permissions } = config;
  const check = (key: keyof PerdureConfig, pair: Partial<RunOptions>): void => {
    const message = optionsProblem(pair);
    if (message !== undefined) context.addIssue({ code: 'custom', path: [key], message });
  };
  check('fallbackModels', present({ model, fallbackModels }));
  check('permissions', present({ permissionMode, permissions }));
});

/**
 * Returns `value` when it is a valid configuration. `source` names where it is from. Throws
 * ConfigProblem.
 */
export function checkConfig(value: unknown, source: string): PerdureConfig {
  const checked = configSchema.safeParse(value, ISSUE_OPTIONS);
  if (checked.success) return value as PerdureConfig;
  throw new ConfigProblem(`${source}: ${describeIssue(checked.error.issues[0], [], Object.keys(CONFIG_KEYS))}`);
}
