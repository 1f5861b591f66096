// The address of a data folder's page, over restarts.
import { createServer } from 'node:net';
import { join } from 'node:path';
import { readFileSync, writeFileSync, statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { entranceOf, openAddress, readApiToken, findServedPage } from '../../page/page-address.ts';
import { servePage } from '../../page/serve-page.ts';
import { stagedPorts } from '../support/page-ports.ts';
import { tempDir } from '../support/temp-dir.ts';

test('a page of one data folder has the same address after a restart, and nobody else can read it (O9)', async () => {
  const root = tempDir();
  const { ports } = await stagedPorts();
  const first = await servePage(ports, openAddress(root));
  await first.close();
  const token = readApiToken(root);
  const second = await servePage(ports, openAddress(root));
  await second.close();
  expect([second.url, readApiToken(root)]).toEqual([first.url, token]);
  expect(statSync(join(root, 'page.json')).mode & 0o077).toBe(0);
});

test('a port that another has meanwhile is given up for a free one, and the name stays (O9)', async () => {
  const root = tempDir();
  const { ports } = await stagedPorts();
  const first = await servePage(ports, openAddress(root));
  await first.close();
  const taken = new URL(first.url).port;
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(Number(taken), '127.0.0.1', resolve));
  const second = await servePage(ports, openAddress(root));
  await second.close();
  await new Promise((resolve) => other.close(resolve));
  expect(new URL(second.url).port).not.toBe(taken);
  expect(new URL(second.url).hostname).toBe(new URL(first.url).hostname);
});

test('a second page of a data folder leaves the remembered address to the first, until that has closed (F23)', async () => {
  const root = tempDir();
  const { ports } = await stagedPorts();
  const first = await servePage(ports, openAddress(root));
  const second = await servePage(ports, openAddress(root));
  expect(second.url).not.toBe(first.url);
  expect(openAddress(root).address.port).toBe(Number(new URL(first.url).port));
  await second.close();
  await first.close();
  const again = await servePage(ports, openAddress(root));
  await again.close();
  expect(again.url).toBe(first.url);
});

test('a new address of a page is to be had while it is served, by whoever can read the data folder (O9 O12)', async () => {
  const root = tempDir();
  const entranceNow = async (): Promise<string | null> => {
    const served = await findServedPage(root);
    return served && entranceOf(served);
  };
  expect(await entranceNow()).toBeNull();
  const page = await servePage((await stagedPorts()).ports, openAddress(root));
  const address = new URL((await entranceNow()) ?? '');
  expect(`${address.origin}/`).toBe(page.url);
  expect(address.searchParams.get('code')).not.toBe(new URL((await entranceNow()) ?? '').searchParams.get('code'));
  await page.close();
  expect(await entranceNow()).toBeNull();
});

test('the token of the API is there before anything is served, and is not what lets browsers in (Q11 O12)', () => {
  const root = tempDir();
  const token = readApiToken(root);
  expect(readApiToken(root)).toBe(token);
  const { key, apiToken } = openAddress(root).address;
  expect([apiToken, key === token]).toEqual([token, false]);
});

test.each([
  '',
  '{',
  '{"token":"short","name":"evil.example","port":1}',
  '{"token":"once-stood-in-an-address-0123456789","name":"perdure-0123456789abcdef.localhost","port":1}',
])('a damaged address, or one of an earlier version, %j, is replaced by a new one (O9)', (text) => {
  const root = tempDir();
  writeFileSync(join(root, 'page.json'), text);
  const { address, keep } = openAddress(root);
  expect(address.name).toMatch(/^perdure-[0-9a-f]{16}\.localhost$/);
  expect(address.name).not.toBe('perdure-0123456789abcdef.localhost');
  keep({ port: 1 });
  expect(readFileSync(join(root, 'page.json'), 'utf8')).not.toContain('once-stood');
});
