// Proxies also serve traffic apart from the model's: pages, MCP servers at an address, traces,
// buckets.
import http, { type RequestListener } from 'node:http';
import https from 'node:https';
import { writeFileSync } from 'node:fs';
import type { lookup } from 'node:dns';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { s3Objects } from '../../../store/values/s3/s3-objects.ts';
import { createWebFetchTool } from '../../../tools/builtin/web-fetch.ts';
import { openSpanExporter } from '../../../worker/monitor/otlp.ts';
import { openNetwork } from '../../../connection/network/network.ts';
import { toolContext } from '../../tools/support.ts';
import { startConnectProxy } from '../../support/connect-proxy.ts';
import { noSandbox, oddAddress } from '../../support/mcp/addresses.ts';
import { openTestServers } from '../../support/mcp/servers.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { CERT, KEY } from '../../support/tls-pair.ts';

const page: RequestListener = (request, response) => {
  request.resume();
  response.writeHead(200, { 'content-type': 'text/plain' }).end(`the page ${request.url}`);
};

async function listening(server: http.Server | https.Server): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function proxy(options?: Parameters<typeof startConnectProxy>[0]) {
  const started = await startConnectProxy(options);
  onTestFinished(() => started.close());
  return started;
}

function network(env: Record<string, string>) {
  const opened = openNetwork(env);
  onTestFinished(() => opened.close());
  return opened;
}

/** Stands for this machine's own look-up of every name. */
function leadingTo(address: string | null): typeof lookup {
  const missing = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
  return ((_: string, __: object, done: (error: Error | null, found: unknown) => void) =>
    address === null ? done(missing, undefined) : done(null, [{ address, family: 4 }])) as never;
}

describe('web_fetch behind a proxy', () => {
  const fetcher = (env: Record<string, string>, address: string | null = null, privateHosts: readonly string[] = []) =>
    createWebFetchTool({ privateHosts }, { network: network(env), lookup: leadingTo(address) });

  test('asks for a page of https by a tunnel, and for one of http by its address, also where no name is known here (X5 L86)', async () => {
    const tls = await listening(https.createServer({ cert: CERT, key: KEY }, page));
    const ca = join(tempDir(), 'ca.pem');
    writeFileSync(ca, CERT);
    const tunnels = await proxy({ to: tls });
    const env = { HTTPS_PROXY: `http://me:canary@${tunnels.at}`, NODE_EXTRA_CA_CERTS: ca };
    const secure = await fetcher(env).call({ url: 'https://ops.example/a' }, toolContext('/'));
    expect(secure.content).toContain('the page /a');
    expect(tunnels.asked).toEqual(['CONNECT ops.example:443']);
    const plain = await proxy({ to: await listening(http.createServer(page)) });
    const read = await fetcher({ http_proxy: plain.at }).call({ url: 'http://ops.example/b' }, toolContext('/'));
    expect(read.content).toContain('the page /b');
    expect(plain.asked).toEqual(['GET http://ops.example/b']);
  });

  test('asks it for nothing that is no address of the public internet (L86)', async () => {
    const { at, asked } = await proxy({ answer: 200 });
    const refused = (url: string, address: string | null = null): Promise<void> =>
      expect(fetcher({ http_proxy: at, https_proxy: at }, address).call({ url }, toolContext('/'))).rejects.toThrow(
        /no (address|name) of the public internet.*webFetch.privateHosts/,
      );
    await refused('http://10.0.0.7/');
    await refused('https://[64:ff9b::a00:7]/');
    await refused('http://docs.example.org/', '10.0.0.7');
    for (const name of ['vault', 'metadata.google.internal', 'printer.local']) await refused(`http://${name}/`);
    expect(asked).toEqual([]);
  });

  test('follows redirects as directly, and judges each (L86)', async () => {
    const to = await listening(
      http.createServer(({ url }, response) => {
        if (url === '/first') response.writeHead(302, { location: '/second' }).end();
        else response.writeHead(302, { location: 'http://10.0.0.7/' }).end();
      }),
    );
    const { at, asked } = await proxy({ to });
    const read = fetcher({ http_proxy: at }).call(
      { url: 'http://ops.example/first' },
      toolContext('/', { mayUse: () => true }),
    );
    await expect(read).rejects.toThrow('10.0.0.7 is no address of the public internet');
    expect(asked).toEqual(['GET http://ops.example/first', 'GET http://ops.example/second']);
  });

  test('names the proxy where it fails, and not its password (X5)', async () => {
    const { at } = await proxy({ answer: 502 });
    const env = { http_proxy: `http://me:canary@${at}`, https_proxy: `http://me:canary@${at}` };
    const said = (url: string): Promise<string> =>
      fetcher(env)
        .call({ url }, toolContext('/'))
        .then(() => '', String);
    expect(await said('https://ops.example/')).toMatch(/the proxy 127\.0\.0\.1:\d+ \(https_proxy\) answered 502/);
    expect(await said('http://ops.example/')).toMatch(/answered through the proxy 127\.0\.0\.1:\d+ with status 502/);
    expect((await said('https://ops.example/')) + (await said('http://ops.example/'))).not.toContain('canary');
  });
});

