// How this worker reaches the model: the real API with a key, another server with ANTHROPIC_BASE_URL, else the scripted model.
import Anthropic from '@anthropic-ai/sdk';
import { boundedFetch } from '../activities/model/bounded-fetch.ts';
import { anthropicModel, type ModelPort } from '../activities/model/stream.ts';
import { isKeyless } from './keyless.ts';
import { modelSettings } from './model-settings.ts';
import { demoScript, startScriptedModel } from './scripted-model/index.ts';

export { isKeyless, SCRIPTED_NOTICE } from './keyless.ts';

export type ModelAccess = {
  readonly model: ModelPort;
  /** Runs say that no real model is behind them. */
  readonly scripted: boolean;
  close(): Promise<void>;
};

/** Throws SetupProblem for a key or an address that no request can be made with. */
export async function modelAccess(env: NodeJS.ProcessEnv): Promise<ModelAccess> {
  if (isKeyless(env)) {
    const server = await startScriptedModel({ script: demoScript, keep: 'none' });
    const client = new Anthropic({ apiKey: 'scripted', authToken: null, baseURL: server.url, logLevel: 'off' });
    return { model: anthropicModel(client), scripted: true, close: server.close };
  }
  // What goes wrong is said by the loop, once.
  const client = new Anthropic({ ...modelSettings(env), logLevel: 'off', fetch: boundedFetch(fetch) });
  return { model: anthropicModel(client), scripted: false, close: () => Promise.resolve() };
}
