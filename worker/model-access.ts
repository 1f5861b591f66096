// Opens the model of this worker: the real API with a key, another server with ANTHROPIC_BASE_URL,
// else the scripted model.
import Anthropic from '@anthropic-ai/sdk';
import { anthropicModel } from '../activities/model/stream/stream.ts';
import type { ModelPort } from '../activities/deps.ts';
import { isKeyless } from './keyless.ts';
import type { AskServer } from '../models/server-facts.ts';
import type { Network } from '../system/network.ts';
import { openNetwork } from '../connection/network/network.ts';
import { demoScript, startScriptedModel } from '../scripted-model/index.ts';
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
  close(): Promise<void>;
};

/** Throws SetupProblem for a key, an address or a proxy that no request can be made with. */
export async function openModelAccess(env: NodeJS.ProcessEnv, network?: Network): Promise<ModelAccess> {
  if (isKeyless(env)) {
    const server = await startScriptedModel({ script: demoScript, keep: 'none' });
    const client = new Anthropic({ apiKey: 'scripted', authToken: null, baseURL: server.url, logLevel: 'off' });
    return { model: anthropicModel(client), scripted: true, close: server.close };
  }
  const { client, official, close } = openClient(env, network);
  return { model: anthropicModel(client), scripted: false, official, ask: askModels(client), close };
}

/**
 * Opens a client of the API. Without `network` it opens one of its own. Throws SetupProblem for a
 * key, an address or a proxy that no request can be made with.
 */
export function openClient(
  env: Readonly<Record<string, string | undefined>>,
  network?: Network,
): { readonly client: Anthropic; readonly official: boolean; close(): Promise<void> } {
  const settings = modelSettings(env);
  const own = network ? undefined : openNetwork(env);
  const { fetch } = network ?? own ?? globalThis;
  // The loop reports failures, once.
  const client = new Anthropic({ ...settings, logLevel: 'off', fetch: limitFetch(nameCredential(fetch, settings)) });
  return { client, official: isOfficial(settings.baseURL), close: async () => own?.close() };
}

/** Tells whether an address is the API of the models' maker, as an absent one is. */
function isOfficial(baseURL: string | undefined): boolean {
  return baseURL === undefined || new URL(baseURL).hostname === 'api.anthropic.com';
}

/** Asks about a model without retries: an answer that does not come now may come tomorrow. */
export function askModels(client: Anthropic): AskServer {
  return (name, signal) => client.models.retrieve(name, null, { signal, maxRetries: 0 });
}
