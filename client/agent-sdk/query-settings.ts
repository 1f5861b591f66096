// Translates the options `settings` and `managedSettings`, an object or a file, into the options
// that they stand for. A setting that guards and is not known here is refused.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { reasonOf } from '../../system/text.ts';
import { present } from '../faces/basics.ts';
import { ClientProblem } from '../faces/start.ts';
import { isKeyless } from '../faces/processes.ts';
import { isAskedFor } from './option-fates.ts';
import { toCommandHooks } from './command-hooks.ts';
import type { HookCallbackMatcher, HookEvent, Hooks } from './shapes/hooks.ts';
import type { Options, Settings, ResolvedSettings, ResolveSettingsOptions } from './shapes/options.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import type { Env } from '../../connection/data-folder.ts';

const list = z.array(z.string());

/** Other permissions guard, so that an unknown one is refused. */
const permissionsSchema = z.strictObject({
  allow: list.optional(),
  deny: list.optional(),
  ask: list.optional(),
  defaultMode: z.string().optional(),
  additionalDirectories: list.optional(),
});

const knownSchema = z.looseObject({
  permissions: permissionsSchema.optional(),
  env: z.record(z.string(), z.string()).optional(),
  model: z.string().optional(),
  fallbackModel: list.optional(),
  effortLevel: z.string().optional(),
});

const KNOWN = [...Object.keys(knownSchema.shape), 'hooks', '$schema'];

const servers = 'leave servers out of mcpServers, or deny mcp__NAME in disallowedTools';
const models = 'give the model and fallbackModel that may be used';
const key = 'give ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN in env';
const settings = 'settings are the options of the query alone';

/** These guard, or nothing works without them. */
const REFUSED: Readonly<Record<string, string>> = {
  sandbox: 'commands are held by a sandbox of our own where the machine has one: see docs/security.md',
  agent: 'a session is no agent of a type: give its systemPrompt, tools and model',
  apiKeyHelper: key,
  proxyAuthHelper: key,
  awsCredentialExport: key,
  awsAuthRefresh: key,
  gcpAuthRefresh: key,
  processWrapper: 'no other process is started',
  policyHelper: settings,
  availableModels: models,
  enforceAvailableModels: models,
  deniedModels: models,
  allowedProviders: models,
  maxEffortLevel: 'give the effort',
  modelOverrides: models,
  managedMcpServers: 'give them as mcpServers',
  allowedMcpServers: servers,
  deniedMcpServers: servers,
  allowManagedMcpServersOnly: servers,
  disableAllHooks: 'give no hooks',
  allowManagedHooksOnly: 'give no other hooks',
  allowedHttpHookUrls: 'give functions as hooks',
  allowManagedPermissionRulesOnly: 'give no other permission rules',
  claudeMd: 'give it as the append of systemPrompt',
  claudeMdExcludes: 'give settingSources without project, which leaves out CLAUDE.md',
  autoMode: 'no model judges calls: give permission rules and canUseTool',
};

/** Returns the options with those that the settings stand for. Throws ClientProblem `refused`. */
export function withSettings(options: Options, say: (line: string) => void): Options {
  const { settings: own, managedSettings, ...others } = options;
  const all = { ...(own !== undefined && { settings: own }), ...(managedSettings && { managedSettings }) };
  let translated: Options = others;
  for (const [name, value] of Object.entries(all)) {
    try {
      translated = addSettings(readSettings(value, options.cwd), translated, name, say);
    } catch (error) {
      throw new ClientProblem('refused', `the option ${JSON.stringify(name)} of query() is refused: ${whyOf(error)}`, {
        cause: error,
      });
    }
  }
  return translated;
}

function whyOf(error: unknown): string {
  if (!(error instanceof z.ZodError)) return reasonOf(error);
  const [issue] = error.issues;
  return `${issue?.path.join('.') || 'it'}: ${issue?.message ?? 'it is not valid'}`;
}

/** Reads a file, relative to `cwd`, or a text that is JSON itself. */
function readSettings(source: string | Settings, cwd = process.cwd()): Settings {
  if (typeof source !== 'string') return source;
  const json = source.trimStart().startsWith('{') ? source : readFileSync(resolve(cwd, source), 'utf8');
  return z.looseObject({}).parse(JSON.parse(json));
}

