// Turns the settings of a worker into the dependencies of its activities.
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Log, LogFields } from '../system/log.ts';
import type { Observe } from '../store/live/observe.ts';
import type { Redact } from '../system/redact.ts';
import { createAttachments } from '../activities/attachments/attachments.ts';
import type { AttachmentProvider } from '../activities/attachments/prefetch.ts';
import type { AfterStopHandler, Deps, HostMeans, RunDefaults } from '../activities/deps.ts';
import type { HookConfig } from '../activities/hooks/hook-config.ts';
import { createHookRunner } from '../activities/hooks/hook-runner.ts';
import type { Network } from '../system/network.ts';
import type { Live } from '../store/live/follow.ts';
import { openLive } from '../store/live/open-live.ts';
import { createMemory } from '../activities/memory/memory.ts';
import { createSmallModelFactory } from '../activities/compaction/small-model.ts';
import type { McpServers } from '../tools/mcp/servers.ts';
import { createConfigReader } from '../store/configuration.ts';
import { readSkillSettings } from '../tools/builtin/files/skills.ts';
import type { BuiltinOptions, WebSettings } from '../tools/builtin/files/options.ts';
import type { SandboxConfig } from './config/schema-parts.ts';
import { mayRunUnconfined } from './config/unconfined.ts';
import { backgroundRoot } from '../system/process/background-files.ts';
import { createBackground } from '../tools/builtin/shell/background.ts';
import { AttachedFiles } from '../tools/builtin/files/attached-files.ts';
import { createBuiltinTools } from '../tools/builtin/builtin-tools.ts';
import { createRunRegistries } from '../tools/builtin/run-tools.ts';
import { createRunServers } from '../tools/mcp/run-servers.ts';
import { addFindTools } from '../tools/find-tools.ts';
import { createChangingRegistry, createRegistry, type ToolRegistry, type ToolServers } from '../tools/registry.ts';
import { createCallRunner } from '../activities/calls/call-runner.ts';
import type { Tool } from '../tools/tool.ts';
import { pipePlace } from '../system/process/pipes.ts';
import { createPreparedSandboxes } from '../system/process/prepared-sandboxes.ts';
import { findPlaces } from '../system/process/places.ts';
import { probeSandbox, type Sandbox } from '../tools/sandbox.ts';
import { DEFAULT_CAPS, type SnapshotSettings } from '../store/snapshots/take-snapshot.ts';
import { WorkerSnapshots } from '../activities/snapshots/snapshots.ts';
import { createWorktrees } from '../activities/worktrees/worktrees.ts';
import { WorkQueues } from '../store/sandbox/queue.ts';
import { openMemoryStores } from '../store/memories/memories.ts';
import { Skills } from '../store/values/skills.ts';
import { openStore } from '../store/values/open-store.ts';
import { Vaults } from '../store/vaults/vaults.ts';
import { createSeenByTools } from '../store/view/seen-files.ts';
import { createTranscripts } from '../store/transcript/transcripts.ts';
import { readOutcome } from '../activities/calls/journal.ts';
import type { ManagedSettings, ToolSource } from './config/config.ts';
import { watchStore } from './monitor/watchers.ts';
import { createRedactor } from './redact.ts';
import type { KeyRing } from '../connection/payloads/key-ring.ts';
import { runDefaults } from './config/defaults.ts';
import type { ModelAccess } from './model-access.ts';
import { createModels } from '../models/models.ts';
import { keptViewBytes, memoryThereIs } from './follow-memory.ts';
import { findSessionHost, HOST_GRACE_MS, type HostSettings, readWorkspaces } from './config/session-host.ts';
import { HostedSessions } from '../store/hosted-sessions.ts';
import { isQueueServed } from '../connection/worker-polls.ts';
import type { SessionHost } from '../workflows/contract/session.ts';
import type { ToolEnv } from '../workflows/contract/tool-env.ts';

