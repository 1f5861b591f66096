// Cleaning a store of sessions on a real server, in a folder and in a bucket (W4).
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { formatCount } from '../../client/units.ts';
import { hashOf, keySegment, type Store } from '../../store/values/store.ts';
import { openStore, s3Care } from '../../store/values/open-store.ts';
import { s3Objects } from '../../store/values/s3/s3-objects.ts';
import { GRACE_MS } from '../../client/store-care/clean-store.ts';
import { readSession } from '../../client/sessions/read.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { SIGNALS, WORKFLOW_TYPE } from '../../workflows/contract/session.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { cliPlace } from '../support/cli.ts';
import { until } from '../support/until.ts';
import { faultyProxy } from '../support/faulty-proxy.ts';
import { BUCKET } from '../support/s3-gateway.ts';
import { useS3Keys } from '../support/shared-store.ts';
import { dropFromServer, endOf, inDays, STORE_KINDS, storeTown, type Town } from '../support/store-town.ts';

beforeAll(() => {
  useS3Keys();
  process.env['AWS_ENDPOINT_URL_S3'] = inject('s3Endpoint');
  return () => void delete process.env['AWS_ENDPOINT_URL_S3'];
});

const LONG = 'a long prompt, '.repeat(200);
/** So much that the result is spilled: the model sees a preview, the whole lies by itself. */
const spills = reply([toolUse('bash', { command: 'seq 1 40000' })]);
const works = [spills, reply('Done.')];

/** As another process has it: nothing is remembered. */
const another = ({ folder }: Town): Store => openStore({ ...folder, dataDir: `${folder.root}/${randomUUID()}` }).store;

async function begin(town: Town, text: string): Promise<string> {
  const { session } = await town.sessions.start(text, { cwd: town.cwd });
  expect(await endOf(town, session)).toBe('completed');
  return session;
}

async function sound(town: Town, session: string): Promise<void> {
  const ports = { temporal: town.temporal, store: another(town), sessions: town.sessions };
  const { problems, entries } = await readSession(ports, session as SessionId);
  expect({ problems, isThere: entries.length > 4 }).toEqual({ problems: [], isThere: true });
}

