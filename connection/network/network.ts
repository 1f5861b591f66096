// Opens the network of this process: one dispatcher, which knows the proxies and the trusted
// certificates. It is made once, where a worker opens, and every part that sends requests takes its
// `fetch`.
import type { Dispatcher as UndiciDispatcher, Dispatcher } from 'undici';
import { type Network, PartedBody, VIA_HEADER } from '../../system/network.ts';
import { codeOf, reasonOf } from '../../system/text.ts';
import { hostOf, isThisMachine, type Proxy, type ProxyRules, readProxyRules } from './proxy-rules.ts';
import type { Readable } from 'node:stream';
import { SetupProblem } from '../../system/setup-problem.ts';
import { existsSync, readFileSync } from 'node:fs';
import * as tls from 'node:tls';

type Env = Readonly<Record<string, string | undefined>>;

/** An open network. An answer that came through a proxy by plain HTTP has VIA_HEADER. */
type OpenedNetwork = Network & { close(): Promise<void> };

/** Throws SetupProblem for a proxy or a file of certificates that cannot be one. */
export function openNetwork(env: Env): OpenedNetwork {
  const rules = readProxyRules(env);
  const certificates = listTrustedCertificates(env);
  let opened: Promise<Dispatching> | undefined;
  const open = async (): Promise<Dispatching> => {
    const undici = await import('undici');
    const dispatcher = createDispatcher(undici, rules, certificates);
    return { undici, dispatcher };
  };
  return {
    fetch: createFetch(() => (opened ??= open()), rules),
    proxyFor: rules.proxyFor,
    certificates,
    close: async () => (await opened)?.dispatcher.destroy(),
  };
}

function createDispatcher(undici: Undici, rules: ProxyRules, ca: readonly string[] | undefined): UndiciDispatcher {
  // The caller decides how long to wait: a model may be silent for longer than any default. It is
  // said with each request, because the agents in an agent do not hear of it.
  const withoutTimeouts = { headersTimeout: 0, bodyTimeout: 0 };
  const trust = ca === undefined ? {} : { ca: [...ca] };
  const direct = new undici.Agent({ connect: trust });
  const through = new Map(
    rules.proxies.map(({ address, token = '', by }) => [
      by,
      new undici.ProxyAgent({
        uri: address,
        // For https it makes a tunnel, and for http it asks for the whole address, as curl does.
        proxyTunnel: false,
        ...(token !== '' && { token }),
        ...(ca !== undefined && { requestTls: trust, proxyTls: trust }),
      }),
    ]),
  );
  const all = [direct, ...through.values()];
  class Routes extends undici.Dispatcher {
    override dispatch(options: UndiciDispatcher.DispatchOptions, handler: UndiciDispatcher.DispatchHandler): boolean {
      const proxy = rules.proxyFor(new URL(options.origin ?? ''));
      return ((proxy && through.get(proxy.by)) ?? direct).dispatch({ ...options, ...withoutTimeouts }, handler);
    }
    override async close(): Promise<void> {
      await Promise.all(all.map((each) => each.close()));
    }
    override async destroy(): Promise<void> {
      await destroyAgents(all);
    }
  }
  return new Routes();
}

/**
 * Bun answers for undici with agents of its own, which hold no connection and have no `destroy`.
 */
export async function destroyAgents(agents: readonly Partial<Pick<UndiciDispatcher, 'destroy'>>[]): Promise<void> {
  await Promise.all(agents.map(async (agent) => await agent.destroy?.()));
}

function createFetch(open: () => Promise<Dispatching>, rules: ProxyRules): typeof fetch {
  return async (input, init) => {
    const dispatching = await open();
    const { undici } = dispatching;
    const url = new URL(input instanceof Request ? input.url : input);
    const proxy = rules.proxyFor(url);
    const options = { ...init, ...sendBy(dispatching, init?.body) } as Parameters<Undici['fetch']>[1];
    try {
      const answer = await undici.fetch(input as Parameters<Undici['fetch']>[0], options);
      return withVia(answer, proxy, url);
    } catch (error) {
      if (init?.signal?.aborted === true) throw error;
      throw fetchError(proxy, error);
    } finally {
      if (init?.body instanceof PartedBody) init.body.release();
    }
  };
}

/** Returns an error like those of fetch, with the reason as its cause. */
function fetchError(proxy: Proxy | null, error: unknown): TypeError {
  return new TypeError('fetch failed', { cause: new Error(describeFailure(proxy, error), { cause: error }) });
}

