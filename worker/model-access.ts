// How this worker reaches the model: the real API with a key, another server with ANTHROPIC_BASE_URL, else the scripted model.
import Anthropic from '@anthropic-ai/sdk';
import { anthropicModel, type ModelPort } from '../activities/model/stream.ts';
import { SetupProblem } from './embedded/setup-problem.ts';
import { isKeyless } from './keyless.ts';
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
  const baseURL = address(env.ANTHROPIC_BASE_URL?.trim());
  const client = new Anthropic({
    ...credential(env),
    // What goes wrong is said by the loop, once.
    logLevel: 'off',
    ...(baseURL === undefined ? {} : { baseURL }),
  });
  return { model: anthropicModel(client), scripted: false, close: () => Promise.resolve() };
}

/** The SDK wants exactly one, and takes an empty one for one; with both set it is the key, as the SDK itself would choose. */
function credential(env: NodeJS.ProcessEnv): { readonly apiKey: string | null; readonly authToken: string | null } {
  const key = sendable('ANTHROPIC_API_KEY', env.ANTHROPIC_API_KEY?.trim());
  const token = sendable('ANTHROPIC_AUTH_TOKEN', env.ANTHROPIC_AUTH_TOKEN?.trim());
  if (!key && token) return { apiKey: null, authToken: token };
  // A server of one's own may want no key.
  return { apiKey: key || 'none', authToken: null };
}

/** Of a header that cannot be sent, the failure has the value in it: it would be stored with every run. */
function sendable(name: string, value: string | undefined): string | undefined {
  if (value === undefined || /^[\x21-\x7e]*$/.test(value)) return value;
  throw new SetupProblem(`${name} has a space, a line end or a letter that no key has: set it to the key alone`);
}

/** As for a key: a password in it would be stored with every failure. */
function address(url: string | undefined): string | undefined {
  if (url === undefined || url === '') return undefined;
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !['http:', 'https:'].includes(parsed.protocol)) {
    throw new SetupProblem('ANTHROPIC_BASE_URL is no http or https address: correct it or leave it out');
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw new SetupProblem('ANTHROPIC_BASE_URL has a name or password in it: give a key in ANTHROPIC_API_KEY instead');
  }
  return url;
}
