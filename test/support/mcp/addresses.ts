// MCP servers at addresses of this process: the odd one, and that of the official project over
// streamable HTTP and SSE.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { onTestFinished } from 'vitest';
import { findPrograms } from '../../../system/process/programs.ts';
import type { HttpServer } from '../../../tools/mcp/servers.ts';
import { oddServer, type Options } from './odd-server.mjs';

/** Nothing of a server is started: what has an address needs no sandbox. */
export const noSandbox = {
  kind: 'group',
  refusal: null,
  hold: (argv: readonly string[]) => argv,
  programs: findPrograms(process.env),
} as const;

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

async function listen(handler: Handler) {
  const server = createServer((request, response) => void handler(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { server, origin: `http://127.0.0.1:${port}` };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}

type OddAddress = Options & {
  /** What requests must have as their `authorization`. */
  readonly token?: () => string;
  /** What a request in a session that it does not know is answered with. */
  readonly unknown?: { readonly status: number; readonly body: string };
  /** The `WWW-Authenticate` of an answer of 401. */
  readonly challenge?: string;
  /** Of the answer to a call. */
  readonly status?: () => number | undefined;
  /** Answers in JSON, not as a stream. */
  readonly json?: boolean;
};

/** Speaks as a streamable server does: each answer is a stream of its own. */
export async function oddAddress(
  {
    token,
    challenge,
    unknown = { status: 404, body: 'no such session' },
    status,
    json = false,
    ...options
  }: OddAddress = {},
  more: Partial<HttpServer> = {},
) {
  const seen: (string | undefined)[] = [];
  const known = new Set<string>();
  let forgetsAll = false;
  const called: string[] = [];
  let [broken, connections]: [(() => void) | undefined, number] = [undefined, 0];
  const answer = oddServer({ ...options, die: () => broken?.() });
  const { server, origin } = await listen(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    seen.push(request.headers.authorization);
    if (token && request.headers.authorization !== token()) {
      if (challenge !== undefined) response.setHeader('www-authenticate', challenge);
      return void response.writeHead(401).end('no');
    }
    const message = JSON.parse(await bodyOf(request)) as { readonly id?: number; readonly method?: string };
    if (message.method === 'initialize') connections += 1;
    else if (!json && !known.has(String(request.headers['mcp-session-id'])))
      return void response.writeHead(unknown.status).end(unknown.body);
    const session = `s-${connections}`;
    if (!forgetsAll) known.add(session);
    if (message.method === 'tools/call') called.push(session);
    const failed = message.method === 'tools/call' ? status?.() : undefined;
    if (failed !== undefined) return void response.writeHead(failed).end('no');
    if (message.id === undefined || message.method === undefined) response.writeHead(202).end();
    else if (!json) response.writeHead(200, { 'content-type': 'text/event-stream', 'mcp-session-id': session });
    broken = () => request.socket.destroy();
    await answer(message, (sent) => {
      if (response.writableEnded) return;
      const text = typeof sent === 'string' ? sent : JSON.stringify(sent);
      if (json) return void response.writeHead(200, { 'content-type': 'application/json' }).end(text);
      response.write(`data: ${text}\n\n`);
      if (typeof sent !== 'string' && 'id' in sent && sent.id === message.id) response.end();
    });
  });
  const settings: HttpServer = { type: 'http', url: `${origin}/mcp`, ...more };
  /** Forgets its sessions, as one that was started again does; `always`: new ones, too. */
  const forget = (always = false): void => {
    forgetsAll = always;
    known.clear();
  };
  return { server, settings, seen, called, forget, connections: () => connections };
}

/** Speaks as an older server does: all its answers come over one stream. */
export async function oddEvents(options: Options = {}) {
  let [stream, streams]: [ServerResponse | undefined, number] = [undefined, 0];
  const answer = oddServer({ ...options, die: () => stream?.destroy() });
  const { origin } = await listen(async (request, response) => {
    if (request.method === 'GET') {
      [stream, streams] = [response, streams + 1];
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: endpoint\ndata: /message\n\n');
      return;
    }
    const message = JSON.parse(await bodyOf(request)) as { readonly id?: number; readonly method?: string };
    response.writeHead(202).end();
    await answer(message, (sent) => {
      stream?.write(`event: message\ndata: ${typeof sent === 'string' ? sent : JSON.stringify(sent)}\n\n`);
    });
  });
  const settings: HttpServer = { type: 'sse', url: `${origin}/sse` };
  return { settings, streams: () => streams };
}

/** What its packages export; they have no types that resolve from here. */
type Everything = { readonly createServer: () => { readonly server: { connect(transport: unknown): Promise<void> } } };
type Served = { handleRequest(request: IncomingMessage, response: ServerResponse): Promise<void> };
type Messages = Served & { readonly sessionId: string; handlePostMessage: Served['handleRequest'] };

const load = async (path: string): Promise<unknown> =>
  import(/* @vite-ignore */ pathToFileURL(join(process.cwd(), 'node_modules/@modelcontextprotocol', path)).href);

export const everythingAt = async (type: HttpServer['type']): Promise<HttpServer> =>
  (await forgetfulEverythingAt(type)).settings;

/** `forget` forgets its sessions, as a start does. */
export async function forgetfulEverythingAt(type: HttpServer['type']) {
  const { createServer: everything } = (await load('server-everything/dist/server/index.js')) as Everything;
  return await servedAt(type, () => everything().server);
}

type Held = (extra: { readonly signal: AbortSignal }) => Promise<{ readonly content: readonly object[] }>;
type Connected = { connect(transport: unknown): Promise<void> };

/** A server made with the official SDK, whose one tool, `hold`, is this. */
export async function holdingAt(type: HttpServer['type'], hold: Held): Promise<HttpServer> {
  const { McpServer } = (await load('sdk/dist/esm/server/mcp.js')) as {
    readonly McpServer: new (
      info: object,
    ) => Connected & { registerTool(name: string, about: object, run: Held): void };
  };
  const { settings } = await servedAt(type, () => {
    const server = new McpServer({ name: 'holding', version: '1' });
    server.registerTool('hold', { description: 'Holds until it is cancelled.' }, hold);
    return server;
  });
  return settings;
}

type Serving = { readonly settings: HttpServer; readonly forget: () => void };

async function servedAt(type: HttpServer['type'], make: () => Connected): Promise<Serving> {
  if (type === 'sse') {
    const { SSEServerTransport } = (await load('sdk/dist/esm/server/sse.js')) as {
      readonly SSEServerTransport: new (path: string, response: ServerResponse) => Messages;
    };
    const open = new Map<string, Messages>();
    const { origin } = await listen(async (request, response) => {
      const url = new URL(request.url ?? '/', 'http://localhost');
      if (request.method === 'POST') {
        const known = open.get(url.searchParams.get('sessionId') ?? '');
        return known
          ? known.handlePostMessage(request, response)
          : void response.writeHead(404).end('Session not found');
      }
      const transport = new SSEServerTransport('/message', response);
      open.set(transport.sessionId, transport);
      await make().connect(transport);
    });
    return { settings: { type, url: `${origin}/sse` }, forget: () => open.clear() };
  }
  const { StreamableHTTPServerTransport } = (await load('sdk/dist/esm/server/streamableHttp.js')) as {
    readonly StreamableHTTPServerTransport: new (options: object) => Served;
  };
  const open = new Map<string, Served>();
  const { origin } = await listen(async (request, response) => {
    const known = open.get(String(request.headers['mcp-session-id']));
    if (known) return known.handleRequest(request, response);
    const transport: Served = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id: string) => void open.set(id, transport),
    });
    await make().connect(transport);
    await transport.handleRequest(request, response);
  });
  return { settings: { type, url: `${origin}/mcp` }, forget: () => open.clear() };
}
