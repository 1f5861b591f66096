// A proxy before the S3 gateway that does to a request what networks and services do.
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';

export const FAULTS = [
  '500',
  '503 slow down',
  'reset before',
  'reset after',
  'cut answer',
  'wrong bytes',
  '409',
  'hang before',
  'hang after',
] as const;
/** What a retry does not help. An echo repeats the headers that it was sent. */
type Refusal = 'echo' | 'denied' | 'skewed' | 'another region' | 'malformed region';
export type Fault = (typeof FAULTS)[number] | Refusal;

/** `first`: of the SDK's tries. */
export type Passing = { readonly method: string; readonly path: string; readonly first: boolean };
/** `bytes`: of both bodies, and `status`: of the answer, once there was one. */
type Passed = Passing & { bytes: number; status: number | null };

/**
 * `fault`: what becomes of a request; null: it passes. `delayMs` is waited before each. `load`:
 * requests that are open, most at once, and connections so far.
 */
export async function faultyProxy(
  target: string,
  {
    fault = () => null,
    delayMs = 0,
  }: { readonly fault?: (passing: Passing) => Fault | null; readonly delayMs?: number } = {},
) {
  const passed: Passed[] = [];
  const load = { open: 0, most: 0, connections: 0 };
  const server = createServer((incoming, outgoing) => {
    load.most = Math.max(load.most, (load.open += 1));
    outgoing.once('close', () => void (load.open -= 1));
    const bytes = Number(incoming.headers['content-length'] ?? 0);
    const { pathname: path } = new URL(incoming.url ?? '/', target);
    const first = String(incoming.headers['amz-sdk-request']).startsWith('attempt=1');
    const passing: Passed = { method: incoming.method ?? '', path, first, bytes, status: null };
    passed.push(passing);
    const count = (more: number, status: number): void => {
      passing.bytes += more;
      passing.status = status;
    };
    setTimeout(() => pass({ target, incoming, outgoing, count }, fault(passing)), delayMs);
  });
  server.on('connection', () => void (load.connections += 1));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return { endpoint: `http://127.0.0.1:${port}`, passed, load };
}

const ERRORS: Partial<Record<Fault, readonly [number, string]>> = {
  '500': [500, 'InternalError'],
  '503 slow down': [503, 'SlowDown'],
  '409': [409, 'ConditionalRequestConflict'],
  echo: [403, 'SomethingElse'],
  denied: [403, 'AccessDenied'],
  skewed: [403, 'RequestTimeTooSkewed'],
  'another region': [301, 'PermanentRedirect'],
  'malformed region': [400, 'AuthorizationHeaderMalformed'],
};

type Exchange = {
  readonly target: string;
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  count(bytes: number, status: number): void;
};

function pass({ target, incoming, outgoing, count }: Exchange, fault: Fault | null): void {
  const error = fault ? ERRORS[fault] : undefined;
  if (fault === 'reset before') return void incoming.socket.destroy();
  if (fault === 'hang before') return void incoming.resume();
  if (error) {
    incoming.resume();
    outgoing.writeHead(error[0], { 'content-type': 'application/xml' });
    const said = fault === 'echo' ? `you sent ${JSON.stringify(incoming.headers)}` : 'by the proxy';
    return void outgoing.end(`<Error><Code>${error[1]}</Code><Message>${said}</Message></Error>`);
  }
  const { hostname, port } = new URL(target);
  const options = { hostname, port, method: incoming.method, path: incoming.url, headers: incoming.headers };
  const onward = request(options, (answer) => {
    const parts: Buffer[] = [];
    answer.on('data', (part: Buffer) => parts.push(part));
    answer.on('end', () => {
      // It was carried out, and nobody is told.
      if (fault === 'reset after') return void incoming.socket.destroy();
      if (fault === 'hang after') return;
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      const body = Buffer.concat(parts);
      count(body.length, answer.statusCode ?? 500);
      if (fault === 'wrong bytes') return void outgoing.end(body.map((byte) => byte ^ 1));
      if (fault !== 'cut answer' || body.length === 0) return void outgoing.end(body);
      outgoing.write(body.subarray(0, body.length >> 1), () => incoming.socket.destroy());
    });
  });
  onward.on('error', () => incoming.socket.destroy());
  incoming.pipe(onward);
}
