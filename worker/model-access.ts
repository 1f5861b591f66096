// Opens the model of this worker: the real API with a key, another server with ANTHROPIC_BASE_URL,
// else the scripted model.
import type { Anthropic, ClientOptions } from '@anthropic-ai/sdk';
import { anthropicModel } from '../activities/model/stream/stream.ts';
import type { ModelPort } from '../activities/model-deps.ts';
import { isKeyless } from './keyless.ts';
import type { AskServer } from '../models/models.ts';
import { CREDENTIAL_HEADER, type Network } from '../system/network.ts';
import { openNetwork } from '../connection/network/network.ts';
import { runOnce } from '../system/async.ts';
import { modelSettings } from './model-settings.ts';
import { UnusableReply } from '../activities/model/stream/accumulate.ts';

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

// Limits the bytes of one answer of a model server, after decompression: a server that streams
// without end, or a few kilobytes that unpack into gigabytes, end their attempt with a sentence
// (L14), and not the worker.
type Fetch = NonNullable<ClientOptions['fetch']>;

/** Bytes. The largest reply that a model can make, thinking and all, is a few million. */
export const MOST_OF_ANSWER = 32 * 1024 * 1024;

/** Bytes without the end of an event: the SDK looks at all of them again with each chunk. */
export const MOST_OF_EVENT = 4 * 1024 * 1024;

export function limitFetch(fetch: Fetch): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.body === null) return response;
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(limitBytes()), { status, statusText, headers });
  };
}

/**
 * Makes a stream that fails beyond the limits. An error of a transform ends its source as well: the
 * connection is closed.
 */
function limitBytes(): TransformStream<Uint8Array, Uint8Array> {
  let total = 0;
  let event = 0;
  /**
   * The last bytes of the chunk before: some proxies send line by line, and the end of an event in
   * two chunks.
   */
  let last = new Uint8Array();
  return new TransformStream({
    transform(chunk, controller) {
      total += chunk.length;
      const end = endOfEvent(last, chunk);
      last = Buffer.concat([last, chunk.subarray(-2)]).subarray(-2);
      event = end < 0 ? event + chunk.length : chunk.length - end;
      if (total > MOST_OF_ANSWER) controller.error(tooLarge('the answer', MOST_OF_ANSWER));
      else if (event > MOST_OF_EVENT) controller.error(tooLarge('one event of the answer', MOST_OF_EVENT));
      else controller.enqueue(chunk);
    },
  });
}

/** Returns where in `chunk`, which follows `last`, the last event ends; -1 for none. */
function endOfEvent(last: Uint8Array, chunk: Uint8Array): number {
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  const within = Math.max(bytes.lastIndexOf('\n\n'), bytes.lastIndexOf('\n\r\n'));
  if (within >= 0) return within;
  return /\n\r?\n/.test(Buffer.concat([last, bytes.subarray(0, 2)]).toString('latin1')) ? 0 : -1;
}

function tooLarge(what: string, most: number): UnusableReply {
  return new UnusableReply(`${what} is larger than ${most / 1024 / 1024} MiB, and no reply of a model is that large`);
}

// Marks answers that refuse the key of a worker with the variable that it came from: the server's
// own words say nothing that a person could look for.
type Credential = { readonly apiKey: string | null; readonly authToken: string | null };

/** A header of that name from a server is removed. */
function nameCredential(fetch: Fetch, { apiKey, authToken }: Credential): Fetch {
  const name = authToken !== null ? 'ANTHROPIC_AUTH_TOKEN' : apiKey === 'none' ? '' : 'ANTHROPIC_API_KEY';
  return async (input, init) => {
    const response = await fetch(input, init);
    const { status, statusText, body } = response;
    if (status !== 401 && !response.headers.has(CREDENTIAL_HEADER)) return response;
    const headers = new Headers(response.headers);
    headers.delete(CREDENTIAL_HEADER);
    const { host } = new URL(input instanceof Request ? input.url : input);
    if (status === 401) headers.set(CREDENTIAL_HEADER, `${name}@${host}`);
    return new Response(body, { status, statusText, headers });
  };
}