describe.each(STORE_KINDS)('a store in %s', (kind) => {
  test('what a fork shares with a session that is gone stays, over two cleanings, and it goes on (W4 T10)', async () => {
    const town = await storeTown(kind, [...works, reply('Forked.'), reply('On.')]);
    const origin = await begin(town, LONG);
    const { session: fork } = await town.sessions.fork(origin, { prompt: 'Another way.' });
    expect(await endOf(town, fork, 2)).toBe('completed');
    await dropFromServer(town, origin);
    const cleaned = await town.clean({ now: inDays(2) });
    expect([...cleaned.known].toSorted()).toEqual([fork, origin].map((id) => keySegment(id)).toSorted());
    await town.clean({ now: inDays(4) });
    await sound(town, fork);
    await town.sessions.send(fork, 'And?');
    expect(await endOf(town, fork, 3)).toBe('completed');
    expect(JSON.stringify(town.model.requests.at(-1)?.body)).toContain(LONG.slice(0, 40));
  });

  test('what no session reaches is set aside, then removed, as a dry run has said; the rest stays whole (W4)', async () => {
    const town = await storeTown(kind, [...works, ...works, ...works, reply('Once more.')]);
    const [open, closed, gone] = [await begin(town, LONG), await begin(town, 'close'), await begin(town, 'go')];
    await town.sessions.cancel(closed);
    // It stores its end before it closes.
    await until(async () => (await town.sessions.describe(closed)).status === 'cancelled');
    await dropFromServer(town, gone);
    const orphan = await town.store.put(Buffer.from('nobody names this'));
    const before = await town.list();

    const young = await town.clean();
    expect(young).toMatchObject({ sessions: 2, aside: { objects: 0 }, records: { objects: 0 }, freed: 0 });
    const dry = await town.clean({ dryRun: true, now: inDays(2) });
    expect(dry).toMatchObject({ records: { sessions: 1 }, values: { objects: 0 }, putBack: 0 });
    expect(dry.aside.objects).toBeGreaterThan(2);
    expect(await town.list()).toEqual(before);

    expect(await town.clean({ now: inDays(2) })).toEqual(dry);
    const after = await town.list();
    expect(after).toContain(`aside ${orphan}`);
    expect(after.filter((name) => name.startsWith('aside'))).toHaveLength(dry.aside.objects);
    expect(Buffer.from(await another(town).get(orphan)).toString()).toBe('nobody names this');
    await sound(town, open);
    await sound(town, closed);

    const then = await town.clean({ dryRun: true, now: inDays(4) });
    expect(then).toMatchObject({ values: dry.aside, aside: { objects: 0 }, records: { objects: 0 } });
    expect(await town.clean({ now: inDays(4) })).toEqual(then);
    await expect(another(town).get(orphan)).rejects.toMatchObject({ problem: 'missing' });
    await sound(town, open);
    await town.sessions.send(open, 'And?');
    expect(await endOf(town, open, 2)).toBe('completed');
    await sound(town, open);
  });

  test('a value that is written again where it lay for long is as young as a new one, whenever it is written (W4)', async () => {
    const town = await storeTown(kind, null);
    const text = Buffer.from('an old orphan');
    const hash = await town.store.put(text);
    const past = Date.now() + 1_500;
    expect((await town.clean({ dryRun: true, now: () => past + GRACE_MS })).aside.objects).toBe(1);
    await passed(past);
    await another(town).put(text);
    expect((await town.clean({ now: () => past + GRACE_MS })).aside.objects).toBe(0);
    // Between the moment when a writer finds it and the one when its record names it.
    expect(await town.care.setAside(hash, Date.now() + 10_000)).toBe(true);
    expect(await another(town).has(hash)).toBe(true);
    expect(await another(town).get(hash)).toEqual(text);
    await another(town).put(text);
    await town.care.putBack(hash);
    expect(await town.list()).toEqual([`value ${hash}`]);
    expect(await another(town).get(hash)).toEqual(text);
  });

  test('sessions that run beside it, and name what it has just set aside, lose nothing (W4)', async () => {
    const turns = Array.from({ length: 12 }, (_, n) => reply([toolUse('write', { path: `f${n}`, content: `${n}` })]));
    const town = await storeTown(kind, [...turns, reply('Done.'), ...works]);
    const orphans = await Promise.all(
      Array.from({ length: 20 }, (_, n) => town.store.put(Buffer.from(`${n} ${LONG}`))),
    );
    const past = Date.now() + 1_100;
    await passed(past);
    const { session } = await town.sessions.start('go', { cwd: town.cwd });
    let setAside = 0;
    const cleaning = (async () => {
      for (let n = 0; n < 4; n += 1) setAside += (await town.clean({ now: () => past + GRACE_MS })).aside.objects;
    })();
    const sent = orphans.map(async (_, n) => town.sessions.send(session, `${n} ${LONG}`));
    await Promise.all([cleaning, ...sent]);
    await endOf(town, session);
    expect(setAside).toBeLessThanOrEqual(20);
    expect((await town.clean({ now: inDays(2) })).values.objects).toBe(0);
    await sound(town, session);
    for (const [n, orphan] of orphans.entries())
      expect(Buffer.from(await another(town).get(orphan)).toString()).toBe(`${n} ${LONG}`);
  });

  test('nothing is deleted when a session names what cannot be read, and one sentence says so (W4)', async () => {
    const town = await storeTown(kind, works);
    const session = await begin(town, 'go');
    await town.store.put(Buffer.from('an orphan'));
    const { head } = await town.sessions.describe(session);
    const segment = (await town.list()).find((name) => name === `value ${head}`);
    expect(segment).toBeDefined();
    await town.care.setAside(head!, inDays(1)());
    await town.care.remove({ kind: 'aside', name: head!, bytes: 0, at: 0 }, inDays(1)());
    const before = await town.list();
    await expect(town.clean({ now: inDays(2) })).rejects.toThrow(
      new RegExp(`^session ${session}, head: stored value ${head} is missing[^\n]*nothing was deleted[^\n]*$`),
    );
    expect(await town.list()).toEqual(before);
  });

  test('a session whose payloads are sealed with an unknown key stops it (W4)', async () => {
    const town = await storeTown(kind, null);
    await town.store.put(Buffer.from('an orphan'));
    const data = Buffer.concat([Buffer.from('01deadbeef', 'hex'), Buffer.alloc(60)]);
    const payload = { metadata: { encoding: Buffer.from('binary/encrypted') }, data };
    const { client } = town.temporal;
    await client.workflowService.signalWithStartWorkflowExecution({
      namespace: client.options.namespace,
      workflowId: 's-foreign',
      workflowType: { name: WORKFLOW_TYPE },
      taskQueue: { name: 'nobody' },
      signalName: SIGNALS.message,
      requestId: 'one',
      signalInput: { payloads: [payload] },
    });
    const before = await town.list();
    await expect(town.clean({ now: inDays(2) })).rejects.toThrow(
      /^a payload of session s-foreign (has the encoding|is sealed with key deadbeef)[^\n]* nothing was deleted; run it where its key or codec is, or[^\n]* delete it \(`temporal workflow delete -w s-foreign`\)$/,
    );
    expect(await town.list()).toEqual(before);
    const workflowExecution = { workflowId: 's-foreign' };
    const { namespace } = client.options;
    await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution });
    await until(() => town.clean({ now: inDays(2) }).catch(() => null));
    expect(await town.list()).not.toEqual(before);
  });
});

