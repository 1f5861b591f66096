// The address of a data folder's page, over restarts.
import { createServer } from 'node:net';
import { join } from 'node:path';
import { writeFileSync, statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { keptAddress } from '../../../client/page/page-address.ts';
import { servePage } from '../../../client/page/serve-page.ts';
import { stagedPorts } from '../../support/page-ports.ts';
import { tempDir } from '../../support/temp-dir.ts';

test('a page of one data folder has the same address after a restart, and nobody else can read it (O9)', async () => {
  const root = tempDir();
  const { ports } = await stagedPorts();
  const first = await servePage(ports, keptAddress(root));
  await first.close();
  const second = await servePage(ports, keptAddress(root));
  await second.close();
  expect(second.url).toBe(first.url);
  expect(statSync(join(root, 'page.json')).mode & 0o077).toBe(0);
});

test('a port that another has meanwhile is given up for a free one, and the token stays (O9)', async () => {
  const root = tempDir();
  const { ports } = await stagedPorts();
  const first = await servePage(ports, keptAddress(root));
  await first.close();
  const taken = new URL(first.url).port;
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(Number(taken), '127.0.0.1', resolve));
  const second = await servePage(ports, keptAddress(root));
  await second.close();
  await new Promise((resolve) => other.close(resolve));
  expect(new URL(second.url).port).not.toBe(taken);
  expect(new URL(second.url).search).toBe(new URL(first.url).search);
});

test.each(['', '{', '{"token":"short","name":"evil.example","port":1}'])(
  'a damaged address, %j, is replaced by a new one (O9)',
  (text) => {
    const root = tempDir();
    writeFileSync(join(root, 'page.json'), text);
    expect(keptAddress(root).address.name).toMatch(/^perdure-[0-9a-f]{16}\.localhost$/);
  },
);
