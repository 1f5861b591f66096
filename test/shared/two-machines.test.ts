// Machines with disks of their own that share a Temporal server and a bucket: the commands as
// people run them on each (W1).
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { gate, reply, toolUse, type ScriptedModel } from '../../scripted-model/index.ts';
import { cliPlace, jsonLines, modelFor, readyWorker } from '../support/cli.ts';
import { type Fault, faultyProxy, type Passing } from '../support/faulty-proxy.ts';
import { BUCKET, S3_KEYS } from '../support/s3-gateway.ts';
import { newKeys } from '../support/new-keys.ts';
import { ownNamespace } from '../support/own-namespace.ts';
import { until } from '../support/until.ts';

/**
 * All machines of one cluster: `machine()` is one more, whose disk has nothing but the keys that
 * they have in common.
 */
async function cluster(model: ScriptedModel, endpoint = inject('s3Endpoint')) {
  const shared = {
    ...S3_KEYS,
    ...(await ownNamespace(inject('temporalAddress'))),
    AWS_ENDPOINT_URL_S3: endpoint,
    PERDURE_STORE: `s3://${BUCKET}/${randomUUID()}`,
  };
  const keys = readFileSync(newKeys().path);
  return {
    machine: () => {
      const place = cliPlace(model);
      const own = join(place.data, 'keys.json');
      mkdirSync(place.data, { mode: 0o700 });
      writeFileSync(own, keys, { mode: 0o600 });
      Object.assign(place.env, shared, { PERDURE_CODEC_KEYS: own });
      return place;
    },
  };
}

test('a session that one machine starts is done by another, watched by a third, and outlives a disk (W1)', async () => {
  const held = gate();
  const model = await modelFor([
    reply([toolUse('bash', { command: 'echo effect >> effects.log' })]),
    reply('This attempt dies.', { hold: held.hold, holdAfterEvent: 4 }),
    reply('All done.'),
  ]);
  const { machine } = await cluster(model);
  const [starts, dies, watches] = [machine(), machine(), machine()];
  const first = await readyWorker(dies);
  const started = await starts.run('start', '--permission-mode', 'bypass', 'make it');
  expect(started).toMatchObject({ status: 0 });
  const id = started.out.trim();
  await until(() => model.requests.length === 2);
  first.signal('SIGKILL');
  await first.status;
  rmSync(dies.data, { recursive: true, force: true });
  const takesOver = machine();
  const second = await readyWorker(takesOver);
  const watched = await watches.run('watch', '--json', id);
  held.release();
  expect(watched.status).toBe(0);
  expect(jsonLines(watched.out).at(-1)).toMatchObject({ type: 'result', reason: 'completed', text: 'All done.' });
  const shown = await machine().run('show', id);
  expect(shown).toMatchObject({ status: 0, out: expect.stringContaining('All done.') as string });
  second.signal('SIGTERM');
  expect(await second.status).toBe(0);
});

