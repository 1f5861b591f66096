// What a browser that opened the printed address leaves in its files, which commands of an agent
// may read: nothing of it lets anybody in.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type BrowserContext } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { openAddress } from '../../page/page-address.ts';
import { type ServedPage, servePage } from '../../page/serve-page.ts';
import { findChromium } from '../support/programs.mjs';
import { stagedPorts } from '../support/page-ports.ts';
import { tempDir } from '../support/temp-dir.ts';

/** As a person starts it: with files of its own, and without what a test tool would add. */
async function openBrowser(profile: string): Promise<BrowserContext> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error('no chromium: apt-get install chromium');
  const args = ['--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run', '--remote-debugging-pipe'];
  const ours = { executablePath, headless: false, ignoreDefaultArgs: true } as const;
  return chromium.launchPersistentContext(profile, { ...ours, args: [...args, `--user-data-dir=${profile}`] });
}

/**
 * Opens the printed address, then other pages and another tab. Returns what the browser sends
 * since.
 */
async function lookAround(browser: BrowserContext, address: URL): Promise<string> {
  const tab = await browser.newPage();
  await tab.goto(address.href);
  await tab.getByRole('heading', { name: 'Sessions' }).waitFor();
  expect(new URL(tab.url()).search).toBe('');
  const other = await browser.newPage();
  const answer = await other.goto(new URL('/sessions/s-1', address).href);
  expect(answer?.status()).toBe(200);
  await other.getByRole('heading', { name: 'Sessions' }).or(other.locator('#main')).first().waitFor();
  return (await answer?.request().allHeaders())?.['authorization'] ?? '';
}

const filesOf = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  );

async function statusOf(page: ServedPage, code: string): Promise<number> {
  const { host, origin } = new URL(page.url);
  const { request } = await import('node:http');
  return new Promise((resolve, reject) => {
    const headers = { host, origin, 'content-type': 'application/json' };
    const at = { host: '127.0.0.1', port: new URL(page.url).port, path: '/sign-in', method: 'POST', headers };
    request({ ...at, agent: false }, (answer) => resolve(answer.resume().statusCode ?? 0))
      .once('error', reject)
      .end(JSON.stringify({ token: code }));
  });
}

test('neither the history nor any other file of the browser holds what lets one in, once the address was opened (O12)', async () => {
  const kept = openAddress(tempDir());
  const { ports } = await stagedPorts();
  const page = await servePage(ports, kept);
  onTestFinished(() => page.close());
  const address = new URL(page.entrance());
  const profile = tempDir();
  const browser = await openBrowser(profile);
  const sent = await lookAround(browser, address);
  await browser.close();
  const [, pass = ''] = Buffer.from(sent.replace(/^Basic /, ''), 'base64')
    .toString()
    .split(':');
  expect(pass).toMatch(/^[\w.-]{70,}$/);
  const secrets = [pass, sent.replace(/^Basic /, '').replace(/=+$/, ''), kept.address.key, kept.address.apiToken];
  const codes = new Set<string>();
  for (const path of filesOf(profile)) {
    const bytes = readFileSync(path, 'latin1');
    for (const secret of secrets) expect([path, bytes.includes(secret)]).toEqual([path, false]);
    for (const [, code = ''] of bytes.matchAll(/[?&]code=([\w.-]+)/g)) codes.add(code);
    // Of cookies the host stands there as it is, and only what they are worth is encrypted, with a
    // key that everybody knows.
    if (/Cookies/.test(path)) expect([path, bytes.includes(address.hostname)]).toEqual([path, false]);
  }
  expect(codes).toContain(address.searchParams.get('code'));
  for (const code of codes) expect(await statusOf(page, code)).toBe(401);
});
