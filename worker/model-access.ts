// How this worker reaches the model: the real API with a key, another server with ANTHROPIC_BASE_URL, else the scripted model.
import Anthropic from '@anthropic-ai/sdk';
import { anthropicModel, type ModelPort } from '../activities/model/stream.ts';
import { isKeyless } from './keyless.ts';
import { demoScript, startScriptedModel } from './scripted-model/index.ts';

export { isKeyless, SCRIPTED_NOTICE } from './keyless.ts';

export type ModelAccess = {
  readonly model: ModelPort;
  /** Runs say that no real model is behind them. */
  readonly scripted: boolean;
  close(): Promise<void>;
};

export async function modelAccess(env: NodeJS.ProcessEnv): Promise<ModelAccess> {
  if (isKeyless(env)) {
    const server = await startScriptedModel({ script: demoScript, keep: 'none' });
    const client = new Anthropic({ apiKey: 'scripted', authToken: null, baseURL: server.url, logLevel: 'off' });
    return { model: anthropicModel(client), scripted: true, close: server.close };
  }
  const client = new Anthropic({
    ...credential(env),
    // What goes wrong is said by the loop, once.
    logLevel: 'off',
    ...(env.ANTHROPIC_BASE_URL ? { baseURL: env.ANTHROPIC_BASE_URL } : {}),
  });
  return { model: anthropicModel(client), scripted: false, close: () => Promise.resolve() };
}

/** The SDK wants exactly one, and takes an empty one for one; with both set it is the key, as the SDK itself would choose. */
function credential(env: NodeJS.ProcessEnv): { readonly apiKey: string | null; readonly authToken: string | null } {
  const key = env.ANTHROPIC_API_KEY?.trim();
  const token = env.ANTHROPIC_AUTH_TOKEN?.trim();
  if (!key && token) return { apiKey: null, authToken: token };
  // A server of one's own may want no key.
  return { apiKey: key || 'none', authToken: null };
}
