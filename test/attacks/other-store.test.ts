// Several data folders on one Temporal server: a client that has not what a session says is told who has, and nothing it sends is lost.
import { join } from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { openServer, type Opened } from '../../client/connect/open-server.ts';
import { makeKeyFile } from '../../worker/payloads/key-ring.ts';
import { dataFolder } from '../../worker/embedded/data-folder.ts';
import { tempDir } from '../support/temp-dir.ts';

async function opened(root: string, more: Readonly<Record<string, string>> = {}): Promise<Opened> {
  const env = { HOME: tempDir(), TEMPORAL_ADDRESS: inject('temporalAddress'), PERDURE_DATA: root, ...more };
  const server = await openServer({ env, role: 'command', worker: false, say: () => undefined });
  onTestFinished(() => server.close());
  return server;
}

async function started({ sessions, temporal }: Opened): Promise<string> {
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
  const keys = join(dataFolder({ PERDURE_DATA: root }).root, 'keys.json');
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
  await expect(opened(root, { PERDURE_CODEC_KEYS: outside })).rejects.toThrow(/put it into the data folder/);
  await expect(opened(root, { PERDURE_CODEC_KEYS: join(root, 'none.json') })).rejects.toThrow(/there is no key file/);
});
