// Workers that are killed while the files of a fork are checked out: the next one ends it, and
// what was begun is nowhere to be seen (T10).
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { placeOfRoot } from '../../store/snapshots/shadow.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { clientOf } from '../support/client-of.ts';
import { crashHarness, replays } from '../support/crash-harness.ts';
import { dieAt, holdRestore } from '../support/dying-restore.ts';
import { until } from '../support/until.ts';
import { newSessionId } from '../../client/sessions/ids.ts';

test('a fork whose worker is killed in the middle of its files is there whole or not at all (T10)', async () => {
  const h = await crashHarness({
    script: [
      reply([toolUse('bash', { command: 'mkdir b; for i in $(seq 50); do echo $i > b/$i; done; mkdir empty' })]),
      reply('Done.'),
      reply('Forked.'),
    ],
    config: { snapshots: true },
  });
  const first = await h.worker();
  const session = await h.open('Go.');
  await session.ended(1);
  const client = clientOf(h);
  const folder = join(dirname(h.cwd), 'copy');
  const fork = newSessionId();
  const { own } = placeOfRoot(h.dataDir, fork, folder);
  mkdirSync(own, { recursive: true, mode: 0o700 });
  const goOn = holdRestore(own);
  const forked = await client.fork(session.id, { newId: fork, files: folder, prompt: 'Another way.' });
  onTestFinished(async () => {
    const handle = h.client.workflow.getHandle(fork);
    if ((await handle.describe()).status.name === 'RUNNING') await handle.terminate();
  });
  const half = join(dirname(folder), `.perdure-${fork}`);
  await until(() => existsSync(join(own, 'check-out.json')));
  await first.kill();
  goOn();
  dieAt(join(own, 'check-out.json'), 'create', 40);
  expect(readdirSync(join(half, 'b'))).toHaveLength(39);
  expect(existsSync(folder)).toBe(false);
  expect((await client.describe(fork)).forkFiles).toEqual({ state: 'pending', folder });

  const second = await h.worker();
  await until(async () => (await client.describe(fork)).last?.run === 2);
  expect(forked).toMatchObject({ session: fork, cwd: folder });
  expect(readdirSync(folder).toSorted()).toEqual(['b', 'empty']);
  expect(readFileSync(join(folder, 'b', '50'), 'utf8')).toBe('50\n');
  expect(existsSync(half)).toBe(false);
  expect(JSON.stringify(h.bodies().at(-1)?.messages)).toMatch(/Done\..*Another way\./);
  await replays(h.client, { id: fork, handle: h.client.workflow.getHandle(fork) });
  await second.drain();
});
