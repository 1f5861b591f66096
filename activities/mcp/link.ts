// One connection to an MCP server, from the handshake to its end, by the official client library (L74). Nothing here outlives it.
import type { Client, Progress } from '@modelcontextprotocol/client';
import type { z } from 'zod';
import { awaitInTime } from '../async.ts';
import { reasonOf } from '../text.ts';
import { boundedFetch } from './bounded-fetch.ts';
import { TOO_LARGE } from './long-lines.ts';
import type { McpBounds, McpServer } from './servers.ts';
import { type EndingTransport, type ServerProcesses, stdioTransport } from './stdio.ts';

export type Link = {
  readonly instructions: string;
  readonly offers: { readonly tools: boolean; readonly resources: boolean; readonly tellsOfChanges: boolean };
  /** Throws McpError, and what the signal is aborted with. */
  request<Schema extends z.ZodType>(
    method: string,
    params: object,
    schema: Schema,
    how: Asking,
  ): Promise<z.output<Schema>>;
  /** Resolves when it is over, with why. */
  readonly closed: Promise<string>;
  /** For the log alone. */
  readonly said: () => string;
  close(): Promise<void>;
};

export type Asking = {
  readonly signal?: AbortSignal;
  /** Milliseconds. */
  readonly timeout: number;
  readonly onProgress?: (progress: Progress) => void;
};

/** `refused`: the server answered that it will not. `lost`: the connection is of no use any longer. The message is the end of a sentence. */
export class McpError extends Error {
  override readonly name = 'McpError';
  readonly kind: 'refused' | 'late' | 'lost' | 'unreadable';
  constructor(kind: McpError['kind'], message: string, cause: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

export type OpenLink = (signal: AbortSignal, toolsChanged: () => void) => Promise<Link>;

/** The signal says how long a handshake may take. */
const FOR_EVER = 2 ** 31 - 1;

/** Milliseconds. */
const COURTESY_MS = 1_000;

type Library = typeof import('@modelcontextprotocol/client');

/** `transport`: absent, as the server's configuration says. */
export function linkOpener(
  server: McpServer,
  processes: ServerProcesses,
  bounds: McpBounds,
  transport?: () => EndingTransport,
): OpenLink {
  return async (signal, toolsChanged) => {
    // A worker without servers does not load it.
    const library = await import('@modelcontextprotocol/client');
    return await connect(
      library,
      transport?.() ?? transportOf(library, server, processes, bounds),
      signal,
      toolsChanged,
    );
  };
}

function transportOf(
  { StreamableHTTPClientTransport, SSEClientTransport, deserializeMessage }: Library,
  server: McpServer,
  processes: ServerProcesses,
  bounds: McpBounds,
): EndingTransport {
  if (!('url' in server)) return stdioTransport(server, processes, bounds, deserializeMessage);
  const options = { fetch: boundedFetch({ ...server, limit: bounds.message }) };
  const url = new URL(server.url);
  return server.type === 'sse' ? new SSEClientTransport(url, options) : new StreamableHTTPClientTransport(url, options);
}

async function connect(
  library: Library,
  transport: EndingTransport,
  signal: AbortSignal,
  toolsChanged: () => void,
): Promise<Link> {
  // No capability is declared: what asks for a person or a model in the middle of a call would hold the call's slot (L63).
  const client = new library.Client({ name: 'perdure', version: '0' }, { capabilities: {} });
  client.fallbackRequestHandler = ({ method }) =>
    Promise.reject(new Error(`${method} is refused: this client answers no requests of servers`));
  client.setNotificationHandler('notifications/tools/list_changed', toolsChanged);
  const closed = new Promise<string>((resolve) => {
    Object.assign(client, { onclose: () => resolve(transport.why?.() ?? 'its connection was closed') });
  });
  const close = async (): Promise<void> => {
    await transport.close();
  };
  try {
    const handshake = client.connect(transport, { signal, timeout: FOR_EVER });
    // Aborted, it may have got no further than starting a process.
    signal.addEventListener('abort', () => void close(), { once: true });
    await handshake;
  } catch (error) {
    await close();
    throw new McpError('lost', transport.why?.() ?? wordsOf(error), error);
  }
  return linkOf(library, client, transport, { closed, close });
}

function linkOf(
  library: Library,
  client: Client,
  transport: EndingTransport,
  { closed, close }: Pick<Link, 'closed' | 'close'>,
): Link {
  const { tools, resources } = client.getServerCapabilities() ?? {};
  return {
    instructions: client.getInstructions() ?? '',
    offers: {
      tools: tools !== undefined,
      resources: resources !== undefined,
      tellsOfChanges: tools?.listChanged === true,
    },
    async request(method, params, schema, { signal, timeout, onProgress }) {
      try {
        const options = { timeout, ...(signal && { signal }), ...(onProgress && { onprogress: onProgress }) };
        return (await client.request({ method, params } as never, schema, options)) as never;
      } catch (error) {
        // The server has been told.
        if (signal?.aborted === true) throw signal.reason;
        throw readError(library, error, transport);
      }
    },
    closed,
    said: () => transport.said?.() ?? '',
    async close() {
      // A courtesy: whatever comes of it, the connection ends.
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
) {
  // Ours, in the place of an answer that is too large: the call has run.
  const isOurs = error instanceof ProtocolError && error.message.includes(TOO_LARGE);
  if (error instanceof ProtocolError) return new McpError(isOurs ? 'unreadable' : 'refused', wordsOf(error), error);
  if (error instanceof SdkHttpError)
    return new McpError(isOfConnection(error.status) ? 'lost' : 'refused', wordsOf(error), error);
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.RequestTimeout) return new McpError('late', 'it did not answer in time', error);
    if (error.code === SdkErrorCode.InvalidResult) return new McpError('unreadable', wordsOf(error), error);
    return new McpError('lost', transport.why?.() ?? wordsOf(error), error);
  }
  // An address that cannot be reached; an answer that is no JSON, or too long.
  return new McpError(error instanceof TypeError ? 'lost' : 'unreadable', wordsOf(error), error);
}

/** Other statuses are about one request: the connection goes on with those of others. */
function isOfConnection(status: number | undefined): boolean {
  return status === undefined || status < 400 || status >= 500 || [401, 403, 404, 408].includes(status);
}

/** `fetch failed` says nothing: its cause does. */
function wordsOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${reasonOf(error.cause)}` : '';
  const status = error instanceof Error && 'status' in error ? ` (HTTP status ${String(error.status)})` : '';
  return `${reasonOf(error)}${cause}${status}`.slice(0, 500);
}