type DepsSettings = {
  readonly storePlace: string;
  /** The keys that seal the records of a bucket. */
  readonly storeKeys?: KeyRing | undefined;
  /** The keys that seal payloads, and secrets of vaults. */
  readonly keys?: KeyRing | undefined;
  readonly liveDir: string;
  /** The address of a Redis to use instead of the folder. */
  readonly liveUrl?: string | undefined;
  /** The data folder, which is hidden from tools. */
  readonly dataDir: string;
  /** The host of the sessions; absent: found where the store is shared, else none. */
  readonly host?: SessionHost | undefined;
  readonly hosts?: HostSettings | undefined;
  readonly access: ModelAccess;
  readonly defaults?: Partial<RunDefaults>;
  /** Tools in addition to the built-in ones; a function is asked again between iterations (L44). */
  readonly tools?: ToolSource | undefined;
  readonly mcpServers?: McpServers | undefined;
  /** Variables for commands and other tools, kept in this process. */
  readonly toolEnv?: ToolEnv | undefined;
  readonly webFetch?: WebSettings | undefined;
  readonly managed?: ManagedSettings | undefined;
  readonly sandbox?: SandboxConfig | undefined;
  readonly skills?: readonly string[] | undefined;
  readonly workspaceSkills?: boolean | readonly string[] | undefined;
  readonly snapshots?: SnapshotSettings | undefined;
  readonly hooks?: HookConfig | undefined;
  readonly afterStop?: readonly AfterStopHandler[] | undefined;
  readonly attachments?: readonly AttachmentProvider[] | undefined;
  /** The environment, of which hook commands get an allow-listed part. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
  /** Absent: Node's own network. */
  readonly network?: Network | undefined;
  /** Absent: observations are dropped. */
  readonly observe?: Observe | undefined;
  /** True when runs are traced: tools are told which span they are a part of. */
  readonly traced?: boolean;
};

export async function createDeps(
  settings: DepsSettings,
): Promise<Deps & { readonly live: Live; readonly sandbox: Sandbox }> {
  const { storePlace, dataDir, access, defaults, tools = [], env, network, observe = () => {} } = settings;
  const redact = createRedactor(env);
  const log: Log = (level, message, fields) => settings.log(level, redact(message), redactStack(fields, redact));
  const opened = openStore({ ...settings, network: network && (() => network) });
  const store = watchStore(opened.store, observe);
  const ofHost = opened.ofHost === opened.store ? store : opened.ofHost;
  const unconfined = mayRunUnconfined(settings.sandbox, env);
  const sandbox = await probeSandbox({ places: findPlaces(env), unconfined });
  const chosen: RunDefaults = { ...runDefaults, ...defaults };
  const background = createBackground({ folder: backgroundRoot(dataDir), hasPidNamespace: sandbox.kind !== 'group' });
  const pipes = pipePlace(sandbox.programs, dataDir);
  const prepared = sandbox.kind === 'bwrap' ? createPreparedSandboxes(pipes) : undefined;
  const web = settings.webFetch ? { web: settings.webFetch } : {};
  const { agents: keyAgents, sockets } = settings.sandbox ?? {};
  const skills = readSkillSettings(settings);
  const builtin: BuiltinOptions = {
    sandbox,
    dataDir,
    agents: chosen.agents,
    background,
    prepared,
    network,
    attached: new AttachedFiles(store, dataDir),
    ...web,
    ...(keyAgents && { keyAgents }),
    ...(sockets && { sockets }),
    ...(skills && { skills }),
    openMemoryStore: openMemoryStores(store, Date.now),
    uploadedSkills: new Skills(store, Date.now),
  };
  const own = createBuiltinTools(builtin);
  const { registry: all, servers } = await addServers(await openRegistry(own, tools, log), {
    ...settings,
    sandbox,
    log,
  });
  const registry = addFindTools(all);
  const runServers = createRunServers({
    ...settings,
    sandbox,
    log,
    known: settings.managed?.mcpServers ?? {},
    vaults: new Vaults({ store, now: Date.now, keys: settings.keys }),
    fakeIpRanges: settings.webFetch?.fakeIpRanges,
  });
  const readConfig = createConfigReader(store);
  const hooks = createHookRunner(settings.hooks ?? {}, {
    env,
    pipes,
    folder: join(dataDir, 'told'),
    hold: {
      refusal: sandbox.refusal,
      spares: sandbox.kind !== 'group',
      wrap: (argv, reach) => sandbox.wrap(argv, { ...reach, dataDir }),
    },
  });
  const transcripts = createTranscripts(
    store,
    async (session, key) => (await readOutcome(store, { session, key }))?.outcome ?? null,
    keptViewBytes(memoryThereIs()),
  );
  const { model, models: configured } = chosen;
  const models = createModels({ ...access, model, configured });
  const asking = { model: access.model, models, log, observe, redact, now: Date.now };
  const { consolidateMemoryAfter: consolidateAfter } = chosen;
  const memory = createMemory({ ...asking, log, transcripts, dataDir, consolidateAfter });
  const providers = [...(settings.attachments ?? []), memory.provider];
  const runner = createCallRunner(store, registry, hooks, {
    registryOf: createRunRegistries(all, builtin, runServers),
    ofHost,
    observe,
    traced: settings.traced ?? false,
    small: createSmallModelFactory(asking),
    seenFiles: createSeenByTools(transcripts.view),
    readMessages: async (session, head) => {
      const { messages } = await transcripts.messages({ view: await transcripts.view(session, head), added: [] });
      return messages.slice(
        0,
        messages.findLastIndex(({ role }) => role === 'assistant'),
      );
    },
    ...(settings.toolEnv && { toolEnv: settings.toolEnv }),
  });
  const { snapshots } = settings;
  const { include = [], diskBytes, ...bounds } = typeof snapshots === 'object' ? snapshots : {};
  const setting = typeof snapshots === 'object' ? true : snapshots;
  const capturing = {
    setting,
    caps: { ...DEFAULT_CAPS, ...bounds },
    include,
    diskBytes,
    env,
    home: env['HOME'] || homedir(),
  };
  const { webhooks: endpoints } = settings.managed ?? {};
  const host = settings.host ?? findSessionHost(env, storePlace, dataDir);
  const hosted = new HostedSessions(dataDir);
  const workspaces = readWorkspaces(env);
  return {
    store,
    live: openLive(settings, log),
    transcripts,
    config: async (hash) => {
      const config = await readConfig(hash);
      await runServers.load(config.mcpServers);
      return config;
    },
    model: access.model,
    models,
    scripted: access.scripted,
    tools: runner,
    ...(servers && { servers }),
    runServers,
    background,
    ...(prepared && { prepared }),
    worktrees: createWorktrees({ store, sandbox, dataDir, host }),
    snapshots: new WorkerSnapshots({
      store,
      storeId: () => opened.id(),
      sandbox,
      dataDir,
      host,
      ...capturing,
      tools: runner,
      log,
      now: Date.now,
    }),
    hooks,
    ...(endpoints && { webhooks: { endpoints, fetch: network?.fetch ?? fetch } }),
    ...(skills && { skills }),
    attachments: createAttachments(providers, log, { dataDir, background, store, ...(skills && { skills }) }),
    afterStop: settings.afterStop ?? [],
    memory,
    log,
    observe,
    redact,
    dataDir,
    places: sandbox.places,
    host,
    ...(host && { hosts: createHostMeans(hosted, settings.hosts) }),
    ...(workspaces !== undefined && { workspaces }),
    defaults: chosen,
    work: new WorkQueues({ store, now: Date.now }),
    now: Date.now,
    random: Math.random,
    sandbox,
  };
}

