// Opens a run: takes the snapshot that it works with to its end (L57), or says why it cannot start.
import { join, resolve } from 'node:path';
import type { AlertKind, Notice, OpenRun, RunOpened } from '../../workflows/contract/activities.ts';
import { nearName } from '../../workflows/contract/did-you-mean.ts';
import { optionsProblem } from '../../workflows/contract/options-problem.ts';
import type { PermissionRules, RunOptions, SessionHost } from '../../workflows/contract/session.ts';
import { agentFacts } from '../../workflows/contract/facts.ts';
import { queryIdOf, type SessionId } from '../../workflows/contract/ids.ts';
import { type Attempt, leaveFolderToOthers } from '../attempt.ts';
import type { Deps } from '../deps.ts';
import { announceEntries } from '../../store/live/tell.ts';
import { schemaProblem } from '../../system/schema/json-schema.ts';
import { hookFailureNotice } from '../hooks/hooks.ts';
import { askSessionStart, type SessionStartWords } from './around-runs.ts';
import { runFields } from '../../system/log.ts';
import { listEndpoints } from './webhooks.ts';
import type { RunConfig, WebSearchSettings } from '../../store/configuration.ts';
import { outputsOf } from '../../store/values/files.ts';
import { buildSystemPrompt } from '../../store/system-prompt.ts';
import { joinSystemPrompt } from '../../store/transcript/preamble.ts';
import { WEB_SEARCH } from '../../store/transcript/server-tools.ts';
import { deferLimit } from '../../tools/deferred-tools.ts';
import { inherit } from './inherit.ts';
import { RecentMap } from '../../system/recent-map.ts';
import { emptiedFailure, isEmptied, recordReturn } from '../hosts/host-record.ts';
import { buildRules, createRunNews, findRunModels } from './rules.ts';
import { findExtraFolders, findWorkspace, makeWorkspace } from './folders.ts';
import { SERVER_PREFIX, RESOURCES, findServerName } from '../../tools/registry.ts';
import { isAboutSome, findIdleRules, mistakenRule } from '../../tools/rules/match-rules.ts';
import { ShellStates } from '../../tools/builtin/shell/kept-shell.ts';
import { present } from '../../workflows/contract/present.ts';

const MAX_EMPTY_REPLIES = 3;

export function openRun(deps: Deps): (attempt: Attempt, input: OpenRun) => Promise<RunOpened> {
  const open = createOpener(deps);
  return async (attempt, input) => ({
    ...(await open(attempt, input)),
    alerts: listAlerts(deps),
    ...listWebhooks(deps, input),
  });
}

/** Lists the alerts that some hook wants to be told of. */
function listAlerts({ hooks }: Deps): readonly AlertKind[] {
  return (['waiting', 'failed', 'agentEnded'] as const).filter((kind) => hooks.has(kind));
}

/** Only sessions whose transcript tells of waits have endpoints; agents have none of their own. */
function listWebhooks({ webhooks }: Deps, { options, agent }: OpenRun): Pick<RunOpened, 'webhooks' | 'endpoints'> {
  const endpoints = listEndpoints(webhooks);
  const types = new Set(endpoints.flatMap((endpoint) => endpoint.types));
  return types.size > 0 && options.recordWaits && !agent ? { webhooks: [...types], endpoints } : {};
}

/** The number of warnings that a worker remembers to have given. */
const MOST_WARNED = 1_000;

