// Finds a port for a server that keeps it over restarts. It lies below the range that systems hand
// out for outgoing connections: while the server is down, no other program's connection, and no
// worker's own attempt to reconnect, can sit on it.
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

const FIRST_PORT = 20_000;
const LAST = 32_000;
const TRIES = 50;

/**
 * Finds a free port on 127.0.0.1. Another program may take it before it is used: the caller tries
 * again.
 */
export async function findFreePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(FIRST_PORT, LAST);
    if (await isPortFree(port)) return port;
  }
  throw new Error(`no free port between ${FIRST_PORT} and ${LAST} on 127.0.0.1 after ${TRIES} tries`);
}

export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => probe.close(() => resolve(true)));
  });
}