test('an MCP server at an address is asked through the proxy, and its failure names it (X5)', async () => {
  const { settings } = await oddAddress();
  const { at, asked } = await proxy({ to: Number(new URL(settings.url).port) });
  const elsewhere = { ...settings, url: `http://tools.example${new URL(settings.url).pathname}` };
  const reached = await openTestServers(
    { odd: elsewhere },
    { sandbox: noSandbox, network: network({ http_proxy: at }) },
  );
  await reached.registry.refresh?.();
  expect(reached.names()).toContain('mcp__odd__echo');
  expect(asked[0]).toBe('POST http://tools.example/mcp');
  const refusing = await proxy({ answer: 502 });
  const away = { odd: { ...settings, url: 'https://tools.example/mcp' } };
  const lost = await openTestServers(away, { sandbox: noSandbox, network: network({ https_proxy: refusing.at }) });
  await lost.registry.refresh?.();
  expect(lost.warnings.join('\n')).toContain(`the proxy ${refusing.at} (https_proxy) answered 502`);
});

test('traces are sent to a collector through the proxy (X5)', async () => {
  const { at, asked } = await proxy({ to: await listening(http.createServer(page)) });
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.example:4318' };
  const exporter = openSpanExporter(env, () => {}, network({ http_proxy: at }).fetch);
  const ids = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), parentSpanId: null };
  exporter?.send({ ...ids, name: 'run', kind: 'internal', from: 0, to: 1, isFailed: false, attributes: {} });
  await exporter?.close();
  expect(asked).toEqual(['POST http://collector.example:4318/v1/traces']);
});

describe('a bucket behind a proxy', () => {
  const bucket = (env: Record<string, string>, endpoint: string) => {
    for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']) vi.stubEnv(name, 'key');
    vi.stubEnv('AWS_REGION', 'us-east-1');
    onTestFinished(() => void vi.unstubAllEnvs());
    return s3Objects({ bucket: 'b', prefix: 'p', endpoint, network: () => network(env) });
  };

  test('is read and written through it (X5 W1)', async () => {
    const kept = new Map<string, Buffer>();
    const to = await listening(
      http.createServer((request, response) => {
        const [path = ''] = (request.url ?? '').split('?');
        const parts: Buffer[] = [];
        request.on('data', (part: Buffer) => parts.push(part));
        request.on('end', () => {
          if (request.method === 'PUT') kept.set(path, Buffer.concat(parts));
          const found = kept.get(path);
          response.writeHead(found ? 200 : 404).end(request.method === 'GET' ? found : undefined);
        });
      }),
    );
    const { at, asked } = await proxy({ to });
    const objects = bucket({ http_proxy: at }, 'http://s3.example');
    await objects.put('name', Buffer.alloc(100_000, 'x'));
    expect((await objects.get('name'))?.length).toBe(100_000);
    expect(await objects.get('none')).toBeNull();
    expect(asked[0]).toMatch(/^PUT http:\/\/s3\.example\/b\/p\/name/);
  });

  test('that cannot be reached through it is told with its name (X5)', async () => {
    const { at } = await proxy({ answer: 502 });
    const objects = bucket({ https_proxy: `http://me:canary@${at}` }, 'https://s3.example');
    const said = await objects.get('name').then(() => '', String);
    expect(said).toContain(`the proxy ${at} (https_proxy) answered 502`);
    expect(said).not.toContain('canary');
  });
});