function createOpener(deps: Deps): (attempt: Attempt, input: OpenRun) => Promise<RunOpened> {
  const newsOf = createRunNews(deps);
  const warned = new RecentMap<string, true>(MOST_WARNED);
  return async (attempt, request) => {
    const inherited = request.agent ? await inherit(deps, attempt, request.agent, request.options) : null;
    if (typeof inherited === 'string') return { kind: 'refused', detail: inherited };
    const input = { ...request, options: inherited?.options ?? request.options };
    await Promise.all([deps.servers?.refresh(), deps.runServers?.refresh(input.options.mcpServers)]);
    const { step, options } = input;
    // Rules added for an agent are judged as any caller's are.
    const requested = { ...options, ...(request.options.permissions && { permissions: request.options.permissions }) };
    const { permissionMode } = deps.defaults;
    const search = inherited ? inherited.webSearch : deps.defaults.webSearch;
    const wrong =
      optionsProblem({ permissionMode, ...requested }) ??
      optionsProblem(workerRules(deps)) ??
      findWrongSchema(options) ??
      findMissingTool(deps, options, search !== undefined || inherited !== null) ??
      schemaProblem(options.outputSchema);
    const rules = wrong === undefined ? checkRuleNames(deps, requested, warned) : {};
    if (rules.mistaken !== undefined || wrong !== undefined)
      return { kind: 'refused', detail: wrong ?? rules.mistaken ?? '' };
    const chosen = await findRunModels(deps, options);
    if (typeof chosen === 'string') return { kind: 'refused', detail: chosen };
    const cwd = await findOrMakeWorkspace(deps, attempt, input);
    const own = options.sessionFiles ? { of: attempt.session, outputs: outputsOf(cwd.path) } : undefined;
    const sessionFiles = inherited ? inherited.sessionFiles : own;
    const extra = await findExtraFolders(
      options.additionalDirectories ?? deps.defaults.additionalDirectories,
      { cwd: cwd.path, made: cwd.isMissing || inherited ? undefined : own?.outputs },
      deps,
    );
    const missing = cwd.isMissing ? options.cwd : extra.missing;
    const mayBeEmptied = input.onHost && (cwd.isMissing || !input.begins);
    if (mayBeEmptied && (await isEmptied(deps, folderOf(attempt, input)))) throw emptiedFailure(deps, options.cwd);
    if (missing !== undefined) leaveToAnother(deps, attempt, input, `has no folder ${missing}`);
    if (deps.hosts?.isLeaving()) leaveToAnother(deps, attempt, input, 'is draining');
    const problem = (cwd.isMissing ? describeMissingFolder(deps, input) : undefined) ?? cwd.problem ?? extra.problem;
    if (problem !== undefined) return { kind: 'refused', detail: problem };
    const { folders } = extra;
    await deps.live.forgetBefore(attempt.session, step);
    const started = await askSessionStart(deps, attempt, input, { cwd: cwd.path, folders });
    const callers = [options.systemPrompt ?? deps.defaults.systemPrompt, options.appendSystemPrompt ?? ''].join('\n\n');
    const systemParts = buildSystemPrompt(
      callers,
      {
        cwd: cwd.path,
        folders,
        ...pickContexts(options),
        instructions: [
          ...(deps.servers?.instructions(options.tools) ?? []),
          ...(deps.runServers?.instructions(options.mcpServers, options.tools) ?? []),
        ],
        added: started.context.map(({ hook, text }) => `Added by the hook ${hook}:\n${text}`),
      },
      deps.now(),
      options.outputSchema,
    );
    const found = {
      ...chosen,
      ...present({ sessionFiles }),
      cwd: cwd.path,
      folders,
      system: joinSystemPrompt(systemParts),
      systemParts,
    };
    const permissions = inherited?.permissions ?? joinRules(deps.defaults.permissions, options.permissions);
    const webSearch = restrictSearch(search, permissions);
    if (webSearch) warnOfSearch(deps, chosen.models, warned);
    const config = takeSnapshot(deps, attempt, input, { ...found, permissions, webSearch });
    const hash = await deps.store.put(new TextEncoder().encode(JSON.stringify(config)));
    await announceRun(deps, attempt, config, { ...started, step, news: await newsOf(config) });
    deps.attachments.prefetch(config);
    const host = hostOf(deps, attempt, input, [cwd.path, ...folders]);
    if (host && !input.onHost && !input.begins)
      await recordReturn(deps.store, { ...folderOf(attempt, input), host, place: cwd.place });
    const names = chosen.models.map(({ name }) => name);
    return {
      kind: 'opened',
      config: hash,
      rules: config.rules,
      models: names,
      place: cwd.place,
      ...(host && { host }),
    };
  };
}

