// Opens the model of this worker: the real API with a key, another server with ANTHROPIC_BASE_URL,
// else the scripted model.
import type { Anthropic, ClientOptions } from '@anthropic-ai/sdk';
import { anthropicModel } from '../activities/model/stream/stream.ts';
import type { ModelPort } from '../activities/deps.ts';
import { isKeyless } from './keyless.ts';
import type { AskServer } from '../models/server-facts.ts';
import type { Network } from '../system/network.ts';
import { openNetwork } from '../connection/network/network.ts';
import { runOnce } from '../system/async.ts';
import { limitFetch } from './limit-fetch.ts';
import { nameCredential } from './name-credential.ts';
import { modelSettings } from './model-settings.ts';

export { isKeyless } from './keyless.ts';

export type ModelAccess = {
  readonly model: ModelPort;
  /** True when replies are scripted; runs then say that no real model is behind them. */
  readonly scripted: boolean;
  /** True for the API of the models' maker itself (X2). */
  readonly official?: boolean;
  /** Asks the server about models by the Models API; absent: it is not asked. */
  readonly ask?: AskServer;
  /** Loads what the first request needs, which a start does not wait for. */
  prepare(): void;
  close(): Promise<void>;
};

/** Throws SetupProblem for a key, an address or a proxy that no request can be made with. */
export async function openModelAccess(env: NodeJS.ProcessEnv, network?: Network): Promise<ModelAccess> {
  if (isKeyless(env)) return openScripted();
  const { client, official, close } = openClient(env, network);
  return { ...portTo(client), scripted: false, official, ask: askModels(client), close };
}

async function openScripted(): Promise<ModelAccess> {
  const { demoScript, startScriptedModel } = await import('../scripted-model/index.ts');
  const server = await startScriptedModel({ script: demoScript, keep: 'none' });
  const client = loadClient({ apiKey: 'scripted', authToken: null, baseURL: server.url, logLevel: 'off' });
  return { ...portTo(client), scripted: true, close: server.close };
}

type LoadClient = () => Promise<Anthropic>;

/** The SDK has some 300 files: they load with the first request, or when a worker polls. */
function loadClient(options: ClientOptions): LoadClient {
  return runOnce(async () => {
    const { default: Client } = await import('@anthropic-ai/sdk');
    return new Client(options);
  });
}

function portTo(client: LoadClient): Pick<ModelAccess, 'model' | 'prepare'> {
  return {
    model: async (...request) => anthropicModel(await client())(...request),
    prepare: () => void client().catch(() => undefined),
  };
}

/**
 * Opens a client of the API. Without `network` it opens one of its own. Throws SetupProblem for a
 * key, an address or a proxy that no request can be made with.
 */
export function openClient(
  env: Readonly<Record<string, string | undefined>>,
  network?: Network,
): { readonly client: LoadClient; readonly official: boolean; close(): Promise<void> } {
  const settings = modelSettings(env);
  const own = network ? undefined : openNetwork(env);
  const { fetch } = network ?? own ?? globalThis;
  // The loop reports failures, once.
  const client = loadClient({ ...settings, logLevel: 'off', fetch: limitFetch(nameCredential(fetch, settings)) });
  return { client, official: isOfficial(settings.baseURL), close: async () => own?.close() };
}

/** Tells whether an address is the API of the models' maker, as an absent one is. */
function isOfficial(baseURL: string | undefined): boolean {
  return baseURL === undefined || new URL(baseURL).hostname === 'api.anthropic.com';
}

/** Asks about a model without retries: an answer that does not come now may come tomorrow. */
export function askModels(client: LoadClient): AskServer {
  return async (name, signal) => (await client()).models.retrieve(name, null, { signal, maxRetries: 0 });
}
