// How the dev server is tuned for one machine. At its defaults every turn takes 200 ms and timers
// come up to a second late.
import { randomUUID, randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { basename } from 'node:path';
import { ATTRIBUTES, type AttributeType } from '../../workflows/contract/visibility.ts';

export const NAMESPACE = 'default';
/** The dev server's own keeps closed sessions for a day. */
export const RETENTION_DAYS = 90;

const LOOPBACK = '127.0.0.1';

const dynamicConfig = (httpHost: string): readonly string[] => [
  // 20 a second by default, which alone makes a turn take 200 ms.
  'history.transferProcessorMaxPollRPS=10000',
  'history.timerProcessorMaxPollRPS=1000',
  'history.timerProcessorMaxTimeShift="10ms"',
  // An activity starts in the answer to the workflow task that asked for it.
  'system.enableActivityEagerExecution=true',
  // Its HTTP API would do whatever a web page in the user's browser asks: it has no key, and
  // answers any host and origin. Nobody knows this host.
  `frontend.httpAllowedHosts=["${httpHost}"]`,
];

/** A power cut may lose the last moments, never the database. */
const pragmas = ['journal_mode=wal', 'synchronous=1'];

const flagTypes: Readonly<Record<AttributeType, string>> = {
  KEYWORD: 'Keyword',
  KEYWORD_LIST: 'KeywordList',
  INT: 'Int',
  DOUBLE: 'Double',
  DATETIME: 'Datetime',
};

export type ServerArgs = {
  readonly port: number;
  readonly database: string;
  /** Where its own UI listens; null: it has none, for that asks nobody who they are. */
  readonly uiPort: number | null;
};

/**
 * How the server, which runs in the data folder, is told of its database. SQLite reads what it is
 * given as an address of a file: a path with a sign of such addresses in it is not named.
 */
export function databaseArgument(path: string): string {
  return /[#?%]/.test(path) ? basename(path) : path;
}

/**
 * Arguments of `temporal`. Other ports (metrics, HTTP, internal services) the server finds free
 * itself, on loopback.
 */
export function serverArgs(options: ServerArgs): readonly string[] {
  const flags = [
    ['--log-level', 'error'],
    ['--ip', LOOPBACK],
    ['--port', String(options.port)],
    ['--db-filename', databaseArgument(options.database)],
    ...Object.values(ATTRIBUTES).map(({ name, type }) => ['--search-attribute', `${name}=${flagTypes[type]}`]),
    ...pragmas.map((pragma) => ['--sqlite-pragma', pragma]),
    ...dynamicConfig(`${randomUUID()}.invalid`).map((setting) => ['--dynamic-config-value', setting]),
  ];
  const ui = options.uiPort === null ? ['--headless'] : ['--ui-ip', LOOPBACK, '--ui-port', String(options.uiPort)];
  return ['server', 'start-dev', ...ui, ...flags.flat()];
}

// A port for a server that keeps it over restarts. Below the range that systems hand out for
// outgoing connections: while the server is down, no other program's connection, and no worker's
// own attempt to reconnect, can sit on it.

const FIRST = 20_000;
const LAST = 32_000;
const TRIES = 50;

/** A free port on 127.0.0.1. Someone may take it before it is used: the caller tries again. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(FIRST, LAST);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port between ${FIRST} and ${LAST} on 127.0.0.1 after ${TRIES} tries`);
}

export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => probe.close(() => resolve(true)));
  });
}
