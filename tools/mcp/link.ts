// One connection to an MCP server, from the handshake to its end, by the official client library
// (L74). Nothing here outlives it.
import type { Client, ElicitRequest, ElicitResult, Progress, Transport } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { awaitInTime, pause, listenForWakes } from '../../system/async.ts';
import type { Network } from '../../system/network.ts';
import { clip, reasonOf } from '../../system/text.ts';
import { createRedact, type Redact } from '../../system/redact.ts';
import { createBoundedFetch } from './bounded-fetch.ts';
import { joinReasons, McpError } from './failures.ts';
import { readLinkError } from './link-errors.ts';
import { canAskPeople, type McpBounds, type McpHeaders, type McpServer } from './servers.ts';
import { createStdioTransport, type ServerProcesses } from './stdio.ts';
import type { Access, EndingTransport } from './transport.ts';

export type Link = {
  readonly instructions: string;
  readonly offers: {
    readonly tools: boolean;
    readonly resources: boolean;
    readonly tellsOfChanges: boolean;
    /** Calls of tools may be tasks. */
    readonly tasks: boolean;
  };
  /** Sends a request. Throws McpError, and what the signal is aborted with. */
  request<Schema extends z.ZodType>(
    method: string,
    params: object,
    schema: Schema,
    how: RequestOptions,
  ): Promise<z.output<Schema>>;
  /** Resolves when the connection is over, with the reason. */
  readonly closed: Promise<string>;
  /** The last words of the server, for the log alone. */
  readonly lastWords: () => string;
  /** What it has printed since its last message, and is none: the end of a sentence, or nothing. */
  readonly printed: () => string;
  /**
   * Takes out what the server was given as `env` and `headers`: its error messages may repeat them
   * (L74).
   */
  readonly redact: Redact;
  close(): Promise<void>;
};

export type RequestOptions = {
  readonly signal?: AbortSignal;
  /** Milliseconds. */
  readonly timeout: number;
  readonly onProgress?: (progress: Progress) => void;
  /**
   * The person who is asked what the server asks meanwhile (L77). Absent: a request for no session,
   * which asks no one.
   */
  readonly asker?: Asker;
};

export type LinkNews = {
  readonly toolsChanged: () => void;
  /** Called with the end of a sentence about the server, for the person who runs it. */
  readonly warn: (problem: string) => void;
  /** Called when an attempt begins, with what tells what was printed instead of messages. */
  readonly began: (printed: () => string) => void;
};

export type OpenLink = (signal: AbortSignal, news: LinkNews) => Promise<Link>;

/** Milliseconds. The signal says how long a handshake may take. */
export const FOR_EVER = 2 ** 31 - 1;

/** Milliseconds. */
const COURTESY_MS = 1_000;

type Library = typeof import('@modelcontextprotocol/client');

type LinkReach = {
  /** The id of the vault's credential in its headers, for messages. */
  readonly credential?: string | undefined;
  readonly network?: Pick<Network, 'fetch'> | undefined;
  /** Absent: the transport of the server's configuration. */
  readonly transport?: () => EndingTransport;
};

export function createLinkOpener(
  server: McpServer,
  processes: ServerProcesses,
  bounds: McpBounds,
  { network, transport, credential }: LinkReach = {},
): OpenLink {
  return async (signal, { toolsChanged, warn, began }) => {
    // A worker without servers does not load it.
    const library = await import('@modelcontextprotocol/client');
    const secrets = new Secrets(server);
    const { redact } = secrets;
    const means = { bounds, secrets, network, credential, warn: (problem: string) => warn(redact(problem)) };
    const chosen = transport?.() ?? chooseTransport(library, server, processes, means);
    began(() => redact(chosen.printed?.() ?? ''));
    // The stream by which a server at an address tells of a change may never be open.
    const asks = canAskPeople(server);
    const link = await connect(library, chosen, signal, {
      toolsChanged,
      redact,
      isHeard: server.type !== 'http',
      asks,
    });
    const ping = (how: RequestOptions) => link.request('ping', {}, z.looseObject({}), how);
    if (chosen.lose) askOnWake({ ping, closed: link.closed }, bounds.wakeMs, chosen.lose);
    return link;
  };
}

const LONGEST_WORDS = 500;
const MOST_SECRETS = 100;

/**
 * Hides values that a server was given and others should not read; of headers by a function, the
 * last ones.
 */
class Secrets {
  #values: readonly string[];
  #hide: Redact | null = null;

  constructor(server: McpServer) {
    this.#values = 'url' in server ? [] : Object.values(server.env ?? {});
  }

  readonly add = (headers: McpHeaders): void => {
    const values = Object.values(headers).map((value) => value.trim().replace(/^(bearer|basic) /i, ''));
    this.#values = [...new Set([...values, ...this.#values])].slice(0, MOST_SECRETS);
    this.#hide = null;
  };

