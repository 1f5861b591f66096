import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { expect, onTestFinished, test } from 'vitest';
import { processIdentity } from '../../../system/process/identity.ts';
import type { DataFolder } from '../../../connection/data-folder.ts';
import { ATTRIBUTES } from '../../../workflows/contract/visibility.ts';
import { joinServer } from '../../../worker/embedded/join-server.ts';
import {
  readDatabaseRecord,
  findUnrecordedServer,
  recordDatabase,
  recordServer,
  findRunningServer,
} from '../../../worker/embedded/server-record.ts';
import { startServer } from '../../../worker/embedded/start-server.ts';
import { stopServer } from '../../../worker/embedded/stop-server.ts';
import { joining, otherProcess, realBinary, serverOf, temporaryData } from './support.ts';

const onLinux = test.runIf(process.platform === 'linux');
const proc = (pid: number, file: string) => readFileSync(`/proc/${pid}/${file}`, 'utf8');

async function listenOn(port: number): Promise<Server> {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return server;
}

/** A server that was ready on the folder, and is stopped. */
async function usedBefore(): Promise<DataFolder> {
  const folder = temporaryData();
  await (await joinServer(joining(folder))).leave();
  return folder;
}

test('of processes that come at the same time one starts the server and the others join it', async () => {
  const folder = temporaryData();
  const joined = await Promise.all(
    [otherProcess(folder), otherProcess(folder), otherProcess(folder)].map((p) => p.joined),
  );
  expect(joined.filter(({ startedHere }) => startedHere)).toHaveLength(1);
  expect(new Set(joined.map(({ address }) => address))).toEqual(new Set([serverOf(folder).address]));
});

test('the server of a killed starter is joined by the next, also when nothing recorded it, and stopped when that one leaves', async () => {
  const folder = temporaryData();
  const starter = otherProcess(folder);
  await starter.joined;
  const orphan = serverOf(folder);
  await starter.kill();
  rmSync(folder.serverJson);
  const next = await joinServer(joining(folder));
  expect(next).toMatchObject({ startedHere: false, address: orphan.address });
  expect(serverOf(folder).pid).toBe(orphan.pid);
  await next.leave();
  expect(findRunningServer(folder)).toBeNull();
});

test('only the last to leave stops the server, and a command counts as little as a dead process for the live workers', async () => {
  const folder = temporaryData();
  const here = await joinServer(joining(folder));
  const [worker, command] = [otherProcess(folder, 'worker'), otherProcess(folder, 'command')];
  await Promise.all([worker.joined, command.joined]);
  expect(here.liveWorkers('perdure')).toBe(1);
  await worker.kill();
  expect(here.liveWorkers('perdure')).toBe(0);
  await here.leave();
  expect(serverOf(folder).address).toBe(here.address);
  await command.leave();
  expect(findRunningServer(folder)).toBeNull();
  expect(readdirSync(folder.membersDir)).toEqual([]);
});

test('a worker that retires counts as one no more, and the server stays for it until it leaves', async () => {
  const folder = temporaryData();
  const command = await joinServer(joining(folder, { role: 'command', worker: false }));
  const draining = await joinServer(joining(folder));
  expect(command.liveWorkers('perdure')).toBe(1);
  draining.works(false);
  expect(command.liveWorkers('perdure')).toBe(0);
  await command.leave();
  expect(serverOf(folder).address).toBe(draining.address);
  await draining.leave();
  draining.works(false);
  expect(readdirSync(folder.membersDir)).toEqual([]);
});

test('a process that joins while the last one leaves gets a server that stays', async () => {
  const folder = temporaryData();
  const first = await joinServer(joining(folder));
  const [second] = await Promise.all([joinServer(joining(folder)), first.leave()]);
  expect(serverOf(folder).address).toBe(second.address);
  await second.leave();
  expect(findRunningServer(folder)).toBeNull();
});

