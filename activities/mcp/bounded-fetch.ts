// What an MCP server at an address is asked with: the configuration's headers, and no answer, nor one event of a stream, beyond a bound.
import type { FetchLike } from '@modelcontextprotocol/client';
import { TOO_LARGE } from './long-lines.ts';
import type { HttpServer, McpHeaders } from './servers.ts';

type Bounded = Pick<HttpServer, 'headers'> & {
  /** Bytes. */
  readonly limit: number;
  readonly fetch?: FetchLike;
};

/** One for each connection: a function for headers is asked at its first request, and once more for each 401 that the last answer of it gets. */
export function boundedFetch({ headers: source, limit, fetch: base = fetch }: Bounded): FetchLike {
  let current: Promise<McpHeaders> | null = null;
  const ask = (): Promise<McpHeaders> => {
    const asked = Promise.resolve().then(() => (typeof source === 'function' ? source() : (source ?? {})));
    current = asked;
    // Whoever needs them hears why there are none; the next request asks anew.
    asked.catch(() => {
      if (current === asked) current = null;
    });
    return asked;
  };
  return async (url, init = {}) => {
    const given = current ?? ask();
    const response = await base(url, await withHeaders(init, given));
    const asked = init.body;
    if (response.status !== 401 || typeof source !== 'function') return bounded(response, limit, asked);
    await response.body?.cancel();
    // Of several that are refused at once, one asks.
    const again = current === given ? ask() : (current ?? ask());
    return bounded(await base(url, await withHeaders(init, again)), limit, asked);
  };
}

async function withHeaders(init: RequestInit, source: Promise<McpHeaders>): Promise<RequestInit> {
  const headers = new Headers(init.headers);
  for (const [name, value] of Object.entries(await source)) headers.set(name, value);
  return { ...init, headers };
}

function bounded(response: Response, limit: number, asked: unknown): Response {
  const { body, status, statusText, headers } = response;
  if (body === null) return response;
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
  const held = body.pipeThrough(boundedBytes(limit, isStream ? { answersTo: requestId(asked) } : null));
  return new Response(held, { status, statusText, headers });
}

/** Undefined for what is no request by itself. */
function requestId(asked: unknown): string | number | undefined {
  const message: unknown = typeof asked === 'string' ? JSON.parse(asked) : undefined;
  const id: unknown = typeof message === 'object' && message !== null && 'id' in message ? message.id : undefined;
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}

type EventStream = { readonly answersTo: string | number | undefined };

/** Of a stream of events, each event by itself; after one that is too large the request is answered with an error, at once. */
function boundedBytes(limit: number, stream: EventStream | null): TransformStream<Uint8Array, Uint8Array> {
  let size = 0;
  let last = 0;
  return new TransformStream({
    transform(bytes, controller) {
      const end = stream ? lastBlankLine(bytes, last) : -1;
      size = end === -1 ? size + bytes.length : bytes.length - end;
      last = bytes.at(-1) ?? last;
      const message = `${TOO_LARGE}: a message is longer than ${limit} bytes`;
      if (size <= limit) controller.enqueue(bytes);
      else if (stream?.answersTo === undefined) controller.error(new Error(message));
      else {
        const answer = { jsonrpc: '2.0', id: stream.answersTo, error: { code: -32_603, message } };
        controller.enqueue(Buffer.from(`\n\ndata: ${JSON.stringify(answer)}\n\n`));
        controller.terminate();
      }
    },
  });
}

/** Where the last event ends; -1 where none does. `before`: the byte before these. */
function lastBlankLine(bytes: Uint8Array, before: number): number {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const found = Math.max(view.lastIndexOf('\n\n'), view.lastIndexOf('\r\n\r\n'), view.lastIndexOf('\r\r'));
  if (found !== -1) return found;
  // A line feed behind a carriage return ends the same line.
  const ending = before === 10 ? [10, 13].includes(bytes[0] ?? 0) : before === 13 && bytes[0] === 13;
  return ending ? 0 : -1;
}