/**
 * Sets VIA_HEADER: the answer to a plain request may be the proxy's own, and its failure then names
 * the proxy. A header of that name from a server is removed.
 */
function withVia(answer: Response, proxy: Proxy | null, { protocol }: URL): Response {
  if (proxy === null && !answer.headers.has(VIA_HEADER)) return answer;
  const headers = new Headers(answer.headers);
  headers.delete(VIA_HEADER);
  if (proxy !== null && protocol === 'http:') headers.set(VIA_HEADER, proxy.label);
  const { status, statusText } = answer;
  const body = answer.body && proxy !== null ? nameProxyInErrors(answer.body, proxy) : answer.body;
  return new Response(body, { headers, status, statusText });
}

/** Passes the same bytes on, and names the proxy in errors. */
function nameProxyInErrors(body: ReadableStream<Uint8Array>, { label }: Proxy): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        const named = `${reasonOf(error)}, through the proxy ${label}`;
        controller.error(isAbort(error) ? error : new TypeError(named, { cause: error }));
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

/**
 * Matches the codes of an untrusted certificate: of a proxy that reads along, or of a server that
 * made its own.
 */
const UNTRUSTED =
  /^(SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_GET_ISSUER_CERT(_LOCALLY)?|UNABLE_TO_VERIFY_LEAF_SIGNATURE)$/;

/**
 * Returns the innermost cause: a failed tunnel looks like a cancelled request, with the reason
 * within.
 */
function findInnermostCause(error: unknown): unknown {
  let inner = error;
  for (let depth = 0; depth < 5 && inner instanceof Error && inner.cause instanceof Error; depth += 1)
    inner = inner.cause;
  return inner;
}

/**
 * Describes a failure in words that name only the proxy's address, without its name and password.
 */
function describeFailure(proxy: Proxy | null, error: unknown): string {
  const inner = findInnermostCause(error);
  const code = codeOf(inner);
  const trust =
    code !== undefined && UNTRUSTED.test(code)
      ? ' (if that is right here, name the certificate in NODE_EXTRA_CA_CERTS, or set NODE_USE_SYSTEM_CA=1)'
      : '';
  const why = `${reasonOf(inner)}${trust}`;
  // In its own words the SDK takes it for a time limit of its own, and drops the rest.
  const late = code === 'UND_ERR_CONNECT_TIMEOUT';
  if (proxy === null) return late ? 'no connection within 10 s' : why;
  const where = `the proxy ${proxy.label} (${proxy.by})`;
  const [, status] = /Proxy response \((\d{3})\)/.exec(why) ?? [];
  // Tinyproxy answers 401.
  if (status === '407' || status === '401')
    return `${where} wants a name and password, or others: http://NAME:PASSWORD@${proxy.label}`;
  if (status !== undefined) return `${where} answered ${status} when it was asked for a connection`;
  return late ? `${where} cannot be reached: no connection within 10 s` : `${why}, through ${where}`;
}

// Sends bodies in parts to the connection as they are, past fetch, which copies a body several
// times and holds it for as long as the request may be aborted.
type Undici = typeof import('undici');
type Dispatching = { readonly undici: Undici; readonly dispatcher: Dispatcher };

/** Fetch sees this in place of the body. */
const STAND_IN = new Uint8Array(1);

/** Returns options of fetch: what sends the request, and the body that fetch is to see. */
function sendBy(dispatching: Dispatching, body: unknown): { dispatcher: Dispatcher; body?: Uint8Array } {
  // Bun's fetch asks no dispatcher: it reads the body as the stream that it is.
  const isAsked = process.versions['bun'] === undefined;
  if (!(body instanceof PartedBody) || !isAsked) return { dispatcher: dispatching.dispatcher };
  return { dispatcher: dispatchParts(dispatching, body), body: STAND_IN };
}

function dispatchParts({ undici, dispatcher }: Dispatching, body: PartedBody): Dispatcher {
  class Parts extends undici.Dispatcher {
    override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
      // A redirect may have made it a request without a body.
      if (!options.body) return dispatcher.dispatch(options, handler);
      const entries = Object.entries(options.headers as Record<string, string>);
      const others = entries.filter(([name]) => name.toLowerCase() !== 'content-length');
      const headers = { ...Object.fromEntries(others), 'content-length': `${body.byteLength}` };
      // The types of undici leave out that it takes an iterable.
      return dispatcher.dispatch({ ...options, headers, body: body.pieces() as unknown as Readable }, handler);
    }
  }
  return new Parts();
}

// Describes the network for people: which proxy an address is asked through, and what is wrong with
// the settings.
type NetworkFinding = { readonly name: string; readonly fine: boolean; readonly found: string };