onLinux.each(['C#/data', 'what?', 'feature%2Fx', '100%'])(
  'a data folder called %s is found by the next server and by whoever joins, and nothing lies beside it',
  async (name) => {
    const folder = temporaryData(name);
    const beside = (): readonly string[] => readdirSync(join(folder.root, '..'));
    const before = beside();
    await (await joinServer(joining(folder))).leave();
    const starter = otherProcess(folder);
    await starter.joined;
    await starter.kill();
    rmSync(folder.serverJson);
    const next = await joinServer(joining(folder));
    expect(next.startedHere).toBe(false);
    await next.leave();
    expect([existsSync(folder.temporalDb), beside()]).toEqual([true, before]);
  },
);

onLinux('the server is tuned, on loopback, in a session of its own, and sees no secret of its starter', async () => {
  const folder = temporaryData();
  const env = { ...joining(folder).env, ANTHROPIC_API_KEY: 'canary', TEMPORAL_NAMESPACE: 'canary' };
  const said: string[] = [];
  const joined = await joinServer(joining(folder, { env, say: (line) => said.push(line) }));
  const { pid } = serverOf(folder);
  const port = joined.address.split(':')[1] ?? '';
  const args = proc(pid, 'cmdline').split('\0').slice(1, -1).join(' ');
  const attributes = [...args.matchAll(/--search-attribute (\w+)=\w+ /g)];
  expect(attributes.map(([, name]) => name)).toEqual(Object.values(ATTRIBUTES).map(({ name }) => name));
  expect(args.replace(/[0-9a-f-]{36}(?=\.invalid)/, 'UUID')).toBe(
    `server start-dev --headless --log-level error --ip 127.0.0.1 --port ${port} --db-filename ${folder.temporalDb} ` +
      `${attributes.map(([flag]) => flag).join('')}--sqlite-pragma journal_mode=wal --sqlite-pragma synchronous=1 ` +
      '--dynamic-config-value history.transferProcessorMaxPollRPS=10000 ' +
      '--dynamic-config-value history.timerProcessorMaxPollRPS=1000 ' +
      '--dynamic-config-value history.timerProcessorMaxTimeShift="10ms" ' +
      '--dynamic-config-value system.enableActivityEagerExecution=true ' +
      '--dynamic-config-value frontend.WorkerHeartbeatsEnabled=true ' +
      '--dynamic-config-value frontend.ListWorkersEnabled=true ' +
      '--dynamic-config-value frontend.httpAllowedHosts=["UUID.invalid"]',
  );
  expect(proc(pid, 'stat').split(') ')[1]?.split(' ').slice(2, 4)).toEqual([`${pid}`, `${pid}`]);
  expect(proc(pid, 'environ')).not.toContain('canary');
  expect(said.at(-1)).toMatch(/^Temporal server 1\.\d+\.\d+ ready at 127\.0\.0\.1:\d+ in \d\.\d\d s, tuned/);
});

test('a server whose users were killed makes way for one with a UI, and whoever starts that one again keeps its address', async () => {
  const folder = temporaryData();
  const starter = otherProcess(folder);
  await starter.joined;
  await expect(joinServer(joining(folder, { ui: true }))).rejects.toThrow(
    `runs without its UI, for process ${starter.child.pid}: stop that, then start with --ui again`,
  );
  const { pid } = serverOf(folder);
  await starter.kill();
  const joined = await joinServer(joining(folder, { ui: true }));
  const first = serverOf(folder);
  expect(first.pid).not.toBe(pid);
  expect(joined.ui()).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  // Found by its command line.
  rmSync(folder.serverJson);
  expect(findUnrecordedServer(folder)).toMatchObject({ pid: first.pid, ui: first.ui });
  recordServer(folder, first);
  await stopServer(first);
  expect(joined.ui()).toBeNull();
  const again = await startServer({ ...joining(folder), binary: await realBinary(null), keepPort: true });
  expect(again).toMatchObject({ address: first.address, ui: first.ui });
  await joined.leave();
});

