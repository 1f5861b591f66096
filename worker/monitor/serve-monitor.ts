// Answers /metrics, /healthz and /readyz of one process, on an address that its operator chose
// (O14, O17). Temporal's exporter listens on a free port of this machine's loopback, and what it
// says is passed on: one address for both.
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ConfigProblem } from '../config/config.ts';
import { freePort } from '../embedded/server-args.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import { reasonOf } from '../../system/text.ts';
import { isKnownHost } from './known-hosts.ts';

/** Sentences: what keeps it from its work; none when it is ready. */
export type Health = () => Promise<readonly string[]>;

/** More lines for /metrics, as Prometheus reads them. Never rejects. */
export type MoreMetrics = () => Promise<string>;

export type Monitor = {
  /** As `http://127.0.0.1:9464`. */
  readonly url: string;
  /** Where Temporal's own exporter is to listen. */
  readonly exporter: string;
  /** From here on it is asked; until then the process is starting. */
  watch(health: Health): void;
  add(more: MoreMetrics): void;
  close(): Promise<void>;
};

/** A probe that comes more often is told what was found within these milliseconds. */
const HEALTH_HOLDS_MS = 2_000;
const EXPORTER_MS = 5_000;

/**
 * `asked`: how the address was given. `hosts`: names besides its own under which it is asked.
 * Throws ConfigProblem for what is no address, SetupProblem for one that cannot be listened on.
 */
export async function serveMonitor(address: string, asked: string, hosts: readonly string[] = []): Promise<Monitor> {
  const { host, port } = parseAddress(address, asked);
  // Free a moment ago: whoever takes it meanwhile makes the runtime's start fail, with a sentence.
  const exporter = `127.0.0.1:${await freePort()}`;
  let health: Health = () => Promise.resolve(['it is starting']);
  const added: MoreMetrics[] = [];
  const more: MoreMetrics = async () => (await Promise.all(added.map((lines) => lines()))).join('');
  const server = createHttpServer((request, response) => {
    const problem = problemOf(request, isKnownHost(request.headers.host, host, hosts));
    const answer = problem ?? answerTo(pathOf(request), { exporter, health: () => health(), more });
    const failed = (error: unknown): Answer => ({ status: 503, text: `${reasonOf(error)}\n` });
    void Promise.resolve(answer)
      .catch(failed)
      .then((found) => send(response, found));
  });
  await listen(server, host, port, asked);
  const { port: taken } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`,
    exporter,
    watch: (found) => {
      health = held(found);
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

type Asked = { readonly exporter: string; readonly health: Health; readonly more: MoreMetrics };

/** Null: it is answered. */
function problemOf({ method, url = '' }: IncomingMessage, isKnown: boolean): Answer | null {
  if (!url.startsWith('/') || url.startsWith('//')) return { status: 400, text: 'ask for a path, as in /metrics\n' };
  if (!isKnown)
    return {
      status: 421,
      text: 'this is another host than those that are answered: name it in PERDURE_METRICS_HOSTS\n',
    };
  return method === 'GET' || method === 'HEAD' ? null : { status: 405, text: 'only GET and HEAD\n' };
}

/** As it was sent: what a URL cannot be is no path of ours either. */
const pathOf = ({ url = '' }: IncomingMessage): string => url.split('?', 1)[0] ?? '';

async function answerTo(path: string, { exporter, health, more }: Asked): Promise<Answer> {
  if (path === '/healthz') return { status: 200, text: 'ok\n' };
  if (path === '/readyz') {
    const problems = await health().catch((error: unknown) => [reasonOf(error)]);
    return problems.length === 0
      ? { status: 200, text: 'ready\n' }
      : { status: 503, text: problems.map((problem) => `not ready: ${problem}\n`).join('') };
  }
  if (path !== '/metrics') return { status: 404, text: 'there are /metrics, /healthz and /readyz\n' };
  const [own, lines] = await Promise.all([exported(exporter), more()]);
  return { status: 200, text: own + lines, type: 'text/plain; version=0.0.4; charset=utf-8' };
}

/** Empty while no runtime exports there, as in a process without a worker. */
async function exported(exporter: string): Promise<string> {
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

function held(health: Health): Health {
  let last: { readonly at: number; readonly found: Promise<readonly string[]> } | null = null;
  return () => {
    const now = performance.now();
    if (!last || now - last.at > HEALTH_HOLDS_MS) last = { at: now, found: health() };
    return last.found;
  };
}

/**
 * `9464` is a port of this machine's loopback; `0.0.0.0:9464` and `[::1]:9464` name an interface
 * too.
 */
function parseAddress(address: string, asked: string): { readonly host: string; readonly port: number } {
  const [, ipv6, named, digits = ''] = /^(?:\[([0-9A-Fa-f:.]+)\]:|([A-Za-z0-9.-]+):)?(\d{1,5})$/.exec(address) ?? [];
  const port = Number(digits);
  if (digits !== '' && port <= 65_535) return { host: ipv6 ?? named ?? '127.0.0.1', port };
  const shown = JSON.stringify(address.slice(0, 80));
  throw new ConfigProblem(`${asked} is ${shown}: give a port, or host:port as in 127.0.0.1:9464`);
}

async function listen(server: Server, host: string, port: number, asked: string): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, resolve);
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? 'something else listens there' : reasonOf(error);
    throw new SetupProblem(`${asked}: nothing can listen on ${host}:${port} (${why}): give another address`, {
      cause: error,
    });
  }
}