test('what a session has changed is read on another machine, goes back and is forked without its snapshots (T4 T10 T11)', async () => {
  const { machine } = await cluster(
    await modelFor([
      reply([toolUse('bash', { command: 'echo one > a; echo two > b' })]),
      reply('First.'),
      reply([toolUse('bash', { command: 'echo more >> a; rm b' })]),
      reply('Second.'),
    ]),
  );
  const [works, reads] = [machine(), machine()];
  const settings = join(works.env['XDG_CONFIG_HOME'] ?? '', 'perdure', 'perdure.config.mjs');
  writeFileSync(settings, 'export default { memory: false, snapshots: true };');
  const worker = await readyWorker(works);
  const started = await works.run('run', '--permission-mode', 'bypass', 'Make them.');
  expect(started).toMatchObject({ status: 0 });
  const [{ session: id } = {}] = jsonLines((await reads.run('list', '--json')).out);
  expect((await reads.run('send', String(id), 'Change them.')).status).toBe(0);
  await until(async () => (await reads.run('show', String(id))).out.includes('Second.'));
  const told = await reads.run('diff', String(id), '--stat');
  expect(told).toMatchObject({ status: 0, out: 'added a  +2 −0\n1 file changed (+2 −0)\n' });
  rmSync(join(works.data, 'snapshots', 'objects'), { recursive: true });
  writeFileSync(join(works.cwd, 'a'), 'one\nmore\nby hand\n');
  const back = await reads.run('rewind', String(id), '--force');
  expect(back).toMatchObject({ status: 0 });
  expect(readFileSync(join(works.cwd, 'a'), 'utf8')).toBe('one\n');
  expect(readFileSync(join(works.cwd, 'b'), 'utf8')).toBe('two\n');
  rmSync(join(works.data, 'snapshots', 'objects'), { recursive: true });
  // What the rewind has captured, a person's change of then among it, is in the bucket, too.
  expect(await reads.run('rewind', String(id), '--undo')).toMatchObject({ status: 0 });
  expect(readFileSync(join(works.cwd, 'a'), 'utf8')).toBe('one\nmore\nby hand\n');
  expect(await reads.run('rewind', String(id), '--undo')).toMatchObject({ status: 0 });
  rmSync(join(works.data, 'snapshots'), { recursive: true });
  const forked = `${works.cwd}-forked`;
  expect(await reads.run('fork', String(id), '--files', forked)).toMatchObject({ status: 0 });
  await until(() => existsSync(join(forked, 'a')) && existsSync(join(forked, 'b')));
  expect(readFileSync(join(forked, 'b'), 'utf8')).toBe('two\n');
  worker.signal('SIGTERM');
  expect(await worker.status).toBe(0);
});

test('a question of a run is answered from a machine that neither started nor runs it (W1 L55)', async () => {
  const { machine } = await cluster(
    await modelFor([reply([toolUse('bash', { command: 'rm -r build' })]), reply('Not then.')]),
  );
  const [works, starts, answers] = [machine(), machine(), machine()];
  const running = await readyWorker(works);
  const id = (await starts.run('start', 'Clean up.')).out.trim();
  const asked = await until(async () => {
    const { out } = await answers.run('approvals', '--json');
    return jsonLines(out).find(({ session }) => session === id) ?? null;
  });
  const denied = await answers.run('deny', id, String(asked.call), '--reason', 'keep it');
  expect(denied).toMatchObject({ status: 0, err: expect.stringContaining('denied') as string });
  const watched = await starts.run('watch', '--json', id);
  expect(jsonLines(watched.out).at(-1)).toMatchObject({ type: 'result', text: 'Not then.' });
  running.signal('SIGTERM');
  await running.status;
});

test('a bucket that turns read-only in the middle of a run holds it up, says so, and nothing is done twice (W1 W3)', async () => {
  const held = gate();
  const call = toolUse('bash', { command: 'echo effect >> effects.log' });
  const first = { ...reply([call], { hold: held.hold, holdAfterEvent: 1 }), times: 'any' as const };
  const model = await modelFor({
    replies: [
      { ...first, when: { hasToolResult: false } },
      { ...reply('All done.'), when: { hasToolResult: true } },
    ],
  });
  let isReadOnly = false;
  const fault = ({ method }: Passing): Fault | null => (isReadOnly && method === 'PUT' ? 'denied' : null);
  const { endpoint, passed } = await faultyProxy(inject('s3Endpoint'), { fault });
  const place = (await cluster(model, endpoint)).machine();
  const worker = await readyWorker(place);
  const id = (await place.run('start', '--permission-mode', 'bypass', 'go')).out.trim();
  await until(() => model.requests.length === 1);
  isReadOnly = true;
  const before = passed.length;
  held.release();
  await until(() => passed.slice(before).filter(({ method }) => method === 'PUT').length > 1);
  const lines = (): string => worker.out() + worker.err();
  await until(() => /access is denied: allow s3:GetObject and s3:PutObject there/.test(lines()));
  isReadOnly = false;
  const watched = await place.run('watch', '--json', id);
  expect(jsonLines(watched.out).at(-1)).toMatchObject({ type: 'result', reason: 'completed', text: 'All done.' });
  expect(readFileSync(join(place.cwd, 'effects.log'), 'utf8')).toBe('effect\n');
});

