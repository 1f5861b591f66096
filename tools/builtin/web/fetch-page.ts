// Fetches one page (L86): GET over http or https, a few redirects, each judged as the first address
// was, and no more bytes than a bound however they are packed.
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { pipeline, Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { TimedOut, runWithin } from '../../../system/async.ts';
import { type Network, whyFetchFailed } from '../../../system/network.ts';
import { ToolFailure } from '../../failures.ts';
import {
  toHost,
  isHostListed,
  type LookupOptions,
  PrivateAddress,
  createPublicLookup,
  toRanges,
  refuseBehindProxy,
  refusePrivate,
} from './addresses.ts';

export type FetchRules = {
  /** Hosts whose addresses may be private, by name or address, with `*`. */
  readonly privateHosts: readonly string[];
  /** Tells whether a redirect may lead to this host. */
  readonly mayFollow: (host: string) => boolean;
  /** Private ranges that names may lead to, such as `198.18.0.0/15`. */
  readonly fakeIpRanges?: readonly string[] | undefined;
  readonly lookup?: LookupOptions['resolve'];
  /** Absent: every page is asked for directly. */
  readonly network?: Network | undefined;
  /** Milliseconds for the whole fetch. */
  readonly timeoutMs?: number;
};

export type FetchResult =
  | {
      readonly kind: 'page';
      readonly url: URL;
      readonly status: number;
      /** The header, as it came. */
      readonly contentType: string;
      readonly bytes: Buffer;
      /** There was more. */
      readonly isCut: boolean;
      /** The proxy that the page came through by plain HTTP, which may have answered itself. */
      readonly via: string | undefined;
    }
  /** The redirect leads to another host, which nothing allows. */
  | { readonly kind: 'elsewhere'; readonly from: URL; readonly to: URL };

/** Bytes, unpacked. */
export const MOST_BYTES = 5 * 1024 * 1024;
const TIMEOUT_MS = 30_000;
const MOST_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

const HEADERS = {
  accept: 'text/markdown, text/html, application/xhtml+xml, text/plain;q=0.9, application/json;q=0.9, */*;q=0.5',
  'accept-encoding': 'gzip, deflate, br',
  'user-agent': 'perdure',
};

/** Fetches a page. Throws a ToolFailure that says why it cannot. */
export async function fetchPage(url: URL, rules: FetchRules, signal: AbortSignal): Promise<FetchResult> {
  const { timeoutMs = TIMEOUT_MS } = rules;
  try {
    return await runWithin(timeoutMs, signal, (both) => followRedirects(url, rules, both));
  } catch (error) {
    if (error instanceof ToolFailure) throw error;
    if (error instanceof TimedOut) throw new ToolFailure(`${url.href} was not there within ${timeoutMs / 1_000} s.`);
    if (error instanceof PrivateAddress) {
      const where = 'Only the operator of this worker can allow it ("webFetch.privateHosts").';
      throw new ToolFailure(`${url.href} was not fetched: ${error.message}. ${where}`);
    }
    throw new ToolFailure(`${url.href} could not be fetched: ${whyFetchFailed(error)}`);
  }
}

async function followRedirects(first: URL, rules: FetchRules, signal: AbortSignal): Promise<FetchResult> {
  let url = first;
  for (let followed = 0; followed <= MOST_REDIRECTS; followed++) {
    const response = await ask(url, rules, signal);
    const { status, location, contentType, via } = response;
    if (!REDIRECTS.has(status) || location === undefined)
      return { kind: 'page', url, status, contentType, via, ...(await readBounded(response, signal)) };
    response.drop();
    const to = resolveRedirect(location, url);
    if (toHost(to) !== toHost(url) && !rules.mayFollow(toHost(to))) return { kind: 'elsewhere', from: url, to };
    url = to;
  }
  throw new ToolFailure(`${first.href} leads on and on: more than ${MOST_REDIRECTS} redirects.`);
}

function resolveRedirect(location: string, from: URL): URL {
  const to = URL.canParse(location, from.href) ? new URL(location, from) : null;
  if (to === null || checkUrl(to) !== undefined)
    throw new ToolFailure(`${from.href} leads to ${JSON.stringify(location.slice(0, 300))}, which is no page.`);
  return to;
}

/** Returns a sentence for an address that is not a page's. */
export function checkUrl({ protocol, username, password }: URL): string | undefined {
  if (protocol !== 'http:' && protocol !== 'https:') return 'Only http and https addresses are fetched.';
  return username === '' && password === '' ? undefined : 'An address with a user or a password in it is not fetched.';
}

type Body = NodeJS.ReadableStream & { destroy(error?: Error): unknown };

type Answer = {
  readonly status: number;
  readonly location: string | undefined;
  readonly contentType: string;
  readonly via?: string | undefined;
  unpacked(): Body;
  drop(): unknown;
};

async function ask(url: URL, rules: FetchRules, signal: AbortSignal): Promise<Answer> {
  const route = await findRoute(url, rules);
  return route.kind === 'proxy'
    ? await askProxy(url, route.fetch, route.label, signal)
    : await askDirectly(url, route.options, signal);
}

/** How an address is asked: by a proxy, or on a connection with these options. */
export type Route =
  | { readonly kind: 'proxy'; readonly fetch: Network['fetch']; readonly label: string }
  | { readonly kind: 'direct'; readonly options: RequestOptions };

/**
 * Judges an address and finds the route to it, which leads nowhere else. Throws PrivateAddress for
 * one outside the public internet, unless its host is listed.
 */
export async function findRoute(
  url: URL,
  { privateHosts, network, lookup: resolve, fakeIpRanges = [] }: Omit<FetchRules, 'mayFollow' | 'timeoutMs'>,
): Promise<Route> {
  const host = toHost(url);
  const isAllowed = isHostListed(privateHosts, host);
  if (!isAllowed) refusePrivate(host);
  const lookup = { resolve, fakeIps: toRanges(fakeIpRanges) };
  const proxy = network?.proxyFor(url) ?? null;
  if (network && proxy) {
    if (!isAllowed) await refuseBehindProxy(host, lookup);
    return { kind: 'proxy', fetch: network.fetch, label: proxy.label };
  }
  const how = isAllowed ? (resolve ? { lookup: resolve } : {}) : { lookup: createPublicLookup(lookup) };
  return { kind: 'direct', options: { ...how, ...(network?.certificates && { ca: [...network.certificates] }) } };
}

/** Asks on a connection of its own: one that is kept was judged for another call. */
function askDirectly(url: URL, how: RequestOptions, signal: AbortSignal): Promise<Answer> {
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { headers: HEADERS, agent: false, signal, ...how });
    const answered = (response: IncomingMessage): void => {
      const { statusCode: status = 0, headers } = response;
      resolve({
        status,
        location: headers.location,
        contentType: headers['content-type'] ?? '',
        unpacked: () => unpackBody(response),
        drop: () => response.destroy(),
      });
    };
    outgoing.once('response', answered).on('error', reject).end();
  });
}

