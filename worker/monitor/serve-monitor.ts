// Answers /metrics, /healthz and /readyz of one process, on an address that its operator chose
// (O14, O17). Temporal's exporter listens on a free port of this machine's loopback, and its lines
// are passed on: one address for both.
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ConfigProblem } from '../config/config.ts';
import { findFreePort } from '../embedded/free-port.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import { reasonOf } from '../../system/text.ts';
import { isKnownHost } from './known-hosts.ts';

/**
 * Resolves to sentences that say what keeps the process from its work; empty when it is ready. Only
 * /readyz asks: /healthz answers `ok` as long as the process answers at all.
 */
type ReadinessCheck = () => Promise<readonly string[]>;

/** Resolves to more lines for /metrics, as Prometheus reads them. Never rejects. */
type MoreMetrics = () => Promise<string>;

export type Monitor = {
  /** The address, such as `http://127.0.0.1:9464`. */
  readonly url: string;
  /** The address on which Temporal's own exporter must listen. */
  readonly exporter: string;
  /** Sets what /readyz asks; until then it answers that the process is starting. */
  watch(health: ReadinessCheck): void;
  add(more: MoreMetrics): void;
  close(): Promise<void>;
};

/** Milliseconds for which a result is reused: a probe that comes sooner gets the same one. */
const HEALTH_HOLDS_MS = 2_000;
const EXPORTER_MS = 5_000;

/**
 * Listens on `address`. `setting` is how the address was given, for errors; `hosts` are names
 * besides its own under which it is asked. Throws ConfigProblem for an invalid address,
 * SetupProblem for one that cannot be listened on.
 */
export async function serveMonitor(address: string, setting: string, hosts: readonly string[] = []): Promise<Monitor> {
  const { host, port } = parseAddress(address, setting);
  // The port was free a moment ago: a program that takes it meanwhile makes the runtime's start
  // fail, with a sentence.
  const exporter = `127.0.0.1:${await findFreePort()}`;
  let health: ReadinessCheck = () => Promise.resolve(['it is starting']);
  const added: MoreMetrics[] = [];
  const more: MoreMetrics = async () => (await Promise.all(added.map((lines) => lines()))).join('');
  const server = createHttpServer((request, response) => {
    const problem = requestProblem(request, isKnownHost(request.headers.host, host, hosts));
    const answer = problem ?? answerPath(pathOf(request), { exporter, health: () => health(), more });
    const failed = (error: unknown): Answer => ({ status: 503, text: `${reasonOf(error)}\n` });
    void Promise.resolve(answer)
      .catch(failed)
      .then((found) => send(response, found));
  });
  await listenOn(server, host, port, setting);
  const { port: boundPort } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${boundPort}`,
    exporter,
    watch: (found) => {
      health = holdHealth(found);
    },
    add: (lines) => void added.push(lines),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type Answer = { readonly status: number; readonly text: string; readonly type?: string };

type MonitorSources = { readonly exporter: string; readonly health: ReadinessCheck; readonly more: MoreMetrics };

/** Returns the answer that refuses a request; null for one that is carried out. */
function requestProblem({ method, url = '' }: IncomingMessage, isKnown: boolean): Answer | null {
  if (!url.startsWith('/') || url.startsWith('//')) return { status: 400, text: 'ask for a path, as in /metrics\n' };
  if (!isKnown)
    return {
      status: 421,
      text: 'this is another host than those that are answered: name it in PERDURE_METRICS_HOSTS\n',
    };
  return method === 'GET' || method === 'HEAD' ? null : { status: 405, text: 'only GET and HEAD\n' };
}

/** Returns the path as it was sent: a path that no URL can have is not one of ours either. */
const pathOf = ({ url = '' }: IncomingMessage): string => url.split('?', 1)[0] ?? '';

async function answerPath(path: string, { exporter, health, more }: MonitorSources): Promise<Answer> {
  if (path === '/healthz') return { status: 200, text: 'ok\n' };
  if (path === '/readyz') {
    const problems = await health().catch((error: unknown) => [reasonOf(error)]);
    return problems.length === 0
      ? { status: 200, text: 'ready\n' }
      : { status: 503, text: problems.map((problem) => `not ready: ${problem}\n`).join('') };
  }
  if (path !== '/metrics') return { status: 404, text: 'there are /metrics, /healthz and /readyz\n' };
  const [own, lines] = await Promise.all([readExported(exporter), more()]);
  return { status: 200, text: own + lines, type: 'text/plain; version=0.0.4; charset=utf-8' };
}

/**
 * Reads the exported metrics; empty while no runtime exports there, as in a process without a
 * worker.
 */
async function readExported(exporter: string): Promise<string> {
  try {
    const response = await fetch(`http://${exporter}/metrics`, { signal: AbortSignal.timeout(EXPORTER_MS) });
    return response.ok ? await response.text() : '';
  } catch {
    return '';
  }
}

function send(response: ServerResponse, { status, text, type = 'text/plain; charset=utf-8' }: Answer): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' });
  response.end(text);
}

function holdHealth(health: ReadinessCheck): ReadinessCheck {
  let last: { readonly at: number; readonly found: Promise<readonly string[]> } | null = null;
  return () => {
    const now = performance.now();
    if (!last || now - last.at > HEALTH_HOLDS_MS) last = { at: now, found: health() };
    return last.found;
  };
}

/**
 * Parses the address: `9464` is a port of this machine's loopback; `0.0.0.0:9464` and `[::1]:9464`
 * name an interface too.
 */
function parseAddress(address: string, setting: string): { readonly host: string; readonly port: number } {
  const [, ipv6, named, digits = ''] = /^(?:\[([0-9A-Fa-f:.]+)\]:|([A-Za-z0-9.-]+):)?(\d{1,5})$/.exec(address) ?? [];
  const port = Number(digits);
  if (digits !== '' && port <= 65_535) return { host: ipv6 ?? named ?? '127.0.0.1', port };
  const quoted = JSON.stringify(address.slice(0, 80));
  throw new ConfigProblem(`${setting} is ${quoted}: give a port, or host:port as in 127.0.0.1:9464`);
}

async function listenOn(server: Server, host: string, port: number, setting: string): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, resolve);
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? 'something else listens there' : reasonOf(error);
    throw new SetupProblem(`${setting}: nothing can listen on ${host}:${port} (${why}): give another address`, {
      cause: error,
    });
  }
}