function createHostMeans(hosted: HostedSessions, { graceMs = HOST_GRACE_MS }: HostSettings = {}): HostMeans {
  let isLeaving = false;
  const leaving = { isLeaving: () => isLeaving, beginLeaving: () => void (isLeaving = true) };
  return { hosted, graceMs, isAtWork: isQueueServed, ...leaving };
}

/** Opens the registry. The first list of a changing one is loaded before the first run opens. */
async function openRegistry(own: readonly Tool[], others: ToolSource, log: Log): Promise<ToolRegistry> {
  if (typeof others !== 'function') return createRegistry([...own, ...others]);
  const changing = createChangingRegistry(async () => [...own, ...(await others())], { initial: own, log });
  await changing.refresh();
  return changing;
}

type ServersOptions = Pick<DepsSettings, 'mcpServers' | 'env' | 'dataDir' | 'log' | 'network'> & {
  readonly sandbox: Sandbox;
};

async function addServers(
  base: ToolRegistry,
  { mcpServers = {}, ...how }: ServersOptions,
): Promise<{ readonly registry: ToolRegistry; readonly servers?: ToolServers }> {
  if (Object.keys(mcpServers).length === 0) return { registry: base };
  const { openServers } = await import('../tools/mcp/open-servers.ts');
  return openServers(mcpServers, base, how);
}

function redactStack({ stack, ...fields }: LogFields = {}, redact: Redact): LogFields {
  return stack === undefined ? fields : { ...fields, stack: redact(stack) };
}
