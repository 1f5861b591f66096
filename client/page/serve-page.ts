// Serves the status page on a free loopback port, to whoever has its token.
import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { Opened } from '../connect/open-server.ts';
import { readSession } from '../session-reading.ts';
import { type PagePorts, statusPage } from './status-page.tsx';

export type ServedPage = {
  /** With the token: whoever opens it once is known from then on. */
  readonly url: string;
  close(): Promise<void>;
};

export async function servePage(ports: PagePorts): Promise<ServedPage> {
  const token = randomBytes(24).toString('base64url');
  let port = 0;
  const app = statusPage(ports, { token, host: () => `127.0.0.1:${port}` });
  const server = await new Promise<ReturnType<typeof serve>>((resolve, reject) => {
    const starting = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, () => resolve(starting));
    starting.once('error', reject);
  });
  port = (server.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${port}/?token=${token}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        if ('closeAllConnections' in server) server.closeAllConnections();
      }),
  };
}

export function pagePorts(opened: Opened): PagePorts {
  return {
    list: () => opened.sessions.list(),
    read: (session) => readSession(opened, session as SessionId),
  };
}
