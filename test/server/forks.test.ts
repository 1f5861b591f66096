// Sessions that go on from a point of another one, on a real server (T10).
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../../client/client.ts';
import type { PerdureClient } from '../../client/perdure-client.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { verifyTranscript } from '../../store/log/audit.ts';
import { fileStore } from '../../store/values/file-store.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { harness, type HarnessOptions } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';

const bash = (command: string) => toolUse('bash', { command });

async function forkHarness(options: HarnessOptions) {
  const h = await harness(options);
  const store = fileStore({ dir: h.storePlace });
  const client = createClient({
    temporal: h.client,
    store,
    live: async function* () {},
    visibility: async () => false,
  });
  /** Ends a fork with the test. */
  const fork: PerdureClient['fork'] = async (id, asked) => {
    const forked = await client.fork(id, asked);
    onTestFinished(async () => {
      const handle = h.client.workflow.getHandle(forked.session);
      if ((await handle.describe()).status.name === 'RUNNING') await handle.terminate();
    });
    return forked;
  };
  const ended = (session: string, run: number) =>
    until(async () => {
      const { last } = await client.describe(session);
      return last && last.run >= run ? last : null;
    });
  const entries = async (session: string) => {
    const found = [];
    for await (const { entry } of client.transcript(session)) found.push(entry);
    return found;
  };
  const sound = async (session: SessionId) => {
    const { head } = await client.describe(session);
    expect((await verifyTranscript(store, session, head)).problems).toEqual([]);
  };
  const checkedOut = (session: string) =>
    until(async () => {
      const { forkFiles } = await client.describe(session);
      return forkFiles?.state === 'pending' ? null : forkFiles;
    });
  const sent = () => JSON.stringify(h.bodies().at(-1)?.messages);
  return { ...h, store, sessions: client, fork, entriesOf: entries, endedRun: ended, sound, checkedOut, sent };
}

test('a fork goes on from the whole of its origin, as a session of its own that has spent nothing (T10)', async () => {
  const h = await forkHarness({ script: [reply('First.'), reply('Forked.'), reply('Own way.')] });
  const origin = await h.open('Go.');
  await origin.ended(1);
  const forked = await h.fork(origin.id, { prompt: 'Another way.', by: 'ana' });
  expect(forked).toMatchObject({ cwd: h.cwd, files: false, forkedFrom: { session: origin.id } });
  await h.endedRun(forked.session, 2);
  expect(h.sent()).toMatch(/Go\..*First\..*Another way\./);
  await origin.send('On.');
  await origin.ended(2);
  expect(h.sent()).not.toContain('Another way.');
  const { facts, forkedFrom } = await h.sessions.describe(forked.session);
  expect(forkedFrom).toEqual(forked.forkedFrom);
  expect(facts).toMatchObject({ turns: 1 });
  const entries = await h.entriesOf(forked.session);
  expect(entries.slice(0, forked.forkedFrom.position)).toEqual(
    (await h.entriesOf(origin.id)).slice(0, forked.forkedFrom.position),
  );
  expect(entries[forked.forkedFrom.position]).toMatchObject({
    notice: { kind: 'forked', session: origin.id, by: 'ana' },
  });
  await h.sound(forked.session);
  await h.sound(origin.id);
});
