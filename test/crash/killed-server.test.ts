import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openDataFolder } from '../../connection/data-folder.ts';
import { findBinary } from '../../worker/embedded/find-binary.ts';
import { joinServer, type EmbeddedServer } from '../../worker/embedded/join-server.ts';
import { findRunningServer } from '../../worker/embedded/server-record.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { crashHarness, replays } from '../support/crash-harness.ts';
import { until } from '../support/until.ts';

test('server and worker killed together: the accepted prompt is kept, the run goes on, one effect (L61 L40)', async () => {
  const root = mkdtempSync(join(tmpdir(), 'perdure-crash-'));
  const folder = openDataFolder({ PERDURE_DATA: root });
  const join_ = (): Promise<EmbeddedServer> => {
    const binary = (wanted: string | null) => findBinary({ env: process.env, wanted, say: () => {} });
    // The second joiner finds the first still registered: the same port is kept.
    return joinServer({ folder, role: 'command', worker: false, env: process.env, binary, say: () => {} });
  };
  const before = await join_();
  onTestFinished(async () => {
    await before.leave();
    rmSync(root, { recursive: true, force: true });
  });
  const h = await crashHarness({
    address: before.address,
    script: [reply([toolUse('bash', { command: 'echo effect >> effects.log' })]), reply('Done.')],
  });
  const worker = await h.worker();
  const session = await h.open('Do it.');
  await until(() => h.effects().length === 1);
  const server = findRunningServer(folder);
  if (!server) throw new Error('no server runs');
  process.kill(server.pid, 'SIGKILL');
  await worker.kill();
  const after = await join_();
  onTestFinished(() => after.leave());
  expect(after.address).toBe(before.address);
  const second = await h.worker();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
  expect(h.effects()).toEqual(['effect']);
  await replays(h.client, session);
  await second.kill();
});
