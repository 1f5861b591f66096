// A session that moves from one store and server to another as a file (W4).
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { openStore } from '../../store/values/open-store.ts';
import { exportSession, importSession, type ImportResult } from '../../client/store-care/carry-session.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { useS3Keys } from '../support/shared-store.ts';
import { endOf, STORE_KINDS, storeTown, type StoreKind, type Town } from '../support/store-town.ts';
import { until } from '../support/until.ts';

beforeAll(() => {
  useS3Keys();
  process.env['AWS_ENDPOINT_URL_S3'] = inject('s3Endpoint');
  return () => void delete process.env['AWS_ENDPOINT_URL_S3'];
});

const [folder, bucket] = STORE_KINDS as [StoreKind, StoreKind];
const WAYS = [
  [folder, bucket],
  [bucket, folder],
] as const;

const LONG = 'a long prompt, '.repeat(200);

const exported = (town: Town, session: string, path: string) =>
  exportSession({ ...town, temporal: town.temporal.client, session: session as SessionId, path });

function imported(town: Town, path: string, temporal = town.temporal.client): Promise<ImportResult> {
  const { storeId, cwd, target, taskQueue } = town;
  const { store } = openStore({ ...town.folder, dataDir: town.folder.root });
  const sealed = target.keys !== undefined;
  const here = { temporal, store, storeId, path, cwd, sealed, taskQueue, accept: () => Promise.resolve() };
  return importSession({ ...here, profile: 'fleet', visibility: true });
}

describe.each(WAYS)('from %s to %s', (from, to) => {
  test('a session goes on from what it knows, with its options, once (W4)', async () => {
    const spills = reply([toolUse('bash', { command: 'seq 1 40000' })]);
    const old = await storeTown(from, [spills, reply('Counted.')]);
    const { session } = await old.sessions.start(LONG, {
      cwd: old.cwd,
      systemPrompt: 'You count.',
      tags: { team: 'x' },
    });
    expect(await endOf(old, session)).toBe('completed');
    const path = join(old.cwd, 'moved.perdure');
    const { values, bytes } = await exported(old, session, path);
    expect(values).toBeGreaterThan(3);
    expect(bytes).toBe(readFileSync(path).length);
    await expect(exported(old, session, path)).rejects.toThrow(`${path} is there already: name another`);

    const other = await storeTown(to, [reply('To 40000.')]);
    expect(await imported(other, path)).toEqual({ session, again: false });
    expect(await other.sessions.describe(session)).toMatchObject({ phase: 'idle', runs: 1, cwd: other.cwd });
    await other.sessions.send(session, 'How far?');
    expect(await endOf(other, session, 2)).toBe('completed');
    const asked = JSON.stringify(other.model.requests[0]?.body);
    for (const part of [LONG.slice(0, 40), 'seq 1 40000', 'Counted.', 'How far?', 'You count.'])
      expect(asked).toContain(part);
    expect(other.model.problems).toEqual([]);
    // The same file again changes nothing, wherever the session has come to; a file of a later
    // state is another.
    expect(await imported(other, path)).toEqual({ session, again: true });
    expect(await other.sessions.describe(session)).toMatchObject({ phase: 'idle', runs: 2 });
    const later = join(other.cwd, 'later.perdure');
    await exported(other, session, later);
    await expect(imported(other, later)).rejects.toThrow(/^session \S+ is here already: `perdure show \S+` shows it$/);
    expect((await other.clean({ dryRun: true })).sessions).toBe(1);
  });
});

test('a file that is damaged, cut off, foreign or newer is refused in one line, and nothing is begun (W4)', async () => {
  const town = await storeTown('a bucket', [reply('Done.')]);
  const { session } = await town.sessions.start(LONG, { cwd: town.cwd });
  await endOf(town, session);
  const path = join(town.cwd, 'whole.perdure');
  await exported(town, session, path);
  const whole = readFileSync(path, 'utf8');
  const lines = whole.split('\n');
  const other = await storeTown('a folder, with payloads sealed', null);
  const bad = join(town.cwd, 'bad.perdure');
  const cases: readonly (readonly [text: string, why: RegExp])[] = [
    ['', /is no exported session/],
    ['{"some":"json"}\n', /is no exported session: `perdure export ID` writes one$/],
    [
      whole.replace('"v":1', '"v":2'),
      /was written by a newer Perdure \(version 2, this one reads 1\): update this one$/,
    ],
    [whole.replace('"base64":"', '"base64":"AAAA'), /is damaged: line 2 is no whole value/],
    [whole.replace('"runs":1', '"runs":2'), /is damaged: line \d+ does not fit what is before it/],
    [lines.slice(0, -2).join('\n'), /ends after line \d+, before its end: export the session again$/],
    [whole.slice(0, -20), /is damaged: line \d+ is no whole value/],
    [`${lines[0]}\n${lines.slice(2).join('\n')}`, /is damaged: line \d+ does not fit/],
    [`${whole}${lines[1]}\n`, /is damaged: line \d+ comes after its end/],
  ];
  for (const [text, why] of cases) {
    writeFileSync(bad, text);
    const thrown = await imported(other, bad).then(
      () => '',
      (error: Error) => error.message,
    );
    expect(thrown).toMatch(why);
    expect(thrown).not.toContain('\n');
  }
  await expect(imported(other, join(town.cwd, 'none'))).rejects.toThrow(/none cannot be read: /);
  expect(await other.list()).toEqual([]);
  copyFileSync(path, bad);
  expect(await imported(other, bad)).toEqual({ session, again: false });
});

test('an import whose start was answered by nobody has begun one session, and says so when it is tried again (W4)', async () => {
  const town = await storeTown('a folder, with payloads sealed', [reply('Done.')]);
  const { session } = await town.sessions.start('go', { cwd: town.cwd });
  await endOf(town, session);
  const path = join(town.cwd, 'moved.perdure');
  await exported(town, session, path);
  const other = await storeTown('a folder, with payloads sealed', null);
  const { client } = other.temporal;
  let lost = 0;
  const start: typeof client.workflow.start = async (...given) => {
    const handle = await client.workflow.start(...given);
    if ((lost += 1) > 1) return handle;
    throw Object.assign(new Error('14 UNAVAILABLE: the answer was lost'), { code: 14, details: 'lost', metadata: {} });
  };
  const workflow = Object.assign(Object.create(client.workflow) as typeof client.workflow, { start });
  const deaf = Object.assign(Object.create(client) as typeof client, { workflow });
  expect(await imported(other, path, deaf)).toEqual({ session, again: true });
  expect(lost).toBe(1);
  expect(await imported(other, path)).toEqual({ session, again: true });
  expect((await other.sessions.page()).sessions).toMatchObject([{ session, phase: 'idle', runs: 1 }]);
});

test('a session in the middle of a run is not exported, and says so (W4)', async () => {
  const held = gate();
  const town = await storeTown('a bucket', [reply('Held.', { hold: held.hold })]);
  const { session } = await town.sessions.start('go', { cwd: town.cwd });
  await until(() => town.model.requests.length > 0);
  await expect(exported(town, session, join(town.cwd, 'x'))).rejects.toThrow(
    new RegExp(`^session ${session} is in the middle of a run \\(running\\): export it when a run has ended$`),
  );
  held.release();
  await endOf(town, session);
});