test('a cleaning that dies between two requests has lost nothing, and the next one ends it (W4)', async () => {
  const town = await storeTown('a bucket', works);
  const session = await begin(town, LONG);
  const orphans = await Promise.all([1, 2, 3].map((n) => town.store.put(Buffer.from(`orphan ${n}`))));
  const prefix = (town.env['PERDURE_STORE'] ?? '').slice(`s3://${BUCKET}/`.length);
  const { endpoint } = await faultyProxy(inject('s3Endpoint'), {
    fault: ({ method }) => (method === 'DELETE' ? 'denied' : null),
  });
  const dying = s3Care(s3Objects({ bucket: BUCKET, prefix, endpoint }), () => Promise.resolve(null));
  await expect(town.clean({ care: dying, now: inDays(2) })).rejects.toThrow(
    /access is denied: allow [^\n]*s3:DeleteObject/,
  );
  expect((await town.list()).filter((name) => name.startsWith('aside'))).toHaveLength(1);
  expect(await town.clean({ now: inDays(2) })).toMatchObject({ aside: { objects: 3 } });
  await sound(town, session);
  for (const hash of orphans) expect(hashOf(await another(town).get(hash))).toBe(hash);
});

test('a gc that is killed on its way has lost nothing, and the next one ends it (W4)', async () => {
  const town = await storeTown('a folder, with payloads sealed', works);
  const session = await begin(town, LONG);
  const { storePlace } = town.folder;
  const past = new Date(inDays(-3)());
  const orphans = Array.from({ length: 3_000 }, (_, n) => Buffer.from(`orphan ${n}`));
  const files = orphans.map(hashOf).map((hash) => join(storePlace, 'blobs', hash.slice(0, 1), hash));
  for (const [at, file] of files.entries()) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, orphans[at]!);
    utimesSync(file, past, past);
  }
  const place = cliPlace(null);
  Object.assign(place.env, town.env);
  const asideNow = (): number =>
    existsSync(join(storePlace, 'aside')) ? readdirSync(join(storePlace, 'aside')).length : 0;
  const killed = place.start(['gc']);
  await until(() => asideNow() > 0);
  killed.signal('SIGKILL');
  await killed.status;
  const left = files.filter((file) => existsSync(file) && statSync(file).mtime <= past).length;
  // One may have been made younger, and not set aside any more: the cleaning after its grace takes
  // it.
  const younger = orphans.length - asideNow() - left;
  expect(younger).toBeLessThanOrEqual(1);
  const said = await place.run('gc', '--dry-run');
  expect(said).toMatchObject({
    status: 0,
    out: expect.stringContaining(`${formatCount(left, 'value')} that no session names would be set aside`) as string,
  });
  expect(await place.run('gc')).toMatchObject({
    status: 0,
    out: expect.stringContaining(`${formatCount(left, 'value')} that no session names set aside`) as string,
  });
  expect(asideNow()).toBe(orphans.length - younger);
  for (const orphan of orphans.slice(0, 50)) expect(await town.store.get(hashOf(orphan))).toEqual(orphan);
  await sound(town, session);
  const tooShort = { status: 2, err: 'perdure: --older-than 23h is too short: give 1d or more\n' };
  expect(await place.run('gc', '--older-than', '23h')).toMatchObject(tooShort);
});

test('a store that another namespace uses too is left alone until that one is said to be gone (W4)', async () => {
  const town = await storeTown('a bucket', works);
  await begin(town, 'go');
  const other = await storeTown('a bucket', null);
  const { client } = other.temporal;
  const before = await town.list();
  const cleaning = { temporal: client, now: inDays(2) };
  const thrown = await town.clean(cleaning).then(
    () => '',
    (error: unknown) => String(error),
  );
  expect(thrown).toMatch(
    /sessions of namespace "test-[^"]+" \(\S+\) are in this store too[^\n]* nothing was deleted; [^\n]+$/,
  );
  expect(await town.list()).toEqual(before);
  const [, id = ''] = /--gone-namespace (\S+)$/.exec(thrown) ?? [];
  const cleaned = await town.clean({ ...cleaning, goneNamespaces: [id] });
  expect(cleaned.records).toMatchObject({ sessions: 1 });
  await expect(town.clean(cleaning)).resolves.toMatchObject({ records: { objects: 0 } });
});

/** The gateway counts whole seconds. */
const passed = (moment: number): Promise<unknown> => until(() => Date.now() > moment + 1_000);
