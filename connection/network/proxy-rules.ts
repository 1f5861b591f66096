// Which proxy an address is asked through, by the variables that curl and others read: HTTPS_PROXY,
// HTTP_PROXY, ALL_PROXY, NO_PROXY.
import { BlockList, isIP, isIPv4 } from 'node:net';
import { SetupProblem } from '../../system/setup-problem.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type Proxy = {
  /** Its address without name and password, for the connection. */
  readonly address: string;
  /** Its host and port, for people. */
  readonly shown: string;
  /** What a `proxy-authorization` says; never shown. */
  readonly token?: string;
  /** The variable that names it. */
  readonly by: string;
};

export type ProxyRules = {
  /** Null: it is reached directly. */
  proxyFor(url: URL): Proxy | null;
  /** Those that are named, in the order in which they are asked about. */
  readonly proxies: readonly Proxy[];
};

const NAMES = ['https_proxy', 'http_proxy', 'all_proxy'] as const;

/** Throws SetupProblem for a proxy that cannot be one. */
export function readProxyRules(env: Env): ProxyRules {
  const [https, http, all] = NAMES.map((name) => proxyIn(env, name));
  const excepted = exceptionsIn(valueOf(env, 'no_proxy')?.value ?? '');
  return {
    proxies: [https, http, all].flatMap((proxy) => proxy ?? []),
    proxyFor(url) {
      const proxy = (url.protocol === 'https:' ? https : http) ?? all ?? null;
      return proxy === null || isThisMachine(hostOf(url)) || excepted(url) ? null : proxy;
    },
  };
}

/** The one in small letters goes first, also an empty one, as for curl. */
function valueOf(env: Env, name: string): { readonly name: string; readonly value: string } | undefined {
  const found = [name, name.toUpperCase()].find((each) => env[each] !== undefined);
  return found === undefined ? undefined : { name: found, value: (env[found] ?? '').trim() };
}

function proxyIn(env: Env, of: (typeof NAMES)[number]): Proxy | undefined {
  const given = valueOf(env, of);
  if (given === undefined || given.value === '') return undefined;
  const { name, value } = given;
  const url = parsed(/^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`);
  // ALL_PROXY is often there for programs of another kind.
  if (of === 'all_proxy' && url !== null && url.protocol.startsWith('socks')) return undefined;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new SetupProblem(
      `${name} is no address of an HTTP proxy: give one like http://proxy.example:3128, or leave it out`,
    );
  }
  const { username, password } = url;
  const bare = `${url.protocol}//${url.host}`;
  const shown = url.port === '' ? `${url.hostname}:${url.protocol === 'https:' ? 443 : 80}` : url.host;
  const token = username === '' && password === '' ? undefined : basic(username, password);
  return { address: bare, shown, by: name, ...(token !== undefined && { token }) };
}

function parsed(address: string): URL | null {
  return URL.canParse(address) ? new URL(address) : null;
}

function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64')}`;
}

/** A password with a percent sign that was not escaped is meant as it stands. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Without the brackets of an IPv6 address. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '').toLowerCase();
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** A proxy's `localhost` is another machine. */
export function isThisMachine(host: string): boolean {
  if (isIP(host) !== 0) return loopback.check(host, isIPv4(host) ? 'ipv4' : 'ipv6');
  return host === 'localhost' || host.endsWith('.localhost');
}

type Exception = (host: string, port: number) => boolean;

/**
 * Names with what is below them, addresses, ranges such as 10.0.0.0/8, each with a port or without;
 * `*` for all.
 */
function exceptionsIn(list: string): (url: URL) => boolean {
  const exceptions = list.split(/[\s,]+/).flatMap((entry) => (entry === '' ? [] : [exceptionOf(entry.toLowerCase())]));
  return (url) => {
    const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
    return exceptions.some((excepts) => excepts(hostOf(url), port));
  };
}

function exceptionOf(entry: string): Exception {
  if (entry === '*') return () => true;
  const range = rangeOf(entry);
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

function rangeOf(entry: string): BlockList | null {
  const [, address = '', bits = ''] = /^\[?([\da-f.:]+)\]?\/(\d{1,3})$/.exec(entry) ?? [];
  const family = isIP(address);
  if (family === 0 || Number(bits) > (family === 4 ? 32 : 128)) return null;
  const range = new BlockList();
  range.addSubnet(address, Number(bits), family === 4 ? 'ipv4' : 'ipv6');
  return range;
}
