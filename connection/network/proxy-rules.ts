// Reads which proxy an address is asked through, from the variables that curl and others read:
// HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY.
import { BlockList, isIP, isIPv4 } from 'node:net';
import { SetupProblem } from '../../system/setup-problem.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type Proxy = {
  /** The address without name and password, for the connection. */
  readonly address: string;
  /** The host and port, for people. */
  readonly label: string;
  /** The value of `proxy-authorization`; never shown. */
  readonly token?: string;
  /** The variable that names the proxy. */
  readonly by: string;
};

export type ProxyRules = {
  /** Returns null when the address is reached directly. */
  proxyFor(url: URL): Proxy | null;
  /** The proxies that are named, in the order in which they are asked about. */
  readonly proxies: readonly Proxy[];
};

const NAMES = ['https_proxy', 'http_proxy', 'all_proxy'] as const;

/** Throws SetupProblem for a proxy that cannot be one. */
export function readProxyRules(env: Env): ProxyRules {
  const [https, http, all] = NAMES.map((name) => readProxy(env, name));
  const excepted = parseExceptions(valueOf(env, 'no_proxy')?.value ?? '');
  return {
    proxies: [https, http, all].flatMap((proxy) => proxy ?? []),
    proxyFor(url) {
      const proxy = (url.protocol === 'https:' ? https : http) ?? all ?? null;
      return proxy === null || isThisMachine(hostOf(url)) || excepted(url) ? null : proxy;
    },
  };
}

/** Reads a variable. The one in small letters goes first, also an empty one, as for curl. */
function valueOf(env: Env, name: string): { readonly name: string; readonly value: string } | undefined {
  const found = [name, name.toUpperCase()].find((each) => env[each] !== undefined);
  return found === undefined ? undefined : { name: found, value: (env[found] ?? '').trim() };
}

function readProxy(env: Env, of: (typeof NAMES)[number]): Proxy | undefined {
  const variable = valueOf(env, of);
  if (variable === undefined || variable.value === '') return undefined;
  const { name, value } = variable;
  const url = parseUrl(/^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`);
  // ALL_PROXY is often set for programs of another kind.
  if (of === 'all_proxy' && url !== null && url.protocol.startsWith('socks')) return undefined;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new SetupProblem(
      `${name} is no address of an HTTP proxy: give one like http://proxy.example:3128, or leave it out`,
    );
  }
  const { username, password } = url;
  const bare = `${url.protocol}//${url.host}`;
  const label = url.port === '' ? `${url.hostname}:${url.protocol === 'https:' ? 443 : 80}` : url.host;
  const token = username === '' && password === '' ? undefined : basicCredentials(username, password);
  return { address: bare, label, by: name, ...(token !== undefined && { token }) };
}

function parseUrl(address: string): URL | null {
  return URL.canParse(address) ? new URL(address) : null;
}

function basicCredentials(username: string, password: string): string {
  return `Basic ${Buffer.from(`${decodePercent(username)}:${decodePercent(password)}`).toString('base64')}`;
}

/** Decodes a text. A password with a percent sign that was not escaped is meant as it stands. */
function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns the host, without the brackets of an IPv6 address. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '').toLowerCase();
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Tells whether a host is this machine: a proxy's `localhost` is another one. */
export function isThisMachine(host: string): boolean {
  if (isIP(host) !== 0) return LOOPBACK.check(host, isIPv4(host) ? 'ipv4' : 'ipv6');
  return host === 'localhost' || host.endsWith('.localhost');
}

type Exception = (host: string, port: number) => boolean;

/**
 * Parses names with their subdomains, addresses, and ranges such as 10.0.0.0/8, each with a port or
 * without; `*` is for all.
 */
function parseExceptions(list: string): (url: URL) => boolean {
  const exceptions = list
    .split(/[\s,]+/)
    .flatMap((entry) => (entry === '' ? [] : [parseException(entry.toLowerCase())]));
  return (url) => {
    const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
    return exceptions.some((excepts) => excepts(hostOf(url), port));
  };
}

function parseException(entry: string): Exception {
  if (entry === '*') return () => true;
  const range = parseRange(entry);
  if (range) return (host) => isIP(host) !== 0 && range.check(host, isIPv4(host) ? 'ipv4' : 'ipv6');
  const [, name = entry, port] = /^(\[.+\]|[^:]+):(\d+)$/.exec(entry) ?? [];
  const wanted = name
    .replace(/^\[|\]$/g, '')
    .replace(/^\*?\./, '')
    .replace(/\.$/, '');
  return (host, at) =>
    (port === undefined || Number(port) === at) &&
    (host === wanted || (isIP(host) === 0 && host.endsWith(`.${wanted}`)));
}

function parseRange(entry: string): BlockList | null {
  const [, address = '', bits = ''] = /^\[?([\da-f.:]+)\]?\/(\d{1,3})$/.exec(entry) ?? [];
  const family = isIP(address);
  if (family === 0 || Number(bits) > (family === 4 ? 32 : 128)) return null;
  const range = new BlockList();
  range.addSubnet(address, Number(bits), family === 4 ? 'ipv4' : 'ipv6');
  return range;
}
