// How this worker reaches the model: the real API with a key, another server with
// ANTHROPIC_BASE_URL, else the scripted model.
import Anthropic from '@anthropic-ai/sdk';
import { anthropicModel } from '../activities/model/stream/stream.ts';
import type { ModelPort } from '../activities/deps.ts';
import { isKeyless } from './keyless.ts';
import type { AskServer } from '../models/server-facts.ts';
import type { Network } from '../system/network.ts';
import { openNetwork } from '../connection/network/network.ts';
import { demoScript, startScriptedModel } from '../scripted-model/index.ts';
import { SetupProblem } from '../system/setup-problem.ts';
import { UnusableReply } from '../activities/model/stream/accumulate.ts';

export { isKeyless, SCRIPTED_NOTICE } from './keyless.ts';

export type ModelAccess = {
  readonly model: ModelPort;
  /** Runs say that no real model is behind them. */
  readonly scripted: boolean;
  /** The API of the models' maker itself (X2). */
  readonly official?: boolean;
  /** By the Models API, where the server has it. Absent: it is not asked. */
  readonly ask?: AskServer;
  close(): Promise<void>;
};

/** Throws SetupProblem for a key, an address or a proxy that no request can be made with. */
export async function modelAccess(env: NodeJS.ProcessEnv, network?: Network): Promise<ModelAccess> {
  if (isKeyless(env)) {
    const server = await startScriptedModel({ script: demoScript, keep: 'none' });
    const client = new Anthropic({ apiKey: 'scripted', authToken: null, baseURL: server.url, logLevel: 'off' });
    return { model: anthropicModel(client), scripted: true, close: server.close };
  }
  const { client, official, close } = openClient(env, network);
  return { model: anthropicModel(client), scripted: false, official, ask: askModels(client), close };
}

/**
 * `network`: absent, one of its own. Throws SetupProblem for a key, an address or a proxy that no
 * request can be made with.
 */
export function openClient(
  env: Readonly<Record<string, string | undefined>>,
  network?: Network,
): { readonly client: Anthropic; readonly official: boolean; close(): Promise<void> } {
  const settings = modelSettings(env);
  const own = network ? undefined : openNetwork(env);
  const { fetch } = network ?? own ?? globalThis;
  // The loop reports failures, once.
  const client = new Anthropic({ ...settings, logLevel: 'off', fetch: boundFetch(fetch) });
  return { client, official: isOfficial(settings.baseURL), close: async () => own?.close() };
}

/** Whether an address is the API of the models' maker; absent it is. */
function isOfficial(baseURL: string | undefined): boolean {
  return baseURL === undefined || new URL(baseURL).hostname === 'api.anthropic.com';
}

/** Once: an answer that does not come now may come tomorrow. */
export function askModels(client: Anthropic): AskServer {
  return (name, signal) => client.models.retrieve(name, null, { signal, maxRetries: 0 });
}

// The most bytes that one answer of a model server may have, after decompression: a server that
// streams without end, or a few kilobytes that unpack into gigabytes, end their attempt with a
// sentence (L14), and not the worker.

type Fetch = NonNullable<NonNullable<ConstructorParameters<typeof Anthropic>[0]>['fetch']>;

/** Bytes. The largest reply that a model can make, thinking and all, is a few of these millions. */
export const MOST_OF_ANSWER = 32 * 1024 * 1024;

/** Bytes without the end of an event: the SDK looks at all of them again with each chunk. */
export const MOST_OF_EVENT = 4 * 1024 * 1024;

export function boundFetch(fetch: Fetch): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.body === null) return response;
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(bound()), { status, statusText, headers });
  };
}

/** An error of a transform ends its source as well: the connection is closed. */
function bound(): TransformStream<Uint8Array, Uint8Array> {
  let total = 0;
  let event = 0;
  /**
   * The last bytes of what came before: some proxies send line by line, and the end of an event in
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

/** Where in `chunk`, which follows `last`, the last event ends; -1 for none. */
function endOfEvent(last: Uint8Array, chunk: Uint8Array): number {
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  const within = Math.max(bytes.lastIndexOf('\n\n'), bytes.lastIndexOf('\n\r\n'));
  if (within >= 0) return within;
  return /\n\r?\n/.test(Buffer.concat([last, bytes.subarray(0, 2)]).toString('latin1')) ? 0 : -1;
}

function tooLarge(what: string, most: number): UnusableReply {
  return new UnusableReply(`${what} is larger than ${most / 1024 / 1024} MiB, and no reply of a model is that large`);
}

// Checks what the environment says of the model API. Loads nothing: commands ask here before they
// start anything.

type ModelSettings = {
  readonly apiKey: string | null;
  readonly authToken: string | null;
  readonly baseURL?: string;
};

/** Throws SetupProblem for a key or an address that no request can be made with. */
export function modelSettings(env: Readonly<Record<string, string | undefined>>): ModelSettings {
  const baseURL = address(env['ANTHROPIC_BASE_URL']?.trim());
  return { ...credential(env), ...(baseURL === undefined ? {} : { baseURL }) };
}

/**
 * The SDK wants exactly one, and takes an empty one for one; with both set it is the key, as the
 * SDK itself would choose.
 */
function credential(env: Readonly<Record<string, string | undefined>>): Omit<ModelSettings, 'baseURL'> {
  const key = sendable('ANTHROPIC_API_KEY', env['ANTHROPIC_API_KEY']?.trim());
  const token = sendable('ANTHROPIC_AUTH_TOKEN', env['ANTHROPIC_AUTH_TOKEN']?.trim());
  if (!key && token) return { apiKey: null, authToken: token };
  // A server of one's own may want no key.
  return { apiKey: key || 'none', authToken: null };
}

/**
 * The failure of a header that cannot be sent contains its value, and would be stored with every
 * run.
 */
function sendable(name: string, value: string | undefined): string | undefined {
  if (value === undefined || /^[\x21-\x7e]*$/.test(value)) return value;
  throw new SetupProblem(
    `${name} has a space, a line break or another character that no key has: set it to the key alone`,
  );
}

/** As for a key: a password in it would be stored with every failure. */
function address(url: string | undefined): string | undefined {
  if (url === undefined || url === '') return undefined;
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !['http:', 'https:'].includes(parsed.protocol)) {
    throw new SetupProblem('ANTHROPIC_BASE_URL is not an http or https address: correct it or leave it out');
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw new SetupProblem('ANTHROPIC_BASE_URL has a name or password in it: give a key in ANTHROPIC_API_KEY instead');
  }
  return url;
}
