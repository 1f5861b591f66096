// A harness whose client forks sessions; the forks end with the test.
import { expect, onTestFinished } from 'vitest';
import { join } from 'node:path';
import { createFolderClient } from '../../client/client.ts';
import { openShadowReading } from '../../client/sessions/files/read-shadow.ts';
import type { PerdureClient } from '../../client/perdure-client.ts';
import { verifyTranscript } from '../../store/log/audit.ts';
import { fileStore } from '../../store/values/file-store.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { harness, type HarnessOptions } from './harness.ts';
import { until } from './until.ts';

export async function forkHarness(options: HarnessOptions) {
  const h = await harness(options);
  const store = fileStore({ dir: h.storePlace });
  const client = createFolderClient({
    temporal: h.client,
    store,
    live: async function* () {},
    visibility: async () => false,
    snapshots: (willBring) => openShadowReading(join(h.cwd, '../data'), { PATH: process.env['PATH'] }, willBring),
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
