// Serves the ops page on a loopback port, to whoever has its token. Its name is its own: a browser sends a cookie to every
// port of a host, so that one of 127.0.0.1 would reach whatever else listens there. Browsers take *.localhost for this machine.
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { opsPage } from './page-app.tsx';
import { type KeptAddress, newAddress } from './page-address.ts';
import type { PagePorts } from './ports.ts';

export type ServedPage = {
  /** With the token: whoever opens it once is known from then on. */
  readonly url: string;
  /** Sessions that are followed for it, and how many watch them. */
  live(): { readonly sessions: number; readonly watchers: number };
  close(): Promise<void>;
};

type Server = ReturnType<typeof serve>;
type Serve = (hostname: string, port: number) => Promise<Server>;

const PORT_TRIES = 20;

/** Absent: an address of its own, for as long as it is served. */
const passing = (): KeptAddress => ({ address: newAddress(), keep: () => undefined });

export async function servePage(ports: PagePorts, kept: KeptAddress = passing()): Promise<ServedPage> {
  const { token, name, port: wanted } = kept.address;
  let port = 0;
  const page = opsPage(ports, { token, host: () => `${name}:${port}` });
  const servers = await serveLoopback(
    wanted,
    (hostname, at) =>
      new Promise((resolve, reject) => {
        const starting = serve({ fetch: page.app.fetch, hostname, port: at }, () => resolve(starting));
        starting.once('error', reject);
      }),
  );
  port = portOf(servers[0]);
  kept.keep(port);
  return {
    url: `http://${name}:${port}/?token=${token}`,
    live: () => ({ sessions: page.feeds.size, watchers: page.feeds.watchers }),
    close: async () => {
      page.close();
      await Promise.all(servers.map(closeServer));
    },
  };
}

/** Both loopback addresses: a browser may try ::1 first, and who listened there on our port would be given the token. */
async function serveLoopback(wanted: number, start: Serve): Promise<readonly [Server, ...Server[]]> {
  for (let tries = 1; ; tries++) {
    const server = await startAt(start, tries === 1 ? wanted : 0);
    try {
      return [server, await start('::1', portOf(server))];
    } catch (error) {
      // Where there is no IPv6 nobody else can listen there either.
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') return [server];
      await closeServer(server);
      if (tries === PORT_TRIES) throw error;
    }
  }
}

/** A port that another has meanwhile is given up for a free one. */
async function startAt(start: Serve, port: number): Promise<Server> {
  try {
    return await start('127.0.0.1', port);
  } catch (error) {
    if (port === 0 || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    return start('127.0.0.1', 0);
  }
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    if ('closeAllConnections' in server) server.closeAllConnections();
  });
}