test('a client with another store is told where the session is, not that its data is damaged (W1)', async () => {
  const { machine } = await cluster(await modelFor([reply('Hello.')]));
  const works = machine();
  const running = await readyWorker(works);
  const ran = await works.run('run', '--json', 'hi');
  const id = String(jsonLines(ran.out).at(-1)?.sessionId);
  const stranger = machine();
  const command = stranger.start(['send', id, 'more'], { env: { PERDURE_STORE: `s3://${BUCKET}/elsewhere` } });
  expect(await command.status).not.toBe(0);
  expect(command.err()).toMatch(/^perdure: session \S+ is kept in store \S+, and here is store \S+: set PERDURE_STORE/);
  running.signal('SIGTERM');
  await running.status;
});

test('PERDURE_STORE that is no place is refused in one line', async () => {
  const place = cliPlace(null);
  const command = place.start(['list'], { env: { PERDURE_STORE: '/somewhere' } });
  expect(await command.status).not.toBe(0);
  expect(command.err()).toMatch(/^perdure: PERDURE_STORE is "\/somewhere": give s3:\/\/bucket\/prefix[^\n]*\n$/);
});

test('a turn that reads takes 2 requests, one that writes 3, one that runs a command 4 (W2)', async () => {
  const { endpoint, passed } = await faultyProxy(inject('s3Endpoint'));
  const calls = [
    toolUse('bash', { command: 'touch made' }),
    toolUse('write', { path: 'made.txt', content: 'x' }),
    toolUse('read', { path: 'notes.txt' }),
  ];
  const turns = calls.flatMap((call) => Array.from({ length: 12 }, () => reply([call])));
  const { machine } = await cluster(await modelFor([...turns, reply('Done.')]), endpoint);
  const place = machine();
  writeFileSync(join(place.cwd, 'notes.txt'), 'a line\n');
  const running = await readyWorker(place);
  const ran = await place.run('run', '--permission-mode', 'bypass', '--json', 'go');
  expect(jsonLines(ran.out).at(-1)).toMatchObject({ reason: 'completed' });
  running.signal('SIGTERM');
  await running.status;
  const steps = passed.flatMap(({ path }, index) => (path.includes('/keys/steps/') ? [index] : []));
  /** Ten turns: from the record of the first to that of the eleventh, counted from the end. */
  const perTurn = (last: number) => {
    const spent = passed.slice(steps.at(last - 10), steps.at(last));
    return { requests: spent.length / 10, bytes: spent.reduce((sum, { bytes }) => sum + bytes, 0) / 10 };
  };
  const [command, write, read] = [perTurn(-26), perTurn(-14), perTurn(-2)];
  console.info(`requests and bytes a turn: ${JSON.stringify({ read, write, command })}`);
  expect([read.requests, write.requests, command.requests]).toEqual([2, 3, 4]);
  for (const { bytes } of [read, write, command]) expect(bytes).toBeLessThan(5_000);
});

test('`doctor` says which store it found, and what is wrong with one that it cannot use (W1)', async () => {
  const place = (await cluster(await modelFor([]))).machine();
  expect((await place.run('doctor')).out).toMatch(
    /store +s3:\/\/sessions\/\S+ \(\S+\), records sealed with key [0-9a-f]{8}\n/,
  );
  const keyless = { PERDURE_STORE: `s3://${BUCKET}/${randomUUID()}`, PERDURE_CODEC_KEYS: '' };
  const open = place.start(['doctor'], { env: keyless });
  await open.status;
  expect(open.out()).toMatch(
    /its records are not sealed: who may write in the bucket is trusted as a worker is, unless/,
  );
  const wrong = place.start(['doctor'], { env: { PERDURE_STORE: 's3://nowhere-else/x' } });
  await wrong.status;
  expect(wrong.out()).toContain('there is no bucket "nowhere-else": create it, or name another in PERDURE_STORE');
});