/** Asks the proxy for the name, which it looks up itself. */
async function askProxy(url: URL, fetch: Network['fetch'], proxy: string, signal: AbortSignal): Promise<Answer> {
  const { status, headers, body } = await fetch(url, { headers: HEADERS, redirect: 'manual', signal });
  const read = Readable.fromWeb((body ?? new Blob([]).stream()) as ReadableStream<Uint8Array>);
  return {
    status,
    location: headers.get('location') ?? undefined,
    contentType: headers.get('content-type') ?? '',
    via: url.protocol === 'http:' ? proxy : undefined,
    // Fetch has unpacked it, as it is read.
    unpacked: () => read,
    drop: () => read.on('error', () => undefined).destroy(),
  };
}

async function readBounded(
  response: Answer,
  signal: AbortSignal,
): Promise<{ readonly bytes: Buffer; readonly isCut: boolean }> {
  const chunks: Buffer[] = [];
  let size = 0;
  const body = response.unpacked();
  const stop = (): void => void body.destroy(signal.reason as Error);
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length;
      chunks.push(chunk);
      if (size > MOST_BYTES) break;
    }
  } finally {
    signal.removeEventListener('abort', stop);
    response.drop();
  }
  return { bytes: Buffer.concat(chunks).subarray(0, MOST_BYTES), isCut: size > MOST_BYTES };
}

/** Unpacks as it is read, and no further: a small packed body may be without end. */
function unpackBody(response: IncomingMessage): Body {
  const packing = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  // The error comes with the stream that is read.
  const through = (unpack: ReturnType<typeof createGunzip>) => pipeline(response, unpack, () => undefined);
  switch (packing) {
    case '':
    case 'identity':
      return response;
    case 'gzip':
    case 'x-gzip':
      return through(createGunzip());
    case 'deflate':
      return through(createInflate());
    case 'br':
      return through(createBrotliDecompress());
    default:
      throw new ToolFailure(`The page is packed as ${JSON.stringify(packing.slice(0, 40))}, which is not read.`);
  }
}
