// What a real session has changed, by the client's methods (T5 T11).
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { createFolderClient } from '../../client/client.ts';
import { applyChanges } from '../../client/sessions/files/apply-changes.ts';
import { findPairs } from '../../client/sessions/files/diff-session.ts';
import { findGit, openShadowReading } from '../../client/sessions/files/read-shadow.ts';
import { findPrograms } from '../../system/process/programs.ts';
import { fileStore } from '../../store/values/file-store.ts';
import { harness } from '../support/harness.ts';
import { tempDir } from '../support/temp-dir.ts';

test('what a session has changed is told by its calls, compared between points, and applied elsewhere (T5 T11)', async () => {
  const h = await harness({
    script: [
      reply([toolUse('write', { path: 'src/new', content: 'a\nb\n' })]),
      reply([toolUse('bash', { command: 'sed -i s/^2$/two/ list; rm old' })]),
      reply('Done.'),
    ],
    worker: { config: { snapshots: true } },
  });
  writeFileSync(join(h.cwd, 'list'), '1\n2\n3\n');
  writeFileSync(join(h.cwd, 'old'), 'old\n');
  const { id, ended, entries } = await h.open('Go.');
  await ended(1);
  const reading = openShadowReading(join(dirname(h.storePlace), 'data'), process.env);
  const sessions = createFolderClient({
    temporal: h.client,
    store: fileStore({ dir: h.storePlace }),
    live: async function* () {},
    visibility: () => Promise.resolve(true),
    snapshots: () => reading,
  });
  const captures = await sessions.files(id);
  expect(captures.map(({ calls }) => calls.map(({ name }) => name))).toEqual([[], ['write'], ['bash']]);
  const names = async (from?: string, to?: string) =>
    (await sessions.diff(id, { stat: true, ...(from && { from }), ...(to && { to }) })).files.map(
      ({ kind, path }) => `${kind} ${path}`,
    );
  expect(await names()).toEqual(['changed list', 'deleted old', 'added src/new']);
  expect(await names('1.1', '1.2')).toEqual(['added src/new']);
  expect(await names('1.2', '1.3')).toEqual(['changed list', 'deleted old']);
  expect((await sessions.diff(id, { paths: ['list'] })).patch).toContain('\n-2\n+two\n');
  const other = tempDir();
  mkdirSync(join(other, 'src'));
  writeFileSync(join(other, 'list'), '0\n1\n2\n3\n');
  writeFileSync(join(other, 'old'), 'old\n');
  const stretch = { entries: await entries(), first: 0 };
  const [pair] = await findPairs({ session: id, cwd: h.cwd, reading }, stretch, {});
  const root = tempDir();
  const { runIn } = findGit(root, process.env);
  const programs = findPrograms(process.env);
  const applied = pair && (await applyChanges({ reading, runIn, root, programs }, pair, other));
  expect(applied).toEqual({ written: ['list', 'src/new'], deleted: ['old'], same: 0, conflicts: [] });
});
