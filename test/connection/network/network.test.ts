// The model's connection through a proxy: tunnels, plain requests, credentials, certificates, and
// failures that name it.
import { writeFileSync } from 'node:fs';
import http, { type RequestListener } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Anthropic, { APIError } from '@anthropic-ai/sdk';
import { describe, expect, onTestFinished, test } from 'vitest';
import { classifyFailure } from '../../../activities/model/classify.ts';
import { openNetwork } from '../../../connection/network/network.ts';
import { startConnectProxy } from '../../support/connect-proxy.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { CERT, KEY } from '../../support/tls-pair.ts';

const hello: RequestListener = (request, response) => {
  request.resume();
  response.writeHead(200, { 'content-type': 'text/plain', 'x-perdure-proxy': 'liar:1' }).end(`hello ${request.url}`);
};

async function listening(server: http.Server | https.Server): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const serve = (listener: RequestListener = hello) => listening(http.createServer(listener));
const serveTls = () => listening(https.createServer({ cert: CERT, key: KEY }, hello));

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

function certificate(): string {
  const file = join(tempDir(), 'ca.pem');
  writeFileSync(file, CERT);
  return file;
}

const failure = async (made: Promise<Response>): Promise<string> => {
  const error = await made.then(
    () => new Error('it was answered'),
    (thrown: unknown) => thrown,
  );
  return String((error as { cause?: unknown }).cause ?? error);
};

describe('through a proxy', () => {
  test('https goes in a tunnel, with the credentials of the proxy and to the trusted server (X5)', async () => {
    const to = await serveTls();
    const { at, asked, credentials } = await proxy({ to });
    const { fetch } = network({ HTTPS_PROXY: `http://me:canary@${at}`, NODE_EXTRA_CA_CERTS: certificate() });
    const answer = await fetch('https://ops.example/v1');
    expect([await answer.text(), answer.headers.get('x-perdure-proxy')]).toEqual(['hello /v1', null]);
    expect(asked).toEqual(['CONNECT ops.example:443']);
    expect(credentials).toEqual([`Basic ${Buffer.from('me:canary').toString('base64')}`]);
  });

  test('plain http is asked for with its whole address, and its answer says through what it came (X5)', async () => {
    const to = await serve();
    const { at, asked } = await proxy({ to });
    const { fetch } = network({ http_proxy: at });
    const answer = await fetch('http://model.invalid/v1');
    expect([await answer.text(), answer.headers.get('x-perdure-proxy')]).toEqual(['hello /v1', at]);
    expect(asked).toEqual(['GET http://model.invalid/v1']);
  });

  test('this machine, and what NO_PROXY names, is not asked for (X5)', async () => {
    const port = await serve();
    const { at, asked } = await proxy({ answer: 403 });
    const { fetch } = network({ http_proxy: at, all_proxy: at, no_proxy: 'x.example' });
    expect(await (await fetch(`http://127.0.0.1:${port}/a`)).text()).toBe('hello /a');
    expect(asked).toEqual([]);
  });
});

describe('a failure behind a proxy', () => {
  test.each<[number, RegExp]>([
    [502, /the proxy 127\.0\.0\.1:\d+ \(HTTPS_PROXY\) answered 502 when it was asked for a connection/],
    [407, /the proxy 127\.0\.0\.1:\d+ \(HTTPS_PROXY\) wants a name and password, or others/],
  ])('of a tunnel that is answered with %i names the proxy, without its password (X5)', async (status, told) => {
    const { at } = await proxy({ answer: status });
    const { fetch } = network({ HTTPS_PROXY: `http://me:canary@${at}` });
    const said = await failure(fetch('https://ops.example/v1'));
    expect(said).toMatch(told);
    expect(said).not.toContain('canary');
  });

  test('that is not there names it (X5)', async () => {
    const { at, close } = await startConnectProxy();
    await close();
    const { fetch } = network({ HTTPS_PROXY: `http://me:canary@${at}` });
    const said = await failure(fetch('https://ops.example/v1'));
    expect(said).toMatch(/ECONNREFUSED.*through the proxy 127\.0\.0\.1:\d+ \(HTTPS_PROXY\)/);
    expect(said).not.toContain('canary');
  });

  test('of plain http, which the proxy answers itself, names it to people (X5)', async () => {
    const { at } = await proxy({ answer: 503 });
    const { fetch } = network({ HTTP_PROXY: `http://me:canary@${at}` });
    const client = new Anthropic({
      apiKey: 'k',
      baseURL: 'http://model.invalid',
      logLevel: 'off',
      fetch,
      maxRetries: 0,
    });
    const error: unknown = await client.models.list().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(APIError);
    expect(classifyFailure(error, 0, (text) => text)?.detail).toBe(
      `503: 503 <html>no</html> (through the proxy ${at})`,
    );
  });

  test('reaches people through the SDK in one sentence (X5 L20)', async () => {
    const { at } = await proxy({ answer: 502 });
    const { fetch } = network({ HTTPS_PROXY: `http://${at}` });
    const client = new Anthropic({
      apiKey: 'k',
      baseURL: 'https://model.invalid',
      logLevel: 'off',
      fetch,
      maxRetries: 0,
    });
    const error: unknown = await client.models.list().catch((thrown: unknown) => thrown);
    expect(classifyFailure(error, 0, (text) => text)).toEqual({
      kind: 'retry',
      detail: `no answer from the model API: the proxy ${at} (HTTPS_PROXY) answered 502 when it was asked for a connection`,
    });
  });

  test('in the middle of an answer names it (X5)', async () => {
    const to = await serve((_, response) => {
      response.writeHead(200).write('half');
      setImmediate(() => response.destroy());
    });
    const { at } = await proxy({ to });
    const { fetch } = network({ http_proxy: at });
    const answer = await fetch('http://model.invalid/v1');
    await expect(answer.text()).rejects.toThrow(`through the proxy ${at}`);
  });
});

describe('a server whose certificate nobody here knows', () => {
  test('is refused in words that say how it is trusted (X5)', async () => {
    const port = await serveTls();
    const { fetch } = network({});
    expect(await failure(fetch(`https://127.0.0.1:${port}/`))).toMatch(/NODE_EXTRA_CA_CERTS.*NODE_USE_SYSTEM_CA=1/);
  });

  test('is trusted by the certificates of the system, where they are asked for (X5)', async () => {
    const to = await serveTls();
    const { at } = await proxy({ to });
    const env = { https_proxy: at, NODE_USE_SYSTEM_CA: '1', SSL_CERT_FILE: certificate() };
    const { fetch } = network(env);
    expect((await fetch('https://ops.example/')).status).toBe(200);
    expect(() => openNetwork({ ...env, SSL_CERT_FILE: '/nowhere.pem' })).toThrow(/^NODE_USE_SYSTEM_CA asks for/);
  });
});
