// The server of a data folder listens on the loopback interface, where any program and any web page
// of the machine can send to it.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openAddress } from '../../page/page-address.ts';
import { openWholeServer, type OpenedServer } from '../../client/runtime/open-server.ts';
import { createClientConverter } from '../../connection/payloads/data-converter.ts';
import { findPlaces } from '../../system/process/places.ts';
import { bwrapArguments } from '../../system/process/bwrap.ts';
import { confine } from '../../tools/builtin/files/confine.ts';
import { Client } from '@temporalio/client';
import { hostEnv, serverOf, temporaryData } from '../worker/embedded/support.ts';
import type { DataFolder } from '../../connection/data-folder.ts';

const say = () => undefined;

async function opened(folder: DataFolder): Promise<OpenedServer> {
  const server = await openWholeServer({
    env: { ...hostEnv, PERDURE_DATA: folder.root },
    role: 'command',
    worker: false,
    say,
  });
  onTestFinished(() => server.close());
  return server;
}

/** The TCP ports that a process listens on. */
function portsOf(pid: number): readonly number[] {
  const sockets = new Set(
    readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1];
      } catch {
        return undefined;
      }
    }),
  );
  return ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/net/${table}`, 'utf8')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state, , , , , , inode]) => state === '0A' && inode !== undefined && sockets.has(inode))
      .map(([, local = '']) => Number.parseInt(local.split(':')[1] ?? '', 16)),
  );
}

/** As a form of a web page sends it: no question is asked before. */
async function post(port: number): Promise<number> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/namespaces/default/workflows/from-a-page`, {
      method: 'POST',
      headers: { origin: 'https://evil.example', 'content-type': 'text/plain' },
      body: JSON.stringify({
        workflowType: { name: 'perdure.agentSession' },
        taskQueue: { name: 'perdure' },
        requestId: 'x',
      }),
      signal: AbortSignal.timeout(60_000),
    });
    return answer.status;
  } catch {
    // It does not speak HTTP there.
    return 0;
  }
}

test("refuses what a web page sends to the server's HTTP API, and gRPC goes on", async () => {
  const folder = temporaryData();
  const { sessions, temporal } = await opened(folder);
  const answers = await Promise.all(portsOf(serverOf(folder).pid).map(post));
  // Its port is among them, and knows no host.
  expect(answers).toContain(403);
  expect(answers.filter((status) => status >= 200 && status < 300)).toEqual([]);
  await expect(temporal.client.workflow.getHandle('from-a-page').describe()).rejects.toThrow(/not found/i);
  const { session } = await sessions.start('Do it.', { cwd: folder.root });
  expect(await sessions.describe(session)).toMatchObject({ title: 'Do it.' });
});

test('seals what commands send, with keys that only the owner reads, and a plain client sees none of it', async () => {
  const folder = temporaryData();
  const { sessions, temporal } = await opened(folder);
  expect(statSync(folder.payloadKeys).mode & 0o777).toBe(0o600);
  const { session } = await sessions.start('Do it.', { cwd: folder.root });
  const plain = new Client({ connection: temporal.connection, dataConverter: createClientConverter(undefined) });
  const { memo } = await plain.workflow.getHandle(session).describe();
  expect(JSON.stringify(memo)).not.toContain('Do it.');
});

test('hides the keys from shell commands and from file tools, also where the data folder lies in the workspace', async () => {
  const folder = temporaryData();
  await opened(folder);
  const cwd = join(folder.root, '..');
  const args = bwrapArguments({ cwd, dataDir: folder.root }, findPlaces({ HOME: '/nowhere' }));
  openAddress(folder.root).keep({ port: 1 });
  for (const path of [folder.payloadKeys, join(folder.root, 'page.json')]) {
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const look = () => execFileSync('bwrap', [...args, 'cat', path], { stdio: 'pipe' });
    expect(look).toThrow(/No such file/);
    expect(() => confine({ root: cwd, hidden: folder.root }, path)).toThrow("Perdure's own data");
  }
});

test('does not begin without the keys to what a data folder holds, and says so', async () => {
  const folder = temporaryData();
  const server = await opened(folder);
  await server.close();
  rmSync(folder.payloadKeys);
  const again = openWholeServer({
    env: { ...hostEnv, PERDURE_DATA: folder.root },
    role: 'command',
    worker: false,
    say,
  });
  await expect(again).rejects.toThrow(/payload-keys\.json, the keys to .*temporal\.db, is missing: restore it/);
});
