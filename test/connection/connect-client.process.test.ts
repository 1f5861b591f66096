import { spawn } from 'node:child_process';
import { createServer as createHttp2Server } from 'node:http2';
import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { connectClient } from '../../connection/connect-client.ts';
import { openDataFolder } from '../../connection/data-folder.ts';
import { canUseAttributes, ensureAttributes } from '../../client/sessions/find/attributes.ts';
import { ATTRIBUTES } from '../../workflows/contract/visibility.ts';
import { findFreePort } from '../../worker/embedded/free-port.ts';
import { type EmbeddedServer, joinServer } from '../../worker/embedded/join-server.ts';
import { stopServer } from '../../worker/embedded/stop-server.ts';
import { joining, realBinary, serverOf, temporaryData, until } from '../worker/embedded/support.ts';

const root = mkdtempSync(join(tmpdir(), 'perdure-'));
const [INT, KEYWORD] = [3, 2];
let server: EmbeddedServer;

beforeAll(async () => {
  server = await joinServer(joining(openDataFolder({ PERDURE_DATA: root })));
});
afterAll(async () => {
  await server.leave();
  rmSync(root, { recursive: true, force: true });
});

async function connected() {
  const found = await connectClient({ address: server.address, namespace: 'default' });
  onTestFinished(found.close);
  return found;
}

test('the embedded server knows every attribute from its start (O1)', async () => {
  const { client, connection } = await connected();
  const { checks, usable } = await ensureAttributes(connection, 'default');
  expect(usable).toBe(true);
  expect(checks.map(({ state }) => state)).toEqual(checks.map(() => 'there'));
  const start = { workflowId: 'w', taskQueue: 'none', searchAttributes: { PerdurePhase: ['idle'] } };
  await client.workflow.start('anyType', start);
});

async function namespaceWith(connection: Connection, namespace: string, searchAttributes: Record<string, number>) {
  const workflowExecutionRetentionPeriod = msToTs('1 day');
  await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod });
  await connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
}

test('a namespace of an earlier release gets the attributes it lacks, and is asked once (O1)', async () => {
  const { connection } = await connected();
  const namespace = 'other';
  await namespaceWith(connection, namespace, { PerdurePhase: KEYWORD });
  const answers = await Promise.all([canUseAttributes(connection, namespace), canUseAttributes(connection, namespace)]);
  expect(answers).toEqual([true, true]);
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  expect(Object.keys(customAttributes)).toEqual(
    expect.arrayContaining(Object.values(ATTRIBUTES).map(({ name }) => name)),
  );
});

test('a namespace where one name is taken by another type, or no room is left, says which and why (O1)', async () => {
  const { connection } = await connected();
  await namespaceWith(connection, 'taken', { PerdureModel: INT });
  const taken = await ensureAttributes(connection, 'taken');
  expect(taken.usable).toBe(false);
  expect(taken.checks.filter(({ state }) => state === 'other_type').map(({ name }) => name)).toEqual(['PerdureModel']);
  await namespaceWith(connection, 'full', { One: INT, Two: INT });
  const full = await ensureAttributes(connection, 'full');
  expect(full).toMatchObject({ usable: false, why: expect.stringMatching(/Int/) as string });
  expect(full.checks.every(({ state }) => state === 'missing')).toBe(true);
});

test('a missing namespace is named, with what to do', async () => {
  const { address } = server;
  await expect(connectClient({ address, namespace: 'nowhere' })).rejects.toThrow(
    `the Temporal server at ${address} has no namespace nowhere: create it with \`temporal operator namespace create -n nowhere\``,
  );
});

test('an address where nothing listens, or something else, is named', async () => {
  const other = createServer((socket) => void socket.on('error', () => undefined).end('hello'));
  const address = `127.0.0.1:${await findFreePort()}`;
  const otherAddress = `127.0.0.1:${await findFreePort()}`;
  await new Promise<void>((resolve) => other.listen(Number(otherAddress.split(':')[1]), '127.0.0.1', resolve));
  onTestFinished(() => void other.close());
  await Promise.all([
    expect(connectClient({ address, namespace: 'default' })).rejects.toThrow(
      `no Temporal server answers at ${address}: nothing listens there; start it, or correct TEMPORAL_ADDRESS`,
    ),
    expect(connectClient({ address: otherAddress, namespace: 'default' })).rejects.toThrow(
      `no Temporal server answers at ${otherAddress}: something listens there, but does not speak gRPC`,
    ),
  ]);
});

test('a server that takes no updates, as one before 1.25, is refused with its version and what to do (Q1)', async () => {
  const { path, server: version } = await realBinary(null);
  const port = await findFreePort();
  const args = [
    'server',
    'start-dev',
    '--headless',
    '--ip',
    '127.0.0.1',
    '--port',
    String(port),
    '--log-level',
    'never',
  ];
  const off = ['--dynamic-config-value', 'frontend.enableUpdateWorkflowExecution=false'];
  const child = spawn(path, [...args, ...off], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const address = `127.0.0.1:${port}`;
  const connecting = () =>
    connectClient({ address, namespace: 'default' }).then(
      ({ close }) => close().then(() => 'connected'),
      (error: unknown) => String(error),
    );
  let said = '';
  while (child.exitCode === null && !/updates|connected/.test(said)) said = await connecting();
  expect(said).toBe(
    `SetupProblem: the Temporal server at ${address} (version ${version}) takes no workflow updates: use 1.25 or newer, or set frontend.enableUpdateWorkflowExecution in its dynamic configuration`,
  );
});

test('a gRPC service that is no Temporal server is named as such (Q1)', async () => {
  const other = createHttp2Server();
  other.on('stream', (stream) => {
    const unimplemented = { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '12' };
    stream.respond(unimplemented, { endStream: true });
  });
  const port = await findFreePort();
  await new Promise<void>((resolve) => other.listen(port, '127.0.0.1', resolve));
  onTestFinished(() => void other.close());
  const said = `what answers at 127.0.0.1:${port} is no Temporal server, or one that is far too old: correct TEMPORAL_ADDRESS`;
  await expect(connectClient({ address: `127.0.0.1:${port}`, namespace: 'default' })).rejects.toThrow(said);
});

test('a call that waits to be tried again when its connection closes fails, and ends nothing else', async () => {
  const folder = temporaryData();
  const { address, leave } = await joinServer(joining(folder));
  onTestFinished(leave);
  const { client, close } = await connectClient({ address, namespace: 'default' });
  await stopServer(serverOf(folder));
  let refused = 0;
  const nobody = createServer((socket) => void (refused++, socket.on('error', () => undefined).destroy()));
  onTestFinished(() => void nobody.close());
  const calls = Array.from({ length: 50 }, () => client.workflow.getHandle('any').describe());
  const ends = Promise.allSettled(calls);
  nobody.listen(Number(address.split(':')[1]), '127.0.0.1');
  await until(() => refused > 2);
  await close();
  expect((await ends).map(({ status }) => status)).toEqual(calls.map(() => 'rejected'));
});
