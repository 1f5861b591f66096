// Binds the calls of replies to their runs: what a call needs of its run, of the worker and of the
// registry of tools.
import type { ToolContextState } from '../../workflows/contract/activities.ts';
import { present } from '../../workflows/contract/present.ts';
import type { ToolEnv } from '../../workflows/contract/tool-env.ts';
import type { RunConfig } from '../../store/configuration.ts';
import type { Observe } from '../../store/live/observe.ts';
import type { Store } from '../../store/values/store.ts';
import type { SeenByTools } from '../../store/view/seen-files.ts';
import { thisHost, type Host } from '../../system/process/host.ts';
import { copyForObservers } from '../../tools/observed-input.ts';
import type { ToolRegistry } from '../../tools/registry.ts';
import type { HookRunner } from '../hooks/hooks.ts';
import { CallInRun, type SmallModelFactory } from './bound-call.ts';
import type { CallEnvironment, MessageReader } from './call-environment.ts';
import type { CallRunner } from './call-port.ts';
import { closeTools } from './close-tools.ts';
import type { CallSettings } from './prepare.ts';

type RunnerOptions = {
  readonly ofHost?: Store;
  readonly host?: Host;
  readonly observe?: Observe;
  /** The worker's own variables for tools; they are never stored. */
  readonly toolEnv?: ToolEnv;
  /** Runs are traced: tools are told which span they are a part of. */
  readonly traced?: boolean;
  /** Absent: no tool asks a model. */
  readonly small?: SmallModelFactory;
  readonly seenFiles?: SeenByTools;
  readonly readMessages?: MessageReader;
};

export function createCallRunner(
  store: Store,
  registry: ToolRegistry,
  hooks: HookRunner,
  {
    ofHost = store,
    host = thisHost(),
    observe,
    toolEnv,
    traced = false,
    small,
    seenFiles,
    readMessages,
  }: RunnerOptions = {},
): CallRunner {
  const ofWorker = { registry, hooks, store, ofHost, host, traced, ...present({ seenFiles, readMessages }) };
  return {
    get definitions() {
      return registry.definitions();
    },
    refresh: async () => await registry.refresh?.(),
    closeRun: (config, run) => closeTools(registry, config, run),
    bind(config, block, context) {
      const { session, queryId, depth, traceparent } = config;
      const environment: CallEnvironment = {
        ...pickSettings(config, context),
        ...ofWorker,
        env: { ...toolEnv, ...config.toolEnv },
        session,
        queryId,
        depth,
        ...(traceparent && { traceparent }),
      };
      return new CallInRun(environment, config, block, { observe, small });
    },
    copyInput: ({ name, input }) => copyForObservers(registry.get(name), input),
  };
}

function pickSettings(
  { mode, permissions = {}, cwd, folders, tools, toolNames }: RunConfig,
  context: ToolContextState = {},
): CallSettings {
  const { cwd: dir, allowedTools, granted } = context;
  return {
    mode,
    permissions: granted ? { ...permissions, allow: [...(permissions.allow ?? []), ...granted] } : permissions,
    cwd,
    ...(folders && { folders }),
    ...present({ tools, toolNames, dir, allowedTools }),
  };
}
