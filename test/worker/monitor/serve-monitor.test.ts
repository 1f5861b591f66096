// A monitor answers its paths, and only known hosts.
import { request } from 'node:http';
import { connect } from 'node:net';
import { hostname } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { isKnownHost, parseNamedHosts } from '../../../worker/monitor/known-hosts.ts';
import { serveMonitor } from '../../../worker/monitor/serve-monitor.ts';

async function served(hosts: readonly string[] = []) {
  const monitor = await serveMonitor('127.0.0.1:0', '--metrics', hosts);
  onTestFinished(() => monitor.close());
  monitor.watch(() => Promise.resolve([]));
  const port = Number(new URL(monitor.url).port);
  const raw = (text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      let heard = '';
      const socket = connect(port, '127.0.0.1', () => socket.end(text));
      socket.setEncoding('utf8').on('data', (part: string) => (heard += part));
      socket.once('error', reject).once('close', () => resolve(heard.split('\r\n', 1)[0] ?? ''));
    });
  const ask = (host: string, path = '/healthz', method = 'GET'): Promise<number> =>
    new Promise((resolve, reject) => {
      const at = { host: '127.0.0.1', port, path, method, headers: { host }, agent: false };
      request(at, (answer) => resolve(answer.resume().statusCode ?? 0))
        .once('error', reject)
        .end();
    });
  return { monitor, port, raw, ask };
}

test.each([
  '//',
  '//evil.example/metrics',
  'http://[/',
  'http://evil.example/metrics',
  '*',
  '/\\',
  '/%ff',
  '/metrics%00',
])('a request for %s is refused, and the process goes on (O17)', async (target) => {
  const { raw, ask } = await served();
  expect(await raw(`GET ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`)).toMatch(/^HTTP\/1\.1 40[04] /);
  expect(await ask('localhost')).toBe(200);
});

test('only its own names and addresses, and those that are named for it, are answered (O17)', async () => {
  const { ask, port } = await served(['worker.internal']);
  for (const host of ['localhost', '127.0.0.1', `127.0.0.1:${port}`, 'LOCALHOST:1', '[::1]:9', 'worker.internal:9464'])
    expect([host, await ask(host)]).toEqual([host, 200]);
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    'localhost.evil.example',
    '10.0.0.7',
    'internal',
    hostname() + 'x',
  ])
    expect([host, await ask(host)]).toEqual([host, 421]);
  expect([await ask('localhost', '/metrics', 'HEAD'), await ask('localhost', '/metrics', 'POST')]).toEqual([200, 405]);
});

test('one that others reach is asked by any address, which no page of another site can have, and by its own name (O17)', () => {
  for (const host of ['10.0.0.7:9464', '[fd00::7]:9464', '127.0.0.1', hostname(), undefined])
    expect(isKnownHost(host, '0.0.0.0', [])).toBe(true);
  expect(isKnownHost('metrics.example', 'metrics.example', [])).toBe(true);
  for (const host of ['evil.example', '10.0.0.7.evil.example', '', ' ', '[evil]', '1.2.3.4:port'])
    expect(isKnownHost(host, '0.0.0.0', [])).toBe(false);
});

test('names of hosts are read from a list, and what is none is refused in one sentence (O17)', () => {
  expect([parseNamedHosts(), parseNamedHosts(''), parseNamedHosts(' Worker , worker.internal,')]).toEqual([
    [],
    [],
    ['worker', 'worker.internal'],
  ]);
  for (const wrong of ['worker:9464', 'http://worker', '*', 'a b'])
    expect(() => parseNamedHosts(wrong)).toThrow(/^PERDURE_METRICS_HOSTS has "[^\n]*": give names without ports/);
});

test('what cannot be had of its metrics is told, and the process goes on (O17)', async () => {
  const { monitor, ask } = await served();
  monitor.add(() => Promise.reject(new Error('no metrics now')));
  expect([await ask('localhost', '/metrics'), await ask('localhost')]).toEqual([503, 200]);
});