test('closed sessions are kept for 90 days', async () => {
  const { address } = await joinServer(joining(temporaryData()));
  const connection = await Connection.connect({ address });
  onTestFinished(() => connection.close());
  const { config } = await connection.workflowService.describeNamespace({ namespace: 'default' });
  expect(Number(config?.workflowExecutionRetentionTtl?.seconds)).toBe(90 * 24 * 3600);
});

test('the port stays the same over restarts, and another is found when it is taken', async () => {
  const folder = temporaryData();
  const first = await joinServer(joining(folder));
  await first.leave();
  const second = await joinServer(joining(folder));
  expect(second.address).toBe(first.address);
  await second.leave();
  await listenOn(Number(first.address.split(':')[1]));
  const third = await joinServer(joining(folder));
  expect(third.address).not.toBe(first.address);
});

test('while others count on the address, a restart at another port is refused', async () => {
  const folder = temporaryData();
  const first = await joinServer(joining(folder));
  await stopServer(serverOf(folder));
  const port = Number(first.address.split(':')[1]);
  await listenOn(port);
  await expect(joinServer(joining(folder))).rejects.toThrow(`another program has its port ${port}`);
});

test('a database that another version made is refused and left as it is', async () => {
  const folder = await usedBefore();
  recordDatabase(folder, { server: '1.28.0', complete: true });
  await expect(joinServer(joining(folder, { binary: () => realBinary(null) }))).rejects.toThrow(
    /temporal\.db was made by Temporal server 1\.28\.0 and .* does not migrate it: install .* or set PERDURE_DATA/,
  );
  expect(readDatabaseRecord(folder)).toEqual({ server: '1.28.0', complete: true });
});

test('a database without a word on who made it is refused', async () => {
  const folder = await usedBefore();
  rmSync(`${folder.temporalDb}.json`);
  await expect(joinServer(joining(folder))).rejects.toThrow(
    /temporal\.db\.json, which says .* is missing: write it again/,
  );
});

test('a damaged database is named with the reason and the log, and nothing is deleted', async () => {
  const folder = await usedBefore();
  rmSync(`${folder.temporalDb}-wal`);
  writeFileSync(folder.temporalDb, 'damaged'.repeat(1000));
  const failed = joinServer(joining(folder));
  await expect(failed).rejects.toThrow(
    new RegExp(`^the Temporal server of ${folder.temporalDb} did not start: .*not a database.* ${folder.serverLog}.*$`),
  );
  expect(readFileSync(folder.temporalDb, 'utf8')).toBe('damaged'.repeat(1000));
  expect(findRunningServer(folder)).toBeNull();
});

test('a database whose making was cut short is set aside and made anew', async () => {
  const folder = temporaryData();
  writeFileSync(folder.temporalDb, '');
  recordDatabase(folder, { server: '1.29.1', complete: false });
  await joinServer(joining(folder));
  expect(readDatabaseRecord(folder)?.complete).toBe(true);
  expect(readdirSync(folder.root).some((name) => name.startsWith('temporal.db.incomplete-'))).toBe(true);
});

test('a database is complete for those who find the server of a starter that was killed before it could say so', async () => {
  const folder = temporaryData();
  await joinServer(joining(folder));
  recordDatabase(folder, { server: serverOf(folder).server, complete: false });
  await joinServer(joining(folder));
  expect(readDatabaseRecord(folder)?.complete).toBe(true);
});

test('the record of a server whose pid now belongs to another process starts a new one, and kills nobody', async () => {
  const folder = temporaryData();
  const stale = { server: '1.29.1', binary: 'temporal', address: '127.0.0.1:20001', startedAt: 0 };
  writeFileSync(folder.serverJson, JSON.stringify({ ...processIdentity(), startTime: '1', ...stale }));
  const joined = await joinServer(joining(folder));
  expect(joined.startedHere).toBe(true);
  await joined.leave();
  expect(existsSync(folder.temporalDb)).toBe(true);
});
