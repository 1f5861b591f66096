// Serves the ops page on a loopback port to browsers that were let in. It uses a name of its own,
// since what a browser keeps for 127.0.0.1 would reach every other server there. Browsers resolve
// *.localhost to this machine.
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { createServer as createHttps } from 'node:https';
import { codeOf, reasonOf } from '../system/text.ts';
import { SetupProblem } from '../system/setup-problem.ts';
import { ownAccess } from './hosting/access.ts';
import { type Forwarder, nameAt, type PageHost } from './hosting/page-host.ts';
import type { Person } from './hosting/people.ts';
import { API } from './api/api-app.ts';
import { type MountApp, OpsPage } from './page-app.tsx';
import { entranceOf, type KeptAddress, newAddress } from './page-address.ts';
import type { PagePorts } from './ports.ts';

/**
 * Counts of sessions that are followed for tabs, tabs that watch one, and listeners of the HTTP
 * API.
 */
type PageLoad = { readonly sessions: number; readonly watchers: number; readonly listeners: number };

export type ServedPage = {
  /** The plain address, which lets no browser in. */
  readonly url: string;
  /**
   * Makes a new address for a person. Where people do not sign in with their own tokens, it lets in
   * the first browser that opens it, for a short time.
   */
  entrance(): string;
  /** Address of the HTTP API. */
  readonly api: string;
  /** Whether the API has a token in addition to those of people. */
  readonly ownToken: boolean;
  live(): PageLoad;
  close(): Promise<void>;
};

type Server = ReturnType<typeof serve>;
type Serve = (hostname: string, port: number) => Promise<Server>;

const PORT_TRIES = 20;

/** Makes an address that lasts only while the page is served. */
const temporaryAddress = (): KeptAddress => ({ address: newAddress(), keep: () => undefined, letGo: () => undefined });

type Here = {
  /** Other people of this machine. */
  readonly people?: readonly Person[];
  /** Names under which ports of this machine are forwarded; printed addresses use the first. */
  readonly forwarders?: readonly Forwarder[];
  /** Exact port; serving throws SetupProblem when it is taken. */
  readonly port?: number;
  /** Another app on the same port. */
  readonly mount?: MountApp;
};

export async function servePage(
  ports: PagePorts,
  stored: KeptAddress = temporaryAddress(),
  { people = [], forwarders = [], port: chosen, mount }: Here = {},
): Promise<ServedPage> {
  const { name, port: wanted } = stored.address;
  let port = 0;
  const page = new OpsPage(
    ports,
    ownAccess(stored.address, () => `${name}:${port}`, { people, forwarders }),
    mount,
  );
  const serveAt = (hostname: string, on: number) => start(page, { hostname, port: on });
  const servers = await (chosen === undefined ? serveLoopback(wanted, serveAt) : serveThere(chosen, serveAt, page));
  port = portOf(servers[0]);
  const [forwarder] = forwarders;
  const at = { port, ...(forwarder !== undefined && { forwarded: nameAt(forwarder, port) }) };
  stored.keep(at);
  const api = `http://127.0.0.1:${port}${API}`;
  const entrance = (): string => entranceOf({ ...stored.address, ...at });
  const served = describeServed(page, servers, `http://${name}:${port}/`);
  const close = async (): Promise<void> => {
    await served.close();
    stored.letGo();
  };
  return { ...served, close, entrance, api, ownToken: true };
}

async function serveThere(port: number, serveAt: Serve, page: OpsPage): Promise<readonly [Server, ...Server[]]> {
  const servers: Server[] = [];
  try {
    const first = await serveAt('127.0.0.1', port);
    servers.push(first);
    return [first, ...(await serveAt('::1', port).then((one) => [one], freeOfIpv6))];
  } catch (error) {
    page.close();
    await Promise.all(servers.map(closeServer));
    if (codeOf(error) !== 'EADDRINUSE') throw error;
    throw new SetupProblem(`port ${port} of this machine is taken: give --port another`, { cause: error });
  }
}

/** Without IPv6, other processes cannot listen on ::1 either. */
function freeOfIpv6(error: unknown): readonly Server[] {
  if (codeOf(error) === 'EADDRINUSE') throw error;
  return [];
}

/**
 * Serves the page for people on other machines. Throws SetupProblem when it cannot listen there.
 */
export async function serveHostedPage(
  ports: PagePorts,
  { name, listen, people, by }: PageHost,
  mount?: MountApp,
): Promise<ServedPage> {
  const proxy = by.kind === 'proxy' ? { proxy: by.address } : {};
  const page = new OpsPage(ports, { host: () => name, people, hosted: true, ...proxy }, mount);
  const tls = by.kind === 'tls' ? { createServer: createHttps, serverOptions: { cert: by.cert, key: by.key } } : {};
  try {
    const server = await start(page, { hostname: listen.host, port: listen.port, ...tls });
    const url = `https://${name}/`;
    return {
      ...describeServed(page, [server], url),
      entrance: () => url,
      api: `https://${name}${API}`,
      ownToken: false,
    };
  } catch (error) {
    page.close();
    const why = codeOf(error) === 'EADDRINUSE' ? 'something else listens there' : reasonOf(error);
    throw new SetupProblem(
      `the page cannot listen on ${listen.host}:${listen.port} (${why}): give --page-listen another address`,
      {
        cause: error,
      },
    );
  }
}

type Listening = Pick<Parameters<typeof serve>[0], 'hostname' | 'port' | 'createServer' | 'serverOptions'>;

function start({ app }: OpsPage, options: object & Listening): Promise<Server> {
  return new Promise((resolve, reject) => {
    const starting = serve({ ...options, fetch: app.fetch } as Parameters<typeof serve>[0], () => resolve(starting));
    starting.once('error', reject);
  });
}

const describeServed = (
  page: OpsPage,
  servers: readonly Server[],
  url: string,
): Pick<ServedPage, 'url' | 'live' | 'close'> => ({
  url,
  live: () => ({ sessions: page.feeds.size, watchers: page.feeds.watchers, listeners: page.api.listeners }),
  close: async () => {
    page.close();
    await Promise.all(servers.map(closeServer));
  },
});

/**
 * Listens on both loopback addresses: a browser may try ::1 first, and another listener on our port
 * would receive its credentials.
 */
async function serveLoopback(wanted: number, serveAt: Serve): Promise<readonly [Server, ...Server[]]> {
  for (let tries = 1; ; tries++) {
    const server = await startAt(serveAt, tries === 1 ? wanted : 0);
    try {
      return [server, await serveAt('::1', portOf(server))];
    } catch (error) {
      // Without IPv6, other processes cannot listen on ::1 either.
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') return [server];
      await closeServer(server);
      if (tries === PORT_TRIES) throw error;
    }
  }
}

/** Gives a port that is taken up for a free one. */
async function startAt(serveAt: Serve, port: number): Promise<Server> {
  try {
    return await serveAt('127.0.0.1', port);
  } catch (error) {
    if (port === 0 || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    return serveAt('127.0.0.1', 0);
  }
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    if ('closeAllConnections' in server) server.closeAllConnections();
  });
}
