// Fetches from the public internet alone, for addresses that clients choose (G54): servers of runs,
// and token endpoints of credentials.
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { Readable } from 'node:stream';
import type { FetchLike } from '@modelcontextprotocol/client';
import { PrivateAddress } from '../builtin/web/addresses.ts';
import { type FetchRules, findRoute } from '../builtin/web/fetch-page.ts';

type PublicFetchRules = Pick<FetchRules, 'fakeIpRanges' | 'lookup' | 'network'> & {
  /** Hosts whose addresses may be private. Absent: none. */
  readonly privateHosts?: readonly string[];
  /** Says what allows a private address: the end of a sentence. */
  readonly remedy: string;
};

/**
 * Fetches from the public internet alone (G54): as for web_fetch (L86), the address that is judged
 * is the one that is connected to. Follows no redirect. Throws TypeError as fetch does, with the
 * reason as its cause.
 */
export function createPublicFetch({ remedy, privateHosts = [], ...rules }: PublicFetchRules): FetchLike {
  return async (input, init = {}) => {
    const url = new URL(input);
    try {
      const route = await findRoute(url, { ...rules, privateHosts });
      if (route.kind === 'proxy') return await route.fetch(url, { ...init, redirect: 'manual' });
      return await send(url, init, route.options);
    } catch (error) {
      if (init.signal?.aborted === true) throw error;
      throw toFetchError(error, remedy);
    }
  };
}

function toFetchError(error: unknown, remedy: string): TypeError {
  if (!(error instanceof PrivateAddress)) return new TypeError('fetch failed', { cause: error });
  return new TypeError('fetch failed', { cause: new Error(`${error.message}: ${remedy}`, { cause: error }) });
}

/** Sends on a connection of its own: a kept one was judged for another request. */
function send(url: URL, { method, headers, body, signal }: RequestInit, options: RequestOptions): Promise<Response> {
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const how = { ...options, method, headers: Object.fromEntries(new Headers(headers)), agent: false };
  return new Promise((resolve, reject) => {
    const outgoing = request(url, signal ? { ...how, signal } : how);
    outgoing.once('response', (answer) => resolve(readResponse(answer))).on('error', reject);
    outgoing.end(body);
  });
}

/** Rejects for a status or a header that no Response can have. */
async function readResponse(answer: IncomingMessage): Promise<Response> {
  try {
    return toResponse(answer);
  } catch (error) {
    answer.destroy();
    throw error;
  }
}

const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

function toResponse(answer: IncomingMessage): Response {
  const { statusCode: status = 0, statusMessage: statusText = '' } = answer;
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(answer.headersDistinct))
    for (const value of values) headers.append(name, value);
  const hasBody = !WITHOUT_BODY.has(status);
  if (!hasBody) answer.resume();
  const body = hasBody ? (Readable.toWeb(answer) as ReadableStream<Uint8Array>) : null;
  return new Response(body, { status, statusText, headers });
}
