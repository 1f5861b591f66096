// A body in parts goes to the connection as it is, and behaves as any other on the way.
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { openNetwork } from '../../../connection/network/network.ts';
import { PartedBody } from '../../../system/network.ts';
import { startConnectProxy } from '../../support/connect-proxy.ts';

type Got = { readonly method: string; readonly length: string | undefined; readonly body: string };

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** A server that answers each path by a redirect with its number, and others with 200. */
async function serve(): Promise<{ readonly url: string; readonly got: readonly Got[] }> {
  const got: Got[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url = '', headers } = request;
    got.push({ method, length: headers['content-length'], body: await bodyOf(request) });
    const status = Number(url.slice(1));
    if (status > 0) response.writeHead(status, { location: '/' });
    response.end('answered');
  };
  const server = http.createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, got };
}

function network(env: Record<string, string> = {}) {
  const opened = openNetwork(env);
  onTestFinished(() => opened.close());
  return opened;
}

/** Small parts, an empty one, and one that is larger than what is put together. */
const parts = () => ['{"a":[', '1', '', ',2', `,"${'x'.repeat(200_000)}"`, ']}'].map((text) => Buffer.from(text));
const whole = Buffer.concat(parts()).toString();
const length = String(Buffer.byteLength(whole));

const post = (body: PartedBody) => ({ method: 'POST', body, duplex: 'half' }) as RequestInit;

test('its bytes arrive with their length, and the answered request holds none of them', async () => {
  const { url, got } = await serve();
  const body = new PartedBody(parts());
  const answer = await network().fetch(url, post(body));
  expect(await answer.text()).toBe('answered');
  expect(got).toEqual([{ method: 'POST', length, body: whole }]);
  expect([...body.pieces()]).toEqual([]);
});

test('a redirect that keeps the method gets the bytes again, and one that does not gets none', async () => {
  const { url, got } = await serve();
  const { fetch } = network();
  await (await fetch(`${url}/307`, post(new PartedBody(parts())))).text();
  await (await fetch(`${url}/303`, post(new PartedBody(parts())))).text();
  expect(got).toEqual([
    { method: 'POST', length, body: whole },
    { method: 'POST', length, body: whole },
    { method: 'POST', length, body: whole },
    { method: 'GET', length: undefined, body: '' },
  ]);
});

test('a proxy is sent the bytes as well (X5)', async () => {
  const { url, got } = await serve();
  const proxy = await startConnectProxy({ to: Number(new URL(url).port) });
  onTestFinished(() => proxy.close());
  const answer = await network({ http_proxy: proxy.at }).fetch('http://model.invalid/', post(new PartedBody(parts())));
  expect(await answer.text()).toBe('answered');
  expect(got).toEqual([{ method: 'POST', length, body: whole }]);
});

test('a request that is aborted before its answer ends with the reason, and holds none of the bytes', async () => {
  const body = new PartedBody(parts());
  const abort = new AbortController();
  const server = http.createServer(() => abort.abort(new Error('no longer wanted')));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await expect(network().fetch(url, { ...post(body), signal: abort.signal })).rejects.toThrow('no longer wanted');
  expect([...body.pieces()]).toEqual([]);
});

test('whoever knows no parts reads them as a stream', async () => {
  const { url, got } = await serve();
  const answer = await fetch(url, post(new PartedBody(parts())));
  expect(await answer.text()).toBe('answered');
  expect(got).toEqual([{ method: 'POST', length: undefined, body: whole }]);
});

test('small parts are put together, and a piece has no more than its largest part needs', () => {
  const small = new PartedBody(Array.from({ length: 1_000 }, () => Buffer.alloc(300)));
  const lengths = [...small.pieces()].map((piece) => piece.length);
  expect(lengths).toHaveLength(5);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(64 * 1024);
});