/**
 * The host that opens the first run of a session makes its folder, where it is set up to. It has
 * the session's name: one of another name may be a folder that only another host has.
 */
async function findOrMakeWorkspace(
  { dataDir, workspaces }: Deps,
  { session }: Attempt,
  { options: { cwd }, place, onHost, begins }: OpenRun,
) {
  const found = await findWorkspace(cwd, dataDir, place);
  const isNew = begins === true && !onHost && place === undefined;
  const isOwn = workspaces !== undefined && resolve(cwd) === join(workspaces, session);
  if (!found.isMissing || !isNew || !isOwn || !(await makeWorkspace(cwd))) return found;
  return await findWorkspace(cwd, dataDir);
}

const folderOf = ({ session }: Attempt, { agent, options: { cwd } }: OpenRun) => ({
  session,
  root: agent?.root ?? session,
  cwd,
});

/** Notes that the session works on this host, which it may leave unless it is to stay (T18). */
function hostOf(
  { host, hosts }: Deps,
  { session, temporal }: Attempt,
  { options: { stay } }: OpenRun,
  folders: readonly string[],
): SessionHost | undefined {
  if (!host || !hosts) return host;
  hosts.hosted.note(session, folders, temporal?.options.namespace);
  return stay ? host : { ...host, graceMs: hosts.graceMs };
}

function takeSnapshot(
  deps: Deps,
  { session }: Attempt,
  { chain, run, options, agent, traceparent, querySource }: OpenRun,
  {
    folders,
    webSearch,
    ...found
  }: Pick<RunConfig, 'models' | 'smallModel' | 'sessionFiles' | 'cwd' | 'system' | 'systemParts' | 'permissions'> & {
    readonly folders: readonly string[];
    readonly webSearch: WebSearchSettings | undefined;
  },
): RunConfig {
  const { defaults, scripted } = deps;
  const effort = options.effort ?? defaults.effort;
  return {
    v: 1,
    session,
    chain,
    run,
    queryId: queryIdOf(chain, run),
    depth: agent?.depth ?? 0,
    ...(traceparent && { traceparent }),
    ...(querySource && { querySource }),
    ...(agent && { agent: agentFacts(agent) }),
    ...found,
    mode: options.permissionMode ?? defaults.permissionMode,
    ...present({ tools: options.tools }),
    ...((options.instructions ?? defaults.instructions) ? {} : { instructions: false as const }),
    ...(!agent && deps.memory && (options.memory ?? defaults.memory) ? { memory: true as const } : {}),
    ...(!agent && (options.suggestPrompts ?? defaults.suggestPrompts) ? { suggestPrompts: true as const } : {}),
    ...present({ toolEnv: options.toolEnv, toolset: options.toolset }),
    ...present({ dir: lastFolder(deps, session, options.toolset && found.cwd) }),
    ...(options.offline && { offline: true as const }),
    ...pickContexts(options),
    ...present({ snapshots: options.snapshots ?? deps.snapshots?.setting }),
    ...(folders.length === 0 ? {} : { folders }),
    scripted,
    thinkingTokens: options.thinkingTokens ?? null,
    ...(effort && { effort }),
    ...(webSearch && { webSearch }),
    ...present({ deferAbove: deferLimit(defaults.deferTools, found.models[0].window) }),
    ...present({
      outsideTools: options.outsideTools,
      mcpServers: options.mcpServers,
      roster: options.roster,
      mounts: options.mounts,
      environment: options.environment,
    }),
    ...(defaults.toolNames && { toolNames: defaults.toolNames }),
    outputSchema: options.outputSchema ?? null,
    backoff: defaults.backoff,
    firstByteMs: defaults.firstByteMs,
    stallMs: defaults.stallMs,
    ...(defaults.requestMs !== undefined && { requestMs: defaults.requestMs }),
    ...(defaults.overflowWords && { overflowWords: defaults.overflowWords }),
    maxEmptyReplies: MAX_EMPTY_REPLIES,
    rules: {
      ...buildRules(deps, { ...found, agent }, found.system, options),
      // No person reads along with an agent, and its work is remembered with that of the session
      // that a person began (L73).
      ...(agent && { batchSummaries: false, afterStop: false }),
    },
    // A worker that goes on with the run has to find these hooks.
    ...(deps.hooks.deciding.length === 0 ? {} : { hooks: deps.hooks.deciding }),
  };
}