  readonly redact: Redact = (text) => (this.#hide ??= createRedact(this.#values))(text);
}

/**
 * Links to a server in this process, which `connect` gives its end of the connection. The signal
 * says how long the handshake may take.
 */
export async function linkInProcess(
  connectServer: (transport: Transport) => Promise<void>,
  signal: AbortSignal,
): Promise<Link> {
  const library = await import('@modelcontextprotocol/client');
  const [own, other] = library.InMemoryTransport.createLinkedPair();
  await connectServer(other);
  const redact: Redact = (text) => text;
  return await connect(library, own, signal, { toolsChanged: () => undefined, redact, isHeard: true, asks: false });
}

type TransportMeans = Pick<LinkReach, 'network' | 'credential'> &
  Pick<LinkNews, 'warn'> & { readonly bounds: McpBounds; readonly secrets: Secrets };

function chooseTransport(
  { StreamableHTTPClientTransport, SSEClientTransport, SseError, deserializeMessage }: Library,
  server: McpServer,
  processes: ServerProcesses,
  { bounds, secrets, network, credential, warn }: TransportMeans,
): EndingTransport {
  if (!('url' in server)) return createStdioTransport(server, processes, bounds, deserializeMessage, warn);
  let challenge = '';
  const fetch = createBoundedFetch({
    ...server,
    ...network,
    limit: bounds.message,
    onHeaders: secrets.add,
    challenged: (words) => (challenge = words),
  });
  const access = (): Access => ({ hasHeaders: server.headers !== undefined, credential, challenge });
  const url = new URL(server.url);
  let why: string | undefined;
  const lose = (reason: string): void => {
    why ??= reason;
    void transport.close();
  };
  const ending = { access, why: () => why, lose };
  // The older stream opens itself again and again, and the server does not know the new client:
  // work that was begun on the old one is over.
  const onerror = (error: Error): void => {
    if (error instanceof SseError) lose(`its stream of events broke off: ${reasonOf(error)}`);
  };
  const transport: EndingTransport =
    server.type === 'http'
      ? Object.assign(new StreamableHTTPClientTransport(url, { fetch }), ending)
      : Object.assign(new SSEClientTransport(url, { fetch }), ending, { type: 'sse' as const, onerror });
  return transport;
}

type LinkOptions = {
  readonly toolsChanged: () => void;
  readonly redact: Redact;
  /** All its notifications arrive. */
  readonly isHeard: boolean;
  /** It may ask people. */
  readonly asks: boolean;
};

async function connect(
  library: Library,
  transport: EndingTransport,
  signal: AbortSignal,
  listening: LinkOptions,
): Promise<Link> {
  const { toolsChanged, redact, asks } = listening;
  // A question to a person in the middle of a call holds the call's slot (L63): it is declared
  // where the configuration allows it, and models are never offered.
  const capabilities = asks ? { elicitation: { form: {}, url: {} } } : {};
  const client = new library.Client({ name: 'perdure', version: '0' }, { capabilities });
  const askers = new Askers();
  if (asks)
    client.setRequestHandler('elicitation/create', ({ params }, { mcpReq }) => askers.ask(params, mcpReq.signal));
  client.fallbackRequestHandler = ({ method }) =>
    Promise.reject(new Error(`${method} is refused: this client answers no requests of servers`));
  client.setNotificationHandler('notifications/tools/list_changed', toolsChanged);
  const closed = new Promise<string>((resolve) => {
    Object.assign(client, { onclose: () => resolve(redact(transport.why?.() ?? 'its connection was closed')) });
  });
  const close = async (): Promise<void> => {
    await transport.close();
  };
  try {
    const handshake = client.connect(transport, { signal, timeout: FOR_EVER });
    // An aborted attempt may have got no further than starting a process.
    signal.addEventListener('abort', () => void close(), { once: true });
    await handshake;
  } catch (error) {
    await close();
    const lastWords = redact(transport.lastWords?.() ?? '');
    const why = transport.why?.() ?? readLinkError(library, error, transport).message;
    throw new McpError('lost', clip(redact(why), LONGEST_WORDS), error, lastWords);
  }
  return buildLink(library, client, transport, { ...listening, closed, close, askers });
}

type LinkParts = LinkOptions & Pick<Link, 'closed' | 'close'> & { readonly askers: Askers };

function buildLink(
  library: Library,
  client: Client,
  transport: EndingTransport,
  { closed, close, redact, isHeard, askers }: LinkParts,
): Link {
  const { tools, resources, tasks } = client.getServerCapabilities() ?? {};
  return {
    instructions: client.getInstructions() ?? '',
    offers: {
      tools: tools !== undefined,
      resources: resources !== undefined,
      tellsOfChanges: isHeard && tools?.listChanged === true,
      tasks: tasks?.requests?.tools?.call !== undefined,
    },
    async request(method, params, schema, { signal, timeout, onProgress, asker }) {
      if (asker) askers.begin(asker);
      try {
        const options = { timeout, ...(signal && { signal }), ...(onProgress && { onprogress: onProgress }) };
        return (await client.request({ method, params } as never, schema, options)) as never;
      } catch (error) {
        const { kind, message: reason } = readLinkError(library, error, transport);
        const message = kind === 'late' ? joinReasons(reason, transport.printed?.() ?? '') : reason;
        if (asker && (signal?.aborted === true || kind === 'late')) askers.giveUp(asker);
        // The server has been told.
        if (signal?.aborted === true) throw signal.reason;
        throw new McpError(kind, clip(redact(message), LONGEST_WORDS), error);
      } finally {
        if (asker) askers.end(asker);
      }
    },
    closed,
    lastWords: () => redact(transport.lastWords?.() ?? ''),
    printed: () => redact(transport.printed?.() ?? ''),
    redact,
    async close() {
      // This is a courtesy: the connection ends whatever its result.
      const terminated = transport.terminateSession?.().catch(() => undefined);
      if (terminated) await awaitInTime(terminated, undefined, COURTESY_MS);
      await close();
    },
  };
}

/**
 * Tries that share the time: the first may go over a connection that died, and a network needs some
 * seconds to come back.
 */
const TRIES = 4;

type AskedServer = {
  /** Throws McpError. `timeout` is in milliseconds. */
  readonly ping: (how: { readonly signal: AbortSignal; readonly timeout: number }) => Promise<unknown>;
  /** Resolves when the connection is over. */
  readonly closed: Promise<unknown>;
};

/**
 * Asks a server at an address whether it still answers, each time this machine has slept: its
 * connection may have died meanwhile, and nobody would notice before the time of a call is over.
 * Asks until the connection is over. `lose` is called with the end of a sentence when no answer
 * came `withinMs` after a sleep.
 */
function askOnWake(server: AskedServer, withinMs: number, lose: (why: string) => void): void {
  const closed = new AbortController();
  let isAsking = false;
  const wakes = listenForWakes((ms) => {
    if (isAsking) return;
    isAsking = true;
    void ask(server, withinMs / TRIES, closed.signal).then((failure) => {
      isAsking = false;
      if (failure === null) return;
      lose(`this machine slept, or its clock was set, by ${Math.round(ms / 1_000)} s, and after that: ${failure}`);
    });
  });
  void server.closed.then(() => {
    wakes.stop();
    closed.abort();
  });
}

/** Returns why the server is of no use, or null where it answers, or its connection is over. */
async function ask({ ping }: AskedServer, tryMs: number, closed: AbortSignal): Promise<string | null> {
  let failure: string | null = null;
  for (let tries = 0; tries < TRIES; tries += 1) {
    const rest = pause(tryMs, closed);
    try {
      await ping({ signal: closed, timeout: tryMs });
      return null;
    } catch (error) {
      if (closed.aborted || !(error instanceof McpError)) return null;
      if (error.kind === 'forgotten') return error.message;
      // Whatever else it answers, it is there.
      if (error.kind !== 'lost' && error.kind !== 'late') return null;
      failure = error.message;
    }
    if (!(await rest)) return null;
  }
  return failure;
}

/**
 * `session` names the session whose people are asked. Without `answer` they are not, but a server
 * may ask for it all the same.
 */
type Asker = { readonly session: string; readonly answer?: OnAsked };

/** `signal` is aborted when the server no longer waits. */
export type OnAsked = (request: ElicitRequest['params'], signal: AbortSignal) => Promise<ElicitResult>;

/**
 * Finds the person to ask when an MCP server asks in the middle of a call (elicitation, L77): it
 * does not say in which call it asks. The calls that are under way on one connection.
 */
export class Askers {
  readonly #open = new Set<Asker>();
  #hasGivenUp = false;

  begin(asker: Asker): void {
    this.#open.add(asker);
  }

  end(asker: Asker): void {
    this.#open.delete(asker);
  }

  /**
   * Ends a call that was given up. The server may still work on it: a later question may be about
   * that call.
   */
  giveUp(asker: Asker): void {
    this.#hasGivenUp = true;
    this.end(asker);
  }

  /**
   * Asks the people of the last call that began; refuses where people of another session could be
   * asked, or for a call that is over.
   */
  readonly ask: OnAsked = (request, signal) => {
    const [last, ...others] = [...this.#open].toReversed();
    if (!last || this.#hasGivenUp || others.some(({ session }) => session !== last.session))
      return Promise.reject(new Error('it is refused: it cannot be told which call asks'));
    return last.answer?.(request, signal) ?? Promise.resolve({ action: 'cancel' });
  };
}
