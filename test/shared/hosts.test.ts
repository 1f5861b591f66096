// Hosts that come and go under a session (T18 T19 T20): its files, its conversation and its calls
// follow it from one to another, and nothing is done twice.
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { gate, reply, toolUse, type ScriptedModel } from '../../scripted-model/index.ts';
import { cliPlace, jsonLines, modelFor, readyWorker } from '../support/cli.ts';
import { ownNamespace } from '../support/own-namespace.ts';
import { BUCKET, S3_KEYS } from '../support/s3-gateway.ts';
import { until } from '../support/until.ts';

const GRACE_MS = 1_000;

/** Hosts with disks of their own, which leave one another's sessions alone for a second. */
async function cluster(model: ScriptedModel) {
  const shared = {
    ...S3_KEYS,
    ...(await ownNamespace(inject('temporalAddress'))),
    AWS_ENDPOINT_URL_S3: inject('s3Endpoint'),
    PERDURE_STORE: `s3://${BUCKET}/${randomUUID()}`,
  };
  return (name: string) => {
    const place = cliPlace(model);
    Object.assign(place.env, shared, { PERDURE_HOST: name });
    const settings = join(place.env['XDG_CONFIG_HOME'] ?? '', 'perdure', 'perdure.config.mjs');
    mkdirSync(join(settings, '..'), { recursive: true });
    writeFileSync(settings, `export default { memory: false, hosts: { graceMs: ${GRACE_MS} } };`);
    return place;
  };
}

type Place = ReturnType<typeof cliPlace>;

const wipe = (place: Place): void => {
  for (const folder of [place.data, place.cwd]) rmSync(folder, { recursive: true, force: true });
};

const read = (place: Place, name: string): string => readFileSync(join(place.cwd, name), 'utf8');

const write = (name: string) => reply([toolUse('bash', { command: `echo ${name} >> ${name}` })]);

/** What a request tells the model, as text. */
const said = (model: ScriptedModel, at: number): string => JSON.stringify(model.requests[at]);

test('a session whose host died with its disk goes on elsewhere from its last snapshot, and is told what was lost (T18)', async () => {
  const held = gate();
  const model = await modelFor([
    write('a'),
    write('b'),
    reply('This attempt dies.', { hold: held.hold, holdAfterEvent: 4 }),
    reply('All done.'),
  ]);
  const host = await cluster(model);
  const [one, two] = [host('host-one'), host('host-two')];
  const first = await readyWorker(one);
  const id = (await one.run('start', '--permission-mode', 'bypass', 'make it')).out.trim();
  await until(() => model.requests.length === 3);
  first.signal('SIGKILL');
  await first.status;
  wipe(one);
  held.release();
  const second = await readyWorker(two);
  const watched = await two.run('watch', '--json', id);
  expect(jsonLines(watched.out).at(-1)).toMatchObject({ type: 'result', reason: 'completed', text: 'All done.' });
  expect(read(one, 'a')).toBe('a\n');
  expect(existsSync(join(one.cwd, 'b'))).toBe(false);
  expect(said(model, 3)).toMatch(/could not be reached any more.*you have read their results: bash\./);
  expect((await two.run('show', id)).out).toContain('continues on host host-two');
  // It is that host's from now on.
  expect(jsonLines((await two.run('list', '--json')).out)[0]).toMatchObject({ host: { id: 'host-two' } });
  second.signal('SIGTERM');
  expect(await second.status).toBe(0);
});

test('a session at rest, and one between two calls, move with what the last call has changed (T20)', async () => {
  const held = gate();
  const model = await modelFor([
    write('a'),
    reply('First.'),
    write('b'),
    reply([toolUse('bash', { command: 'cat a b > c' })], { hold: held.hold, holdAfterEvent: 1 }),
    reply('Second.'),
  ]);
  const host = await cluster(model);
  const [one, two] = [host('host-one'), host('host-two')];
  const workers = [await readyWorker(one), await readyWorker(two)];
  const ran = await one.run('run', '--json', '--permission-mode', 'bypass', 'make it');
  const id = String(jsonLines(ran.out).at(-1)?.sessionId);
  const { host: from } = jsonLines((await one.run('list', '--json')).out)[0] as { host: { id: string } };
  const to = from.id === 'host-one' ? 'host-two' : 'host-one';
  // Both hosts have one file system here, and the folder of the other has to be its own.
  const folder = readFileSync(join(one.cwd, 'a'), 'utf8');
  rmSync(one.cwd, { recursive: true });
  const unknown = await two.run('move', id, '--host', 'host-three');
  expect(unknown.err).toMatch(/No worker of this session runs on host host-three; workers run on host-one, host-two/);
  expect(folder).toBe('a\n');
  expect(await two.run('move', id, '--host', to)).toMatchObject({
    status: 0,
    err: expect.stringContaining(`is on host ${to} now`) as string,
  });
  expect(read(one, 'a')).toBe('a\n');
  expect((await two.run('send', id, 'more')).status).toBe(0);
  await until(() => model.requests.length === 4);
  expect(said(model, 2)).toMatch(/because the one before was left on purpose/);
  const later = await two.run('move', id);
  expect(later).toMatchObject({ status: 0, err: expect.stringContaining('before its next model call') as string });
  held.release();
  const shown = await until(async () => {
    const { out } = await two.run('show', id);
    return out.includes('Second.') ? out : null;
  });
  expect(shown).toContain(`moved to another host by`);
  for (const running of workers) running.signal('SIGTERM');
  await Promise.all(workers.map(({ status }) => status));
});

test('a host that dies in a call of a stored reply loses nothing captured with it; the model is told the rest (T18)', async () => {
  const model = await modelFor([
    write('a'),
    write('b'),
    reply([toolUse('bash', { command: 'echo c >> c; sleep 600' })]),
    reply('All done.'),
  ]);
  const host = await cluster(model);
  const [one, two] = [host('host-one'), host('host-two')];
  const first = await readyWorker(one);
  const id = (await one.run('start', '--permission-mode', 'bypass', 'make it')).out.trim();
  await until(() => existsSync(join(one.cwd, 'c')));
  first.signal('SIGKILL');
  await first.status;
  wipe(one);
  const second = await readyWorker(two);
  const watched = await two.run('watch', '--json', id);
  expect(jsonLines(watched.out).at(-1)).toMatchObject({ type: 'result', reason: 'completed', text: 'All done.' });
  expect([read(one, 'a'), read(one, 'b')]).toEqual(['a\n', 'b\n']);
  expect(existsSync(join(one.cwd, 'c'))).toBe(false);
  expect(said(model, 3)).toMatch(/outcome unknown.*you have read their results: bash\./);
  second.signal('SIGTERM');
  expect(await second.status).toBe(0);
});

test('a run that is opened while the host of its session is away opens on another one (T18)', async () => {
  const model = await modelFor([write('a'), reply('First.'), reply('Second.')]);
  const host = await cluster(model);
  const [one, two] = [host('host-one'), host('host-two')];
  const first = await readyWorker(one);
  const begun = await one.run('run', '--permission-mode', 'bypass', '--json', 'make it');
  const id = String(jsonLines(begun.out).at(-1)?.sessionId);
  first.signal('SIGKILL');
  await first.status;
  wipe(one);
  const second = await readyWorker(two);
  expect(await two.run('send', id, 'Go on.')).toMatchObject({ status: 0 });
  await until(async () => (await two.run('show', id)).out.includes('Second.'));
  expect((await two.run('show', id)).out).toContain('continues on host host-two');
  second.signal('SIGTERM');
  expect(await second.status).toBe(0);
});
