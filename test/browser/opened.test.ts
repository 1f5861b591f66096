// What `perdure open` starts a browser with, in a real one: it leads to the session, signed in.
import { chromium } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { browserArgument } from '../../cli/open-page.ts';
import { openAddress, findServedPage } from '../../page/page-address.ts';
import { servePage } from '../../page/serve-page.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { stagedPorts } from '../support/page-ports.ts';
import { findChromium } from '../support/programs.mjs';
import { tempDir } from '../support/temp-dir.ts';

test.runIf(process.platform === 'linux').each([
  ['an address for this user alone', true],
  ['a file that only this user reads', false],
])('a browser started with %s is signed in, at the session (O12)', async (_, isKnown) => {
  const root = tempDir();
  const served = await servePage((await stagedPorts()).ports, openAddress(root));
  onTestFinished(() => served.close());
  const page = await findServedPage(root);
  if (page === null) throw new Error('it is served');
  const argument = await browserArgument(root, page, 's-1' as SessionId, () => Promise.resolve(isKnown));
  const browser = await chromium.launch({ executablePath: findChromium() ?? '', args: ['--no-sandbox'] });
  onTestFinished(() => browser.close());
  const tab = await browser.newPage();
  await tab.goto(argument);
  await tab.waitForURL(`http://${page.name}:${page.port}/sessions/s-1`);
  await tab.locator('#transcript').waitFor({ state: 'attached' });
  expect(new URL(tab.url()).search).toBe('');
});
