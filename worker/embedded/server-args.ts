// Tunes the dev server for one machine. At its defaults every turn takes 200 ms and timers come up
// to a second late.
import { randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import { ATTRIBUTES, type AttributeType } from '../../workflows/contract/visibility.ts';

export const NAMESPACE = 'default';
/** Days that closed sessions are kept; the dev server's own default is one day. */
export const RETENTION_DAYS = 90;

const LOOPBACK = '127.0.0.1';

const dynamicConfig = (httpHost: string): readonly string[] => [
  // The default of 20 a second alone makes a turn take 200 ms.
  'history.transferProcessorMaxPollRPS=10000',
  'history.timerProcessorMaxPollRPS=1000',
  'history.timerProcessorMaxTimeShift="10ms"',
  // An activity starts in the answer to the workflow task that asked for it.
  'system.enableActivityEagerExecution=true',
  // Workers tell of themselves: versions, slots, and that they live.
  'frontend.WorkerHeartbeatsEnabled=true',
  'frontend.ListWorkersEnabled=true',
  // The HTTP API would do what any web page in the user's browser asks: it has no key, and answers
  // any host and origin. This host is known to no one.
  `frontend.httpAllowedHosts=["${httpHost}"]`,
];

/** With these a power cut may lose the last moments, never the database. */
const PRAGMAS = ['journal_mode=wal', 'synchronous=1'];

const FLAG_TYPES: Readonly<Record<AttributeType, string>> = {
  KEYWORD: 'Keyword',
  KEYWORD_LIST: 'KeywordList',
  INT: 'Int',
  DOUBLE: 'Double',
  DATETIME: 'Datetime',
};

export type ServerArgs = {
  readonly port: number;
  readonly database: string;
  /** The port of the server's own UI; null without it, since it has no authentication. */
  readonly uiPort: number | null;
};

/**
 * Returns how the server, which runs in the data folder, is told of its database. SQLite reads the
 * name as a file's address: a path with a sign of such addresses in it is not named.
 */
export function databaseArgument(path: string): string {
  return /[#?%]/.test(path) ? basename(path) : path;
}

/**
 * Returns the arguments of `temporal`. The server finds other ports (metrics, HTTP, internal
 * services) itself, on loopback.
 */
export function serverArgs(options: ServerArgs): readonly string[] {
  const flags = [
    ['--log-level', 'error'],
    ['--ip', LOOPBACK],
    ['--port', String(options.port)],
    ['--db-filename', databaseArgument(options.database)],
    ...Object.values(ATTRIBUTES).map(({ name, type }) => ['--search-attribute', `${name}=${FLAG_TYPES[type]}`]),
    ...PRAGMAS.map((pragma) => ['--sqlite-pragma', pragma]),
    ...dynamicConfig(`${randomUUID()}.invalid`).map((setting) => ['--dynamic-config-value', setting]),
  ];
  const ui = options.uiPort === null ? ['--headless'] : ['--ui-ip', LOOPBACK, '--ui-port', String(options.uiPort)];
  return ['server', 'start-dev', ...ui, ...flags.flat()];
}
