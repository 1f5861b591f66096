// A Temporal server that is reached through a proxy: by clients and by workers, and a failure that
// names it.
import { NativeConnection } from '@temporalio/worker';
import { expect, inject, onTestFinished, test } from 'vitest';
import { connectClient, connectionOptions } from '../../connection/connect-client.ts';
import { resolveConnection } from '../../connection/resolve-connection.ts';
import { startConnectProxy } from '../support/connect-proxy.ts';

const wanted = `Basic ${Buffer.from('me:canary').toString('base64')}`;

function targetOf(env: Record<string, string>) {
  const target = resolveConnection({ TEMPORAL_ADDRESS: 'temporal.example:7233', ...env });
  if (target.kind !== 'external') throw new Error('it is named');
  return target;
}

test('a client and a worker reach it by a tunnel, with the name and password of the proxy (X5)', async () => {
  const proxy = await startConnectProxy({ to: Number(inject('temporalAddress').split(':').at(-1)) });
  onTestFinished(() => proxy.close());
  const target = targetOf({ HTTPS_PROXY: `http://me:canary@${proxy.at}` });
  const { close } = await connectClient(target);
  await close();
  expect(proxy.asked.every((asked) => asked === 'CONNECT temporal.example:7233')).toBe(true);
  const before = proxy.asked.length;
  expect(before).toBeGreaterThan(0);
  const connection = await NativeConnection.connect(connectionOptions(target));
  await connection.close();
  expect(proxy.asked.slice(before)).toEqual(['CONNECT temporal.example:7233']);
  expect(new Set(proxy.credentials)).toEqual(new Set([wanted]));
});

test('a failure names the proxy, and neither name nor password (X5)', async () => {
  const proxy = await startConnectProxy({ answer: 403 });
  onTestFinished(() => proxy.close());
  const said = await connectClient(targetOf({ https_proxy: `http://me:canary@${proxy.at}` })).catch(String);
  expect(said).toContain(
    `no Temporal server answers at temporal.example:7233 through the proxy ${proxy.at} (https_proxy)`,
  );
  expect(said).toContain('name temporal.example in NO_PROXY');
  expect(said).not.toContain('canary');
});

test('what NO_PROXY names, and this machine, is reached directly; a proxy of https is none (X5)', () => {
  const env = { HTTPS_PROXY: 'http://p.example:1' };
  expect(targetOf({ ...env, NO_PROXY: '.example' }).proxy).toBeUndefined();
  expect(targetOf({ ...env, TEMPORAL_ADDRESS: '127.0.0.1:7233' }).proxy).toBeUndefined();
  expect(() => targetOf({ HTTPS_PROXY: 'https://p.example' })).toThrow('name temporal.example:7233 in NO_PROXY');
});
