// A model server that says what a script says and speaks the real Messages API: for tests, the
// keyless demo and benches.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Display } from './answer/message-for.ts';
import { requestHandler } from './handle-request.ts';
import { promptCache, type CacheOptions } from './prompt-cache.ts';
import { recorder, type Keep, type RecordedRequest } from './recorder.ts';
import type { AccountOptions, Script, ScriptData } from './script.ts';
import { scriptRunner } from './script-runner.ts';
import { createBindings } from './thinking/bindings.ts';

export type ScriptedModelOptions = {
  readonly script: Script;
  /** 0: a free one. */
  readonly port?: number;
  readonly host?: string;
  /** One line for each answer. */
  readonly log?: (line: string) => void;
  /** Which requests `requests` keeps; all unless given. Benches keep none. */
  readonly keep?: Keep;
  /** Tokens; a longer prompt is "too long". Unless given here or in the script, any fits. */
  readonly window?: number;
  /** Tokens; a larger max_tokens is refused. Unless given here or in the script, any will do. */
  readonly maxOutputTokens?: number;
  /** A newcomer's account unless given here or in the script. */
  readonly account?: AccountOptions;
  /** How short a prefix may be that is cached, and what time it is. */
  readonly cache?: CacheOptions;
  /**
   * What a request that does not say is shown of thinking. Unless given, what its model shows: most
   * of today's omit it.
   */
  readonly display?: Display;
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
   * Sentences for what must not happen in a test: requests the API would never take, and a script
   * that could not answer.
   */
  readonly problems: readonly string[];
  /** The `n`-th request (from 1), as soon as its body has arrived. */
  readonly waitForRequest: (n: number) => Promise<RecordedRequest>;
  /** Ends every connection and every stream; resolves when nothing is left. */
  readonly close: () => Promise<void>;
};

/** Rejects when the port cannot be had. */
export async function startScriptedModel(options: ScriptedModelOptions): Promise<ScriptedModel> {
  const problems: string[] = [];
  const records = recorder(options.keep ?? 'all');
  const data = dataOf(options.script);
  const handle = requestHandler({
    run: scriptRunner(options.script),
    records,
    cache: promptCache(options.cache),
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
  const port = await listen(server, options.port ?? 0, host);
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const { requests } = records;
  return { url, port, requests, problems, waitForRequest: (n) => records.waitFor(n), close: () => close(server) };
}

function dataOf(script: Script): ScriptData | undefined {
  return typeof script === 'object' && 'replies' in script ? script : undefined;
}

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
