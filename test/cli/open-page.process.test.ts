// What a browser is started with: other users of the machine see it, and it must not let them in.
import { spawn } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { browserArgument, openPageAt } from '../../cli/open-page.ts';
import { openAddress, findServedPage } from '../../page/page-address.ts';
import { servePage } from '../../page/serve-page.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { stagedPorts } from '../support/page-ports.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const SESSION = 's-1' as SessionId;
const NOBODY = 65_534;

async function servedFolder(): Promise<string> {
  const root = tempDir();
  const page = await servePage((await stagedPorts()).ports, openAddress(root));
  onTestFinished(() => page.close());
  return root;
}

/** Starts a browser that notes what it is started with, and returns that. */
async function openedWith(root: string): Promise<readonly string[]> {
  const folder = tempDir();
  const [browser, noted] = [join(folder, 'browser'), join(folder, 'noted')];
  writeFileSync(browser, `#!/bin/sh\ntr '\\0' '\\n' </proc/$$/cmdline >${noted}.new; mv ${noted}.new ${noted}\n`, {
    mode: 0o755,
  });
  const said: string[] = [];
  const cli = { env: { PERDURE_DATA: root, BROWSER: browser }, self: 'perdure' };
  await openPageAt({ ...cli, print: (text) => void said.push(text), say: (line) => void said.push(line) }, SESSION);
  expect(said).toEqual(['opened in the browser: session s-1']);
  return until(() => {
    try {
      return readFileSync(noted, 'utf8').split('\n');
    } catch {
      return undefined;
    }
  });
}

const SIGN_IN = `
let text = '';
process.stdin.on('data', (part) => (text += part)).on('end', async () => {
  const { port, host, code } = JSON.parse(text);
  const headers = { host, origin: 'http://' + host, 'content-type': 'application/json' };
  const asked = require('node:http').request({ host: '127.0.0.1', port, path: '/sign-in', method: 'POST', headers }, (answer) => {
    let said = '';
    answer.on('data', (part) => (said += part)).on('end', () => console.log(answer.statusCode + ' ' + said));
  });
  asked.end(JSON.stringify({ token: code }));
});`;

/** Signs in by a code as another process, of a user. */
async function signIn(address: URL, user?: number): Promise<string> {
  const { port, host } = address;
  const child = spawn(process.execPath, ['-e', SIGN_IN], { cwd: '/', stdio: 'pipe', ...(user && { uid: user }) });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (said += part.toString()));
  child.stdin.end(JSON.stringify({ port, host, code: address.searchParams.get('code') }));
  await new Promise((resolve) => child.once('close', resolve));
  return said;
}

test.runIf(process.platform === 'linux')(
  'an address on the command line of a browser lets in the user whose page it is, and no other (O12)',
  async ({ skip }) => {
    const address = new URL((await openedWith(await servedFolder())).find((text) => text.startsWith('http')) ?? '');
    expect(address.pathname).toBe('/sessions/s-1');
    if (process.getuid?.() === 0) {
      expect(await signIn(address, NOBODY)).toMatch(/^401 This address only works in a browser of the user/);
    }
    expect(await signIn(address)).toMatch(/^200 \{"pass":/);
    expect(await signIn(address)).toMatch(/^401 This address was already used/);
    skip(process.getuid?.() !== 0, 'needs root to ask as another user');
  },
);

test('where nobody knows who connects, a browser is started with a file that only this user reads (O12)', async () => {
  const root = await servedFolder();
  const page = await findServedPage(root);
  if (page === null) throw new Error('it is served');
  const argument = await browserArgument(root, page, SESSION, () => Promise.resolve(false));
  const path = fileURLToPath(argument);
  expect([argument, statSync(path).mode & 0o777]).toEqual([`file://${root}/open.html`, 0o600]);
  const [, led = ''] = /content="0; url=([^"]+)"/.exec(readFileSync(path, 'utf8')) ?? [];
  expect(new URL(led).pathname).toBe('/sessions/s-1');
  expect(await signIn(new URL(led))).toMatch(/^200 \{"pass":/);
});