/** A destination: what is reached, and where. */
export type Destination = { readonly what: string; readonly address: string };

/** Returns no findings without a proxy or certificates of one's own. */
export function describeNetwork(env: Env, destinations: readonly Destination[]): readonly NetworkFinding[] {
  try {
    const routes = destinations.flatMap(({ what, address }) => {
      const route = URL.canParse(address) ? describeRoute(env, address) : undefined;
      return route === undefined ? [] : [`${what} at ${route}`];
    });
    const extra = extraCertificatesProblem(env);
    listTrustedCertificates(env);
    return [
      ...[...routes, ...describeWebFetch(env)].map((found) => ({ name: 'proxy', fine: true, found })),
      ...(extra === undefined ? [] : [{ name: 'certificates', fine: false, found: extra }]),
    ];
  } catch (error) {
    if (!(error instanceof SetupProblem)) throw error;
    return [{ name: 'network', fine: false, found: error.message }];
  }
}

/** Describes the ways of web_fetch, which may be asked for any address. */
function describeWebFetch(env: Env): readonly string[] {
  const { proxies, proxyFor } = readProxyRules(env);
  if (proxies.length === 0) return [];
  const ways = ['https', 'http'].map((scheme) => {
    const proxy = proxyFor(new URL(`${scheme}://any.example`));
    return `${scheme} ${proxy === null ? 'directly' : `through the proxy ${proxy.label} (${proxy.by})`}`;
  });
  return [`pages that web_fetch fetches: ${ways.join(', ')}`];
}

/**
 * Returns a line for people: which proxy an address is asked through, or that it is reached
 * directly though proxies are set. Undefined without any proxy.
 */
export function describeRoute(env: Env, address: string): string | undefined {
  const { proxies, proxyFor } = readProxyRules(env);
  if (proxies.length === 0) return undefined;
  const url = new URL(address);
  const proxy = proxyFor(url);
  if (proxy) return `${url.host} through the proxy ${proxy.label} (${proxy.by})`;
  return `${url.host} directly, ${isThisMachine(hostOf(url)) ? 'for it is this machine' : 'as NO_PROXY says, or for want of a proxy for it'}`;
}

/** The files in which systems keep their certificates. */
const CERTIFICATE_BUNDLES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g;

/**
 * Returns undefined for Node's own. `NODE_USE_SYSTEM_CA=1` adds the system's, also on a Node that
 * does not know the variable, and `SSL_CERT_FILE` then names their file. Throws SetupProblem where
 * none are found.
 */
function listTrustedCertificates(env: Env): readonly string[] | undefined {
  const extra = env['NODE_EXTRA_CA_CERTS']?.trim();
  const usesSystem = env['NODE_USE_SYSTEM_CA']?.trim() === '1';
  // Node has read the file that its own environment named when it started.
  const known = !extra || extra === process.env['NODE_EXTRA_CA_CERTS']?.trim();
  if (known && !usesSystem) return undefined;
  return [...tls.rootCertificates, ...readCertificates(extra), ...(usesSystem ? listSystemCertificates(env) : [])];
}

/**
 * Returns the end of a sentence when NODE_EXTRA_CA_CERTS names a file without readable
 * certificates, else undefined.
 */
function extraCertificatesProblem(env: Env): string | undefined {
  const extra = env['NODE_EXTRA_CA_CERTS']?.trim();
  if (!extra || readCertificates(extra).length > 0) return undefined;
  return 'NODE_EXTRA_CA_CERTS names no file with certificates that can be read: they are not trusted';
}

function listSystemCertificates(env: Env): readonly string[] {
  const named = env['SSL_CERT_FILE']?.trim();
  if (!named && 'getCACertificates' in tls && typeof tls.getCACertificates === 'function') {
    return tls.getCACertificates('system') as readonly string[];
  }
  const file = [...(named ? [named] : []), ...CERTIFICATE_BUNDLES].find((each) => existsSync(each));
  if (file === undefined || (named && file !== named))
    throw new SetupProblem(
      'NODE_USE_SYSTEM_CA asks for certificates that are not found: name their file in SSL_CERT_FILE, or leave it out',
    );
  return readCertificates(file);
}

/** Returns no certificates for a file that cannot be read: Node, too, goes on without. */
function readCertificates(file: string | undefined): readonly string[] {
  if (!file) return [];
  try {
    return readFileSync(file, 'latin1').match(CERTIFICATE) ?? [];
  } catch {
    return [];
  }
}
