// Fetches one page (L86): GET over http or https, a few redirects, each judged as the first address was, and no more bytes than a bound
// however they are packed.
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { pipeline } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { TimedOut, within } from '../../../async.ts';
import { reasonOf } from '../../../text.ts';
import { ToolFailure } from '../../failures.ts';
import { hostOf, isHostListed, PrivateAddress, publicLookup, refusePrivate } from './addresses.ts';

export type FetchRules = {
  /** Hosts whose addresses may be private, by name or address, with `*`. */
  readonly privateHosts: readonly string[];
  /** Whether a redirect may lead to this host. */
  readonly mayFollow: (host: string) => boolean;
  readonly lookup?: Parameters<typeof publicLookup>[0];
  /** Milliseconds for all of it. */
  readonly timeoutMs?: number;
};

export type Fetched =
  | {
      readonly kind: 'page';
      readonly url: URL;
      readonly status: number;
      /** The header, as it came. */
      readonly contentType: string;
      readonly bytes: Buffer;
    }
  /** Another host, which nothing allows. */
  | { readonly kind: 'elsewhere'; readonly from: URL; readonly to: URL };

/** Bytes, unpacked. */
const MOST_BYTES = 5 * 1024 * 1024;
const TIMEOUT_MS = 30_000;
const MOST_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

const HEADERS = {
  accept: 'text/markdown, text/html, application/xhtml+xml, text/plain;q=0.9, application/json;q=0.9, */*;q=0.5',
  'accept-encoding': 'gzip, deflate, br',
  'user-agent': 'perdure',
};

/** Throws a ToolFailure that says why there is no page. */
export async function fetchPage(url: URL, rules: FetchRules, signal: AbortSignal): Promise<Fetched> {
  const { timeoutMs = TIMEOUT_MS } = rules;
  try {
    return await within(timeoutMs, signal, (both) => followRedirects(url, rules, both));
  } catch (error) {
    if (error instanceof ToolFailure) throw error;
    if (error instanceof TimedOut) throw new ToolFailure(`${url.href} was not there within ${timeoutMs / 1_000} s.`);
    if (error instanceof PrivateAddress) {
      const where = 'Only the operator of this worker can allow it ("webFetch.privateHosts").';
      throw new ToolFailure(`${url.href} was not fetched: ${error.message}. ${where}`);
    }
    throw new ToolFailure(`${url.href} could not be fetched: ${reasonOf(error)}`);
  }
}

async function followRedirects(first: URL, rules: FetchRules, signal: AbortSignal): Promise<Fetched> {
  let url = first;
  for (let followed = 0; followed <= MOST_REDIRECTS; followed++) {
    const response = await ask(url, rules, signal);
    const { statusCode: status = 0, headers } = response;
    if (!REDIRECTS.has(status) || headers.location === undefined) {
      const bytes = await readBody(response, signal);
      return { kind: 'page', url, status, contentType: headers['content-type'] ?? '', bytes };
    }
    response.destroy();
    const to = redirectTarget(headers.location, url);
    if (hostOf(to) !== hostOf(url) && !rules.mayFollow(hostOf(to))) return { kind: 'elsewhere', from: url, to };
    url = to;
  }
  throw new ToolFailure(`${first.href} leads on and on: more than ${MOST_REDIRECTS} redirects.`);
}

function redirectTarget(location: string, from: URL): URL {
  const to = URL.canParse(location, from.href) ? new URL(location, from) : null;
  if (to === null || urlProblem(to) !== undefined)
    throw new ToolFailure(`${from.href} leads to ${JSON.stringify(location.slice(0, 300))}, which is no page.`);
  return to;
}

/** A sentence for an address that is none of a page. */
export function urlProblem({ protocol, username, password }: URL): string | undefined {
  if (protocol !== 'http:' && protocol !== 'https:') return 'Only http and https addresses are fetched.';
  return username === '' && password === '' ? undefined : 'An address with a user or a password in it is not fetched.';
}

/** On a connection of its own: one that is kept was judged for another call. */
function ask(url: URL, { privateHosts, lookup }: FetchRules, signal: AbortSignal): Promise<IncomingMessage> {
  const host = hostOf(url);
  const isAllowed = isHostListed(privateHosts, host);
  if (!isAllowed) refusePrivate(host);
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const how = isAllowed ? (lookup ? { lookup } : {}) : { lookup: publicLookup(lookup) };
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers: HEADERS, agent: false, signal, ...how });
    asked.once('response', resolve).on('error', reject).end();
  });
}

async function readBody(response: IncomingMessage, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  const body = unpacked(response);
  const stop = (): void => void body.destroy(signal.reason as Error);
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MOST_BYTES) throw new ToolFailure(`The page is larger than ${MOST_BYTES / 1024 / 1024} MB.`);
      chunks.push(chunk);
    }
  } finally {
    signal.removeEventListener('abort', stop);
    response.destroy();
  }
  return Buffer.concat(chunks);
}

/** Unpacks as it is read, and no further: what is packed small may be without end. */
function unpacked(response: IncomingMessage): NodeJS.ReadableStream & { destroy(error?: Error): unknown } {
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
