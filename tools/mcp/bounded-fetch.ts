// Fetches for an MCP server at an address: adds the configuration's headers, and bounds each
// answer, and each event of a stream.
import type { FetchLike } from '@modelcontextprotocol/client';
import { reasonOf } from '../../system/text.ts';
import { NoHeaders } from './failures.ts';
import { readAnsweredId, keepEnds, type LongText, TOO_LARGE } from './long-lines.ts';
import type { HttpServer, McpHeaders } from './servers.ts';

type BoundedFetchOptions = Pick<HttpServer, 'headers'> & {
  /** Bytes. */
  readonly limit: number;
  readonly fetch?: FetchLike;
  /** Called with the headers that requests go with from now on. */
  readonly onHeaders?: (headers: McpHeaders) => void;
  /** Called with the `WWW-Authenticate` of each answer of 401 or 403. */
  readonly challenged?: (challenge: string) => void;
};

/**
 * Makes one for each connection: a function for headers is asked at its first request, and once
 * more for each 401 that the last answer of it gets.
 */
export function createBoundedFetch({
  headers: source,
  limit,
  fetch: base = fetch,
  onHeaders,
  challenged,
}: BoundedFetchOptions): FetchLike {
  let current: Promise<McpHeaders> | null = null;
  const ask = (refused?: McpHeaders): Promise<McpHeaders> => {
    const pending = Promise.resolve()
      .then(() => (typeof source === 'function' ? source(refused) : (source ?? {})))
      .catch((error: unknown) => {
        throw new NoHeaders(reasonOf(error), { cause: error });
      });
    current = pending;
    // A request that needs them fails with the reason; the next request asks anew.
    pending.then(onHeaders, () => {
      if (current === pending) current = null;
    });
    return pending;
  };
  const send = async (url: string | URL, init: RequestInit, added: Promise<McpHeaders>): Promise<Response> => {
    const response = await base(url, await addHeaders(init, added));
    if (response.status === 401 || response.status === 403)
      challenged?.(response.headers.get('www-authenticate') ?? '');
    return response;
  };
  return async (url, init = {}) => {
    const used = current ?? ask();
    const response = await send(url, init, used);
    const body = init.body;
    if (response.status !== 401 || typeof source !== 'function') return boundResponse(response, limit, body);
    await response.body?.cancel();
    // When several requests are refused at once, one asks.
    const again = current === used ? ask(await used) : (current ?? ask(await used));
    return boundResponse(await send(url, init, again), limit, body);
  };
}

async function addHeaders(init: RequestInit, source: Promise<McpHeaders>): Promise<RequestInit> {
  const headers = new Headers(init.headers);
  for (const [name, value] of Object.entries(await source)) headers.set(name, value);
  return { ...init, headers };
}

function boundResponse(response: Response, limit: number, sent: unknown): Response {
  const { body, status, statusText, headers } = response;
  if (body === null) return response;
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
  const answersTo = readRequestId(sent);
  const bound = !isStream ? boundBytes(limit) : boundEvents(limit, answersTo);
  return new Response(body.pipeThrough(bound), { status, statusText, headers });
}

/** Reads the id of a request; undefined for a body that is not one request. */
function readRequestId(body: unknown): string | number | undefined {
  const message: unknown = typeof body === 'string' ? JSON.parse(body) : undefined;
  const id: unknown = typeof message === 'object' && message !== null && 'id' in message ? message.id : undefined;
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}

const describeTooLarge = (limit: number): string => `${TOO_LARGE}: a message is longer than ${limit} bytes`;

function boundBytes(limit: number): TransformStream<Uint8Array, Uint8Array> {
  let size = 0;
  return new TransformStream({
    transform(bytes, controller) {
      size += bytes.length;
      if (size <= limit) controller.enqueue(bytes);
      else controller.error(new Error(describeTooLarge(limit)));
    },
  });
}

/**
 * Bounds each event by itself. The request whose answer is too large is answered with an error:
 * where the stream is for one request alone, at once; where others' answers come over it too, when
 * its end tells its id, and the stream goes on.
 */
function boundEvents(limit: number, answersTo: string | number | undefined): TransformStream<Uint8Array, Uint8Array> {
  let [size, last] = [0, 0];
  let event = keepEnds();
  let isLong = false;
  const answer = (id: string | number | undefined): Buffer => {
    const error = { jsonrpc: '2.0', id, error: { code: -32_603, message: describeTooLarge(limit) } };
    // The passed-on part of the event does not form a message by itself.
    return Buffer.from(id === undefined ? '\n\n' : `\n\ndata: ${JSON.stringify(error)}\n\n`);
  };
  return new TransformStream({
    transform(bytes, controller) {
      let rest = bytes;
      if (isLong) {
        const end = findFirstBlankLine(bytes, last);
        event.add(end === -1 ? bytes : bytes.subarray(0, end));
        last = bytes.at(-1) ?? last;
        if (end === -1) return;
        controller.enqueue(answer(readAnsweredId(readDataEnds(event))));
        [isLong, rest, size, event] = [false, bytes.subarray(end), 0, keepEnds()];
      }
      const end = findLastBlankLine(rest, last);
      if (end !== -1) event = keepEnds();
      event.add(end === -1 ? rest : rest.subarray(end));
      size = end === -1 ? size + rest.length : rest.length - end;
      last = rest.at(-1) ?? last;
      if (size <= limit) return controller.enqueue(rest);
      if (answersTo === undefined) return void (isLong = true);
      controller.enqueue(answer(answersTo));
      controller.terminate();
    },
  });
}

/** Returns the ends of an event's data, without the lines about it. */
function readDataEnds({ head, tail }: LongText): readonly [string, string] {
  return [head().replace(/^[^]*?data: ?/, ''), tail()];
}

const BLANK = ['\n\n', '\r\n\r\n', '\r\r'];

/** Finds where the last event ends; -1 where none does. `before` is the byte before these. */
function findLastBlankLine(bytes: Uint8Array, before: number): number {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const found = Math.max(...BLANK.map((blank) => view.lastIndexOf(blank)));
  return found === -1 && isEndAtStart(bytes, before) ? 0 : found;
}

function findFirstBlankLine(bytes: Uint8Array, before: number): number {
  if (isEndAtStart(bytes, before)) return 0;
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const found = BLANK.map((blank) => view.indexOf(blank)).filter((at) => at !== -1);
  return found.length === 0 ? -1 : Math.min(...found);
}

/** A line feed behind a carriage return ends the same line. */
function isEndAtStart([first = 0, second = 0]: Uint8Array, before: number): boolean {
  if (before === 10) return first === 10 || first === 13;
  return before === 13 && (first === 13 || (first === 10 && second === 13));
}
