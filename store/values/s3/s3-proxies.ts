// Sends requests to a bucket that is reached through a proxy. The SDK's own handler supports none,
// and keeps the requests that go directly.
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { S3Client } from '@aws-sdk/client-s3';
import { type Network, whyFetchFailed } from '../../../system/network.ts';

type Handler = S3Client['config']['requestHandler'];
type Request = Parameters<Handler['handle']>[0];
type Options = { readonly abortSignal?: AbortSignal | undefined };
type Answer = Awaited<ReturnType<Handler['handle']>>;

/**
 * Headers that are not passed to fetch: it sets the first two itself, and does not wait for leave
 * to send.
 */
const NOT_SENT: ReadonlySet<string> = new Set(['host', 'content-length', 'expect']);

export function createProxyHandler(direct: Handler, network: Network, requestMs: number): Handler {
  return Object.assign(Object.create(direct) as Handler, {
    handle: (request: Request, options: Options = {}): Promise<Answer> => {
      const url = urlOf(request);
      return network.proxyFor(url) === null
        ? direct.handle(request, options)
        : ask(network, url, request, { ...options, requestMs });
    },
  });
}

function urlOf({ protocol, hostname, port, path, query = {} }: Request): URL {
  const url = new URL(`${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}`);
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map(
      (one) => `${escapeForSignature(name)}=${escapeForSignature(one ?? '')}`,
    ),
  );
  url.search = pairs.join('&');
  return url;
}

/** Escapes a text as the signature does. */
function escapeForSignature(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

async function ask(
  { fetch }: Network,
  url: URL,
  { method, headers, body }: Request,
  { abortSignal, requestMs }: Options & { readonly requestMs: number },
): Promise<Answer> {
  const stop = new AbortController();
  abortSignal?.addEventListener('abort', () => stop.abort(), { once: true });
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(requestMs)]);
  const sent = Object.entries(headers).filter(([name]) => !NOT_SENT.has(name.toLowerCase()));
  try {
    const answer = await fetch(url, {
      method,
      headers: { ...Object.fromEntries(sent), 'accept-encoding': 'identity' },
      ...(body !== undefined && method !== 'GET' && method !== 'HEAD' && { body: body as Uint8Array }),
      redirect: 'manual',
      signal,
    });
    const read = answer.body === null ? undefined : Readable.fromWeb(answer.body as ReadableStream<Uint8Array>);
    const response = { statusCode: answer.status, headers: Object.fromEntries(answer.headers), body: read };
    return { response };
  } catch (error) {
    if (signal.aborted) throw error;
    // The SDK tries this again, as a connection that it lost itself.
    throw Object.assign(new Error(whyFetchFailed(error), { cause: error }), { $retryable: {} });
  }
}