/** Returns where the shell of an earlier run ended in the workspace. */
function lastFolder({ dataDir }: Deps, session: SessionId, workspace: string | undefined): string | undefined {
  if (dataDir === undefined || workspace === undefined) return undefined;
  return new ShellStates(dataDir).folderOf(session, workspace);
}

/** Agents of the run are told them, too. */
function pickContexts({ systemContext, userContext }: RunOptions): Pick<RunConfig, 'systemContext' | 'userContext'> {
  return present({ systemContext, userContext });
}

async function announceRun(
  { live: channel, log }: Deps,
  { session, number }: Attempt,
  config: RunConfig,
  { step, failed, news }: SessionStartWords & { readonly step: number; readonly news: readonly Notice[] },
): Promise<void> {
  const { run, queryId: query, depth, cwd, models, scripted } = config;
  const live = channel.open({ session, step, attempt: number, activity: 'openRun' });
  const [{ name: model, window }] = models;
  live.write({ type: 'run_start', run, queryId: query, depth, cwd, model, window, scripted });
  announceEntries(live, failed.map(hookFailureNotice));
  for (const notice of news) live.write({ type: 'notice', notice });
  const about = { ...runFields(config), attempt: number };
  for (const { hook, detail } of failed) log('warn', `hook ${hook} at the start of the session: ${detail}`, about);
  await live.end({ type: 'fate', fate: 'done' });
}

/**
 * Looks for rules that name no tool, which guard nothing. Where a tool has nearly that name, the
 * rule is a mistake; else the tool may come later, or belong to other workers, and one warning is
 * logged.
 */
function checkRuleNames(
  { defaults, tools, log }: Deps,
  options: RunOptions,
  warned: RecentMap<string, true>,
): { readonly mistaken?: string } {
  // A rule for another agent's tool is no mistake because this one has a tool named like it.
  const { outsideTools: _, mcpServers: __, ...others } = options;
  const own = tools.definitionsOf(others).map(({ name }) => name);
  // A rule about it holds, whether it is offered or not.
  const names = own.includes(WEB_SEARCH) ? own : [...own, WEB_SEARCH];
  const rules = joinRules(defaults.permissions, options.permissions);
  const there = `there are ${own.join(', ')}`;
  const mistaken = mistakenRule(rules, names);
  if (mistaken !== undefined) return { mistaken: `${mistaken} (${there})` };
  const brought = tools.definitionsOf(options).map(({ name }) => name);
  const idle = findIdleRules(rules, [...names, ...brought]);
  const warning = idle.length === 0 ? undefined : `${describeIdle(idle)}: ${there}`;
  if (warning !== undefined && !warned.get(warning)) log('warn', warning);
  if (warning !== undefined) warned.set(warning, true);
  return {};
}

function describeIdle([first = '', ...others]: readonly string[]): string {
  if (others.length === 0)
    return `permission rule ${quoteRule(first)} names no tool of this worker, so that it does nothing`;
  const listed = [first, ...others].slice(0, MOST_SHOWN).map(quoteRule);
  const more = others.length + 1 - listed.length;
  const list = more === 0 ? listed.join(', ') : `${listed.join(', ')} and ${more} more`;
  return `permission rules ${list} name no tools of this worker, so that they do nothing`;
}

