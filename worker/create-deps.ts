// From what a worker is configured with to what its activities need.
import type { Deps, ReplyObserver, RunDefaults } from '../activities/deps.ts';
import { fileLive } from '../activities/live/file-live.ts';
import { configReader } from '../activities/run-config.ts';
import { builtinTools } from '../activities/tools/builtin/builtin-tools.ts';
import { callRunner } from '../activities/tools/runner.ts';
import { createRegistry } from '../activities/tools/registry.ts';
import type { Tool } from '../activities/tools/tool.ts';
import { probeSandbox, type Sandbox } from '../activities/tools/sandbox.ts';
import { fileStore } from '../activities/transcript/file-store.ts';
import { createTranscripts } from '../activities/transcript/transcripts.ts';
import { readOutcome } from '../activities/tools/outcome-record.ts';
import { runDefaults } from './run-defaults.ts';
import type { ModelAccess } from './model-access.ts';

export type DepsSettings = {
  readonly storeDir: string;
  readonly liveDir: string;
  /** Hidden from tools. */
  readonly dataDir: string;
  readonly access: ModelAccess;
  readonly defaults?: Partial<RunDefaults>;
  /** Beside the built-in ones. */
  readonly tools?: readonly Tool[];
  /** Post-sampling hooks (L21). */
  readonly observers?: readonly ReplyObserver[];
  readonly warn: (message: string) => void;
};

export async function createDeps(settings: DepsSettings): Promise<Deps & { readonly sandbox: Sandbox }> {
  const { storeDir, liveDir, dataDir, access, defaults, tools = [], warn } = settings;
  const store = fileStore({ dir: storeDir });
  const sandbox = await probeSandbox();
  const registry = createRegistry([...builtinTools({ sandbox, dataDir }), ...tools]);
  return {
    store,
    live: fileLive({ dir: liveDir, warn }),
    transcripts: createTranscripts(
      store,
      async (session, key) => (await readOutcome(store, session, key))?.outcome ?? null,
    ),
    config: configReader(store),
    model: access.model,
    scripted: access.scripted,
    tools: callRunner(store, registry),
    observers: settings.observers ?? [],
    warn,
    defaults: { ...runDefaults, ...defaults },
    now: Date.now,
    random: Math.random,
    sandbox,
  };
}
