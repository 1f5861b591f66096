// Several data folders on one Temporal server: a client that has not what a session says is told
// who has, and nothing it sends is lost.
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import type { PayloadCodec } from '@temporalio/common';
import { expect, inject, onTestFinished, test } from 'vitest';
import { createClient } from '../../client/client.ts';
import { openWholeServer, type OpenedServer } from '../../client/runtime/open-server.ts';
import { makeKeyFile } from '../../connection/payloads/key-ring.ts';
import { openDataFolder } from '../../connection/data-folder.ts';
import { ownNamespace } from '../support/own-namespace.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { userCodec } from '../support/user-codec.mjs';

async function opened(root: string, more: Readonly<Record<string, string>> = {}): Promise<OpenedServer> {
  const env = { HOME: tempDir(), TEMPORAL_ADDRESS: inject('temporalAddress'), PERDURE_DATA: root, ...more };
  const server = await openWholeServer({ env, role: 'command', worker: false, say: () => undefined });
  onTestFinished(() => server.close());
  return server;
}

async function started({ sessions, temporal }: OpenedServer): Promise<string> {
  const { session } = await sessions.start('Do it.', { cwd: '/' });
  onTestFinished(async () => void (await temporal.client.workflow.getHandle(session).terminate()));
  return session;
}

test('names the store of a session that another data folder has, and sends nothing there', async () => {
  const [own, other] = [await opened(tempDir()), await opened(tempDir())];
  const session = await started(own);
  expect(await own.sessions.describe(session)).toMatchObject({ title: 'Do it.' });
  const elsewhere = /^session \S+ is kept in store [0-9a-f-]{36}, and here is store [0-9a-f-]{36}: set PERDURE_STORE/;
  await expect(other.sessions.transcript(session)[Symbol.asyncIterator]().next()).rejects.toThrow(elsewhere);
  await expect(other.sessions.send(session, 'More.')).rejects.toThrow(elsewhere);
  await expect(other.sessions.start('More.', { session })).rejects.toThrow(elsewhere);
  await own.sessions.send(session, 'More.');
});

test('tells a client without the key of a sealed session, and one with a key of a plain one', async () => {
  const root = tempDir();
  const keys = join(openDataFolder({ PERDURE_DATA: root }).root, 'keys.json');
  makeKeyFile(keys);
  const [plain, sealed] = [await opened(root), await opened(root, { PERDURE_CODEC_KEYS: keys })];
  const [open, closed] = [await started(plain), await started(sealed)];
  await expect(plain.sessions.send(closed, 'More.')).rejects.toThrow(/cannot be read here: .*"binary\/encrypted"/);
  await expect(sealed.sessions.send(open, 'More.')).rejects.toThrow(/cannot be read here: .*is not sealed/);
  await sealed.sessions.send(closed, 'More.');
});

test('refuses keys that commands of the agent could read, and a file that is not there', async () => {
  const root = tempDir();
  const outside = join(tempDir(), 'keys.json');
  makeKeyFile(outside);
  const link = join(root, 'link.json');
  symlinkSync(outside, link);
  for (const keys of [outside, link])
    await expect(opened(root, { PERDURE_CODEC_KEYS: keys })).rejects.toThrow(/put it into the data folder/);
  await expect(opened(root, { PERDURE_CODEC_KEYS: join(root, 'none.json') })).rejects.toThrow(/there is no key file/);
});

const throwing: PayloadCodec = {
  encode: userCodec.encode,
  decode: () => Promise.reject(new Error('no key for this payload')),
};

test.each([
  ['has no codec', [], 'Unknown encoding: binary/users-own'],
  ['has one that throws', [throwing], 'no key for this payload'],
] as const)(
  'a client that %s lists a session of another codec beside its own, and says why it reads no more of it (W1)',
  async (_, payloadCodecs, why) => {
    const own = await ownNamespace(inject('temporalAddress'));
    const root = tempDir();
    const { temporal } = await opened(root, own);
    const { connection } = temporal.client;
    const env = { PERDURE_DATA: root };
    const sessionsWith = (codecs: readonly PayloadCodec[]) =>
      createClient({
        temporal: new Client({
          connection,
          namespace: own['TEMPORAL_NAMESPACE'] ?? '',
          dataConverter: { payloadCodecs: [...codecs] },
        }),
        env,
      });
    const theirs = sessionsWith([userCodec]);
    const { session } = await theirs.start('Theirs.', { cwd: '/' });
    const sessions = sessionsWith(payloadCodecs);
    const mine = await sessions.start('Mine.', { cwd: '/' });
    onTestFinished(async () => {
      for (const id of [session, mine.session]) await temporal.client.workflow.getHandle(id).terminate();
    });
    const unread = `cannot be read by this client (${why})`;
    const listed = new Map<string, string>();
    await until(async () => {
      for await (const { session: id, title } of sessions.list()) listed.set(id, title);
      return listed.size === 2;
    });
    expect(listed.get(session)).toBe(`(${unread})`);
    expect((await sessions.page()).sessions).toHaveLength(2);
    const said = `session ${session} cannot be read here: its memo ${unread}; use the key file (PERDURE_CODEC_KEYS) or the codec that its worker has`;
    await expect(sessions.describe(session)).rejects.toThrow(said);
    await expect(sessions.transcript(session)[Symbol.asyncIterator]().next()).rejects.toThrow(said);
    await expect(sessions.follow(session)[Symbol.asyncIterator]().next()).rejects.toThrow(said);
    await expect(sessions.send(session, 'More.')).rejects.toThrow(said);
    await expect(sessions.result(session)).rejects.toThrow(said);
    expect(await theirs.describe(session)).toMatchObject({ title: 'Theirs.' });
  },
);
