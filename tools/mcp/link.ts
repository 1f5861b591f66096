// One connection to an MCP server, from the handshake to its end, by the official client library
// (L74). Nothing here outlives it.
import type { Client, Progress, Transport } from '@modelcontextprotocol/client';
import type { z } from 'zod';
import { awaitInTime } from '../../system/async.ts';
import type { Network } from '../../system/network.ts';
import { clip, reasonOf } from '../../system/text.ts';
import { createRedact, type Redact } from '../../system/redact.ts';
import { type Asker, Askers } from './askers.ts';
import { createBoundedFetch } from './bounded-fetch.ts';
import { McpError } from './failures.ts';
import { TOO_LARGE } from './long-lines.ts';
import { canAskPeople, type McpBounds, type McpHeaders, type McpServer } from './servers.ts';
import { type EndingTransport, type ServerProcesses, createStdioTransport } from './stdio.ts';

export type Link = {
  readonly instructions: string;
  readonly offers: { readonly tools: boolean; readonly resources: boolean; readonly tellsOfChanges: boolean };
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
  readonly said: () => string;
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

export type OpenLink = (signal: AbortSignal, toolsChanged: () => void) => Promise<Link>;

/** Milliseconds. The signal says how long a handshake may take. */
export const FOR_EVER = 2 ** 31 - 1;

/** Milliseconds. */
const COURTESY_MS = 1_000;

type Library = typeof import('@modelcontextprotocol/client');

type LinkReach = {
  readonly network?: Pick<Network, 'fetch'> | undefined;
  /** Absent: the transport of the server's configuration. */
  readonly transport?: () => EndingTransport;
};

export function createLinkOpener(
  server: McpServer,
  processes: ServerProcesses,
  bounds: McpBounds,
  { network, transport }: LinkReach = {},
): OpenLink {
  return async (signal, toolsChanged) => {
    // A worker without servers does not load it.
    const library = await import('@modelcontextprotocol/client');
    const secrets = new Secrets(server);
    const chosen = transport?.() ?? chooseTransport(library, server, processes, { bounds, secrets, network });
    const { redact } = secrets;
    // The stream by which a server at an address tells of a change may never be open.
    const asks = canAskPeople(server);
    return await connect(library, chosen, signal, { toolsChanged, redact, isHeard: server.type !== 'http', asks });
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

type TransportMeans = Pick<LinkReach, 'network'> & { readonly bounds: McpBounds; readonly secrets: Secrets };

function chooseTransport(
  { StreamableHTTPClientTransport, SSEClientTransport, SseError, deserializeMessage }: Library,
  server: McpServer,
  processes: ServerProcesses,
  { bounds, secrets, network }: TransportMeans,
): EndingTransport {
  if (!('url' in server)) return createStdioTransport(server, processes, bounds, deserializeMessage);
  const options = { fetch: createBoundedFetch({ ...server, ...network, limit: bounds.message, told: secrets.add }) };
  const url = new URL(server.url);
  if (server.type === 'http') return new StreamableHTTPClientTransport(url, options);
  // Its stream opens itself again and again, and the server does not know the new client: work that
  // was begun on the old one is over.
  let why: string | undefined;
  const transport: EndingTransport = Object.assign(new SSEClientTransport(url, options), {
    why: () => why,
    onerror: (error: Error) => {
      if (!(error instanceof SseError)) return;
      why ??= `its stream of events broke off: ${reasonOf(error)}`;
      void transport.close();
    },
  });
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
    const said = redact(transport.said?.() ?? '');
    throw new McpError('lost', clip(redact(transport.why?.() ?? describeLinkError(error)), LONGEST_WORDS), error, said);
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
  const { tools, resources } = client.getServerCapabilities() ?? {};
  return {
    instructions: client.getInstructions() ?? '',
    offers: {
      tools: tools !== undefined,
      resources: resources !== undefined,
      tellsOfChanges: isHeard && tools?.listChanged === true,
    },
    async request(method, params, schema, { signal, timeout, onProgress, asker }) {
      if (asker) askers.begin(asker);
      try {
        const options = { timeout, ...(signal && { signal }), ...(onProgress && { onprogress: onProgress }) };
        return (await client.request({ method, params } as never, schema, options)) as never;
      } catch (error) {
        const { kind, message } = readError(library, error, transport);
        if (asker && (signal?.aborted === true || kind === 'late')) askers.giveUp(asker);
        // The server has been told.
        if (signal?.aborted === true) throw signal.reason;
        throw new McpError(kind, clip(redact(message), LONGEST_WORDS), error);
      } finally {
        if (asker) askers.end(asker);
      }
    },
    closed,
    said: () => redact(transport.said?.() ?? ''),
    redact,
    async close() {
      // This is a courtesy: the connection ends whatever its result.
      const terminated = transport.terminateSession?.().catch(() => undefined);
      if (terminated) await awaitInTime(terminated, undefined, COURTESY_MS);
      await close();
    },
  };
}

function readError(
  { ProtocolError, SdkError, SdkErrorCode, SdkHttpError }: Library,
  error: unknown,
  transport: EndingTransport,
): Pick<McpError, 'kind' | 'message'> {
  const message = describeLinkError(error);
  // This error is ours, in the place of an answer that is too large: the call has run.
  const isOurs = error instanceof ProtocolError && error.message.includes(TOO_LARGE);
  if (error instanceof ProtocolError) return { kind: isOurs ? 'unreadable' : 'refused', message };
  if (error instanceof SdkHttpError) return { kind: isConnectionStatus(error.status) ? 'lost' : 'refused', message };
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.RequestTimeout) return { kind: 'late', message: 'it did not answer in time' };
    if (error.code === SdkErrorCode.InvalidResult) return { kind: 'unreadable', message };
    return { kind: 'lost', message: transport.why?.() ?? message };
  }
  // The address cannot be reached, or the answer is not JSON, or too long.
  return { kind: error instanceof TypeError ? 'lost' : 'unreadable', message };
}

/**
 * Tells whether a status is about the connection. Other statuses are about one request: the
 * connection goes on with those of others.
 */
function isConnectionStatus(status: number | undefined): boolean {
  return status === undefined || status < 400 || status >= 500 || [401, 403, 404, 408].includes(status);
}

/** Words an error: `fetch failed` says nothing, and its cause does. */
function describeLinkError(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${reasonOf(error.cause)}` : '';
  const status = error instanceof Error && 'status' in error ? ` (HTTP status ${String(error.status)})` : '';
  return `${reasonOf(error)}${cause}${status}`;
}