const MOST_SHOWN = 20;
const quoteRule = (rule: string): string => JSON.stringify(rule.slice(0, 80));

function findWrongSchema({ outsideTools = [] }: RunOptions): string | undefined {
  return outsideTools
    .map(({ name, input_schema }) => schemaProblem(input_schema, `input schema of ${name}`))
    .find((problem) => problem !== undefined);
}

/** Refuses a run without a tool that its caller names, because it would find out late. */
function findMissingTool(
  { tools, servers }: Deps,
  { tools: wanted = [], ...forms }: RunOptions,
  maySearch: boolean,
): string | undefined {
  const own = tools.definitionsOf(forms).map(({ name }) => name);
  const names = maySearch && !own.includes(WEB_SEARCH) ? [...own, WEB_SEARCH] : own;
  // A server may be away, and its tools come and go.
  const serverNames = [...(servers?.names ?? []), ...(forms.mcpServers ?? []).map((server) => server.name)];
  const isOfServer = (name: string): boolean =>
    name === RESOURCES ||
    serverNames.some((server) => name === `${SERVER_PREFIX}${server}` || findServerName(name) === server);
  const missing = wanted.find((name) => !names.includes(name) && !isOfServer(name));
  if (missing === undefined) return undefined;
  if (missing === WEB_SEARCH)
    return `this worker has no tool "${WEB_SEARCH}": searches of the web are offered by "webSearch" of its configuration`;
  const near = nearName(missing, names);
  const hint = near === undefined ? '' : `did you mean ${near}? `;
  return `this worker has no tool ${JSON.stringify(missing.slice(0, 80))}: ${hint}(there are ${names.join(', ')})`;
}

/**
 * Drops the search when a rule would ask about it: the API searches by itself, so a person could
 * not be asked about one search. Such a rule removes the tool like one that denies, whatever its
 * pattern (L88).
 */
function restrictSearch(
  search: WebSearchSettings | undefined,
  { deny = [], ask = [] }: PermissionRules = {},
): WebSearchSettings | undefined {
  return [...deny, ...ask].some((rule) => isAboutSome(rule, [WEB_SEARCH])) ? undefined : search;
}

function warnOfSearch(
  { log }: Deps,
  [{ name, webSearch }]: RunConfig['models'],
  warned: RecentMap<string, true>,
): void {
  if (webSearch === true) return;
  const warning = `${name} is not offered searches of the web: nothing says that its API has them`;
  if (!warned.get(warning)) log('warn', warning);
  warned.set(warning, true);
}

function workerRules({ defaults: { permissions } }: Deps): Partial<RunOptions> {
  return permissions === undefined ? {} : { permissions };
}

/**
 * Adds a caller's rules to the worker's. A caller takes none away: of all that match, the strictest
 * counts (L55).
 */
function joinRules(own: PermissionRules = {}, added: PermissionRules = {}): PermissionRules {
  const both = (list: keyof PermissionRules): readonly string[] => [...(own[list] ?? []), ...(added[list] ?? [])];
  return { deny: both('deny'), ask: both('ask'), allow: both('allow') };
}

/** Names the host where machines share a store. */
function describeMissingFolder({ host }: Deps, { options, onHost }: OpenRun): string | undefined {
  if (!host) return undefined;
  if (onHost)
    return `the working directory ${options.cwd} is gone from host ${host.name}, where this session worked; if it has moved, name its new place (\`--cwd DIR\`)`;
  return `no worker that took this run has the folder ${options.cwd}: start one on the machine that has it (\`perdure worker\`), and send the message again`;
}

/**
 * Leaves the run to another worker where machines share a store: a folder that is missing here may
 * be on another machine, and a host that drains begins nothing.
 */
function leaveToAnother({ host }: Deps, { number }: Attempt, { onHost }: OpenRun, why: string): void {
  if (!host || onHost) return;
  leaveFolderToOthers(number, `host ${host.name} ${why}: a worker of a host that has the folder is waited for`);
}
