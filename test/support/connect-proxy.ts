// A proxy as companies have them, in this process: it tunnels CONNECT, forwards plain requests, and
// remembers what it was asked.
import http from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { pipeline } from 'node:stream';

export type ConnectProxy = {
  /** Host and port. */
  readonly at: string;
  /** `CONNECT host:port` and `METHOD url`, in order. */
  readonly asked: readonly string[];
  /** What came as proxy-authorization, in order; undefined for none. */
  readonly credentials: readonly (string | undefined)[];
  close(): Promise<void>;
};

/**
 * `answer`: instead of doing what it is asked. `to`: where each tunnel leads, whatever was asked
 * for.
 */
export async function startConnectProxy({
  answer,
  to,
}: { readonly answer?: number; readonly to?: number } = {}): Promise<ConnectProxy> {
  const asked: string[] = [];
  const credentials: (string | undefined)[] = [];
  const open = new Set<Socket>();
  const note = (what: string, { headers }: http.IncomingMessage): void => {
    asked.push(what);
    credentials.push(headers['proxy-authorization']);
  };
  const server = http.createServer((request, response) => {
    note(`${request.method} ${request.url}`, request);
    if (answer !== undefined) return void response.writeHead(answer).end('<html>no</html>');
    const { 'proxy-authorization': _, ...headers } = request.headers;
    const url = new URL(request.url ?? '');
    const onward = { host: '127.0.0.1', port: to ?? url.port, method: request.method, path: url.pathname, headers };
    const sent = http.request(onward, (answered) => {
      response.writeHead(answered.statusCode ?? 0, answered.headers);
      pipeline(answered, response, () => {});
    });
    sent.on('error', () => response.destroy());
    request.pipe(sent);
  });
  server.on('connection', (socket) => {
    open.add(socket);
    socket.on('error', () => {}).on('close', () => open.delete(socket));
  });
  server.on('connect', (request: http.IncomingMessage, socket: Socket, head: Buffer) => {
    note(`CONNECT ${request.url}`, request);
    if (answer !== undefined) return void socket.end(`HTTP/1.1 ${answer} No\r\n\r\n`);
    const target = connect(to ?? Number(request.url?.split(':').at(-1)), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      target.write(head);
      target.pipe(socket).pipe(target);
    });
    open.add(target);
    target.on('error', () => socket.destroy()).on('close', () => open.delete(target));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    at: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    credentials,
    close: () =>
      new Promise((resolve) => {
        for (const socket of open) socket.destroy();
        server.close(() => resolve());
      }),
  };
}