function addSettings(fields: Settings, options: Options, name: string, say: (line: string) => void): Options {
  const requested = Object.entries(fields).filter(([, value]) => isAskedFor(value) && !isEmpty(value));
  for (const [setting] of requested) {
    const why = Object.hasOwn(REFUSED, setting) ? REFUSED[setting] : undefined;
    if (why !== undefined) throw new Error(`${setting}: ${why}`);
  }
  const passed = requested.map(([setting]) => setting).filter((setting) => !KNOWN.includes(setting));
  if (passed.length > 0) say(`the option ${name} has ${passed.join(', ')}, passed over: nothing here depends on it`);
  const known = knownSchema.parse(fields);
  const { allow = [], deny = [], ask = [], defaultMode, additionalDirectories = [] } = known.permissions ?? {};
  const env = known.env && { ...(options.env ?? process.env), ...known.env };
  const place = { cwd: options.cwd ?? process.cwd(), env: env ?? options.env ?? process.env };
  return {
    ...options,
    ...present({
      model: options.model ?? known.model,
      fallbackModel: options.fallbackModel ?? known.fallbackModel?.join(','),
      // An unknown mode or effort is refused later, with the options.
      effort: options.effort ?? (known.effortLevel as Options['effort']),
      permissionMode: options.permissionMode ?? (defaultMode as Options['permissionMode']),
      allowedTools: joinLists(options.allowedTools, allow),
      disallowedTools: joinLists(options.disallowedTools, deny),
      additionalDirectories: joinLists(options.additionalDirectories, additionalDirectories),
      env: env ?? options.env,
      hooks:
        fields['hooks'] === undefined
          ? options.hooks
          : joinHooks(options.hooks, toCommandHooks(fields['hooks'], place)),
      settings: ask.length > 0 ? { permissions: { ask: [...askRules(options), ...ask] } } : options.settings,
    }),
  };
}

/** Returns the rules by which calls are asked about, which are no option of their own. */
export function askRules({ settings: translated }: Pick<Options, 'settings'>): readonly string[] {
  return typeof translated === 'object' ? (translated.permissions?.ask ?? []) : [];
}

const isEmpty = (value: unknown): boolean =>
  value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);

const joinLists = (before: string[] | undefined, more: readonly string[]): string[] | undefined =>
  more.length === 0 ? before : [...(before ?? []), ...more];

function joinHooks(before: Hooks = {}, more: Hooks): Hooks {
  const all: Partial<Record<HookEvent, HookCallbackMatcher[]>> = { ...before };
  for (const [event, matchers] of Object.entries(more) as [HookEvent, HookCallbackMatcher[]][])
    all[event] = [...(before[event] ?? []), ...matchers];
  return all;
}

/** Resolves to empty settings, whatever `options` name, since no settings files are read. */
export function resolveSettings(_options: ResolveSettingsOptions = {}): Promise<ResolvedSettings> {
  return Promise.resolve({ effective: {}, provenance: {}, sources: [], machinePolicy: { didNotLoad: false } });
}

const ESCALATING: readonly unknown[] = ['acceptEdits', 'auto', 'bypassPermissions'];

/** Returns the effective settings, without a mode that allows more and comes from a workspace. */
export function filterEscalatingDefaultMode({ effective, provenance, sources }: ResolvedSettings): Settings {
  const { permissions } = effective;
  const mode = permissions?.defaultMode;
  if (!ESCALATING.includes(mode)) return effective;
  const from = sources.findLast((one) => one.settings.permissions?.defaultMode !== undefined)?.source;
  if ((from ?? provenance.permissions?.source) !== 'project') return effective;
  const { defaultMode: _, ...others } = permissions ?? {};
  return { ...effective, permissions: others };
}

/** Empty, since there are no accounts here whose limits could be reported. */
export const ORG_POLICY_LIMIT_PREFIXES: readonly string[] = [];
export const USAGE_LIMIT_ERROR_PREFIXES: readonly string[] = [];
export const USAGE_TRANSITION_PREFIXES: readonly string[] = [];
export const USAGE_WARNING_PREFIXES: readonly string[] = [];

/** These say where Perdure runs. A program has one such place, whatever it gives to an agent. */
const OF_PLACE = /^(?:PERDURE_|TEMPORAL_|XDG_)|^HOME$/;

export function ownEnv(env: Env | undefined): Env {
  if (env === undefined) return process.env;
  return { ...Object.fromEntries(Object.entries(process.env).filter(([name]) => OF_PLACE.test(name))), ...env };
}

/** Throws SetupProblem without a key, since the scripted demo model must not answer a program. */
export function requireKey(env: Env, isGiven: boolean): void {
  if (!isKeyless(env)) return;
  const cloud = ['CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX', 'CLAUDE_CODE_USE_FOUNDRY'].find(
    (name) => env[name],
  );
  const where = isGiven ? 'in options.env, which stands for the whole environment' : 'in the environment';
  const why = cloud === undefined ? 'query() has no key of the model API' : `${cloud} is not known here`;
  throw new SetupProblem(
    `${why}: set ANTHROPIC_API_KEY, or ANTHROPIC_AUTH_TOKEN, or ANTHROPIC_BASE_URL for a gateway of your own, ${where}`,
  );
}
