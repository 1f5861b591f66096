// A model server that answers from a script and speaks the real Messages API: for tests, the
// keyless demo and benches.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ThinkingDisplay } from './answer/message-for.ts';
import { createRequestHandler } from './handle-request.ts';
import { createPromptCache, type CacheOptions } from './prompt-cache.ts';
import { createRecorder, type RequestRetention, type RecordedRequest } from './recorder.ts';
import type { AccountOptions, Script, ScriptData } from './script.ts';
import { createScriptRunner } from './script-runner.ts';
import { createBindings } from './thinking/bindings.ts';

export type ScriptedModelOptions = {
  readonly script: Script;
  /** 0: a free port. */
  readonly port?: number;
  readonly host?: string;
  /** Gets one line for each answer. */
  readonly log?: (line: string) => void;
  /** The requests that `requests` keeps; all unless given. Benches keep none. */
  readonly keep?: RequestRetention;
  /** Tokens; a longer prompt is "too long". Unless given here or in the script, any fits. */
  readonly window?: number;
  /** Tokens; a larger max_tokens is refused. Unless given here or in the script, any will do. */
  readonly maxOutputTokens?: number;
  /** The account; a newcomer's unless given here or in the script. */
  readonly account?: AccountOptions;
  /** The least length of a cached prefix, and the clock. */
  readonly cache?: CacheOptions;
  /**
   * The thinking shown to a request that does not say. Unless given, what its model shows: most of
   * today's omit it.
   */
  readonly display?: ThinkingDisplay;
  /**
   * Whether a conversation may end with an assistant message. Today's models refuse it, and so does
   * this one unless told.
   */
  readonly prefill?: boolean;
  /** False: requests are not checked for their shape. For clients that are measured, not tested. */
  readonly strict?: boolean;
};

export type ScriptedModel = {
  /** The value for ANTHROPIC_BASE_URL. */
  readonly url: string;
  readonly port: number;
  /** Requests to /v1/messages, in order of arrival. */
  readonly requests: readonly RecordedRequest[];
  /**
   * Sentences about what must not happen in a test: requests the API would never take, and a script
   * that could not answer.
   */
  readonly problems: readonly string[];
  /** Resolves with the `n`-th request (from 1), as soon as its body has arrived. */
  readonly waitForRequest: (n: number) => Promise<RecordedRequest>;
  /** Ends every connection and every stream; resolves when nothing is left. */
  readonly close: () => Promise<void>;
};

/** Starts the server. Rejects when the port cannot be had. */
export async function startScriptedModel(options: ScriptedModelOptions): Promise<ScriptedModel> {
  const problems: string[] = [];
  const records = createRecorder(options.keep ?? 'all');
  const data = pickData(options.script);
  const handle = createRequestHandler({
    run: createScriptRunner(options.script),
    records,
    cache: createPromptCache(options.cache),
    bindings: createBindings(options.account ?? data?.account),
    display: options.display,
    rules: {
      window: options.window ?? data?.window,
      maxOutputTokens: options.maxOutputTokens ?? data?.maxOutputTokens,
      prefill: options.prefill ?? false,
      strict: options.strict ?? true,
    },
    problem: (what) => problems.push(what),
    log: options.log ?? (() => undefined),
  });
  const server = createServer(handle);
  // A client's idle connection that is closed under it looks like a fault that no script asked for.
  server.keepAliveTimeout = 600_000;
  const host = options.host ?? '127.0.0.1';
  const port = await listenOn(server, options.port ?? 0, host);
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const { requests } = records;
  return { url, port, requests, problems, waitForRequest: (n) => records.waitFor(n), close: () => closeServer(server) };
}

function pickData(script: Script): ScriptData | undefined {
  return typeof script === 'object' && 'replies' in script ? script : undefined;
}

function listenOn(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
