// Hosts that come and go while a session changes hands: a take-over that is killed, a host whose
// calls go on while it drains, another folder in a later message, and agents in the folder (T18 T19
// T20).
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { expect, test } from 'vitest';
import { readHostRecords } from '../../activities/hosts/host-record.ts';
import { openKeyRing } from '../../connection/payloads/key-ring.ts';
import { gate, reply, toolUse, type ParsedRequest } from '../../scripted-model/index.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { agentCall, byPrompt, promptOf } from '../support/by-prompt.ts';
import { type Command, jsonLines, modelFor, readyWorker } from '../support/cli.ts';
import { type Fault, faultyProxy } from '../support/faulty-proxy.ts';
import {
  connectTo,
  type HostPlace,
  hideFolder,
  hideWorkspace,
  hostCluster,
  readFile,
  wipe,
  writes,
} from '../support/host-cluster.ts';
import { sharedStore, useS3Keys } from '../support/shared-store.ts';
import { until } from '../support/until.ts';

const BYPASS = ['--permission-mode', 'bypass'] as const;
const bash = (command: string) => reply([toolUse('bash', { command })]);

const lastOf = async (place: HostPlace, session: string) =>
  jsonLines((await place.run('watch', '--json', session)).out).at(-1);

async function hostOf(place: HostPlace, session: string): Promise<string | undefined> {
  const listed = jsonLines((await place.run('list', '--json')).out).find((one) => one['session'] === session);
  return (listed?.['host'] as { readonly id: string } | undefined)?.id;
}

/** How often another host was to take a session over. */
async function countOffers(client: Client, session: string): Promise<number> {
  const { events } = await client.workflow.getHandle(session).fetchHistory();
  const scheduled = (events ?? []).map(({ activityTaskScheduledEventAttributes: one }) => one?.activityType?.name);
  return scheduled.filter((name) => name === 'perdure.takeOver').length;
}

async function endAll(workers: readonly Command[]): Promise<void> {
  for (const worker of workers) worker.signal('SIGTERM');
  expect(await Promise.all(workers.map(({ status }) => status))).toEqual(workers.map(() => 0));
}

/** The moves of a session as the store has them, as `host-one > host-two`. */
async function recordsOf({ env }: HostPlace, session: SessionId): Promise<readonly string[]> {
  useS3Keys();
  const [, prefix] = /^s3:\/\/[^/]+\/(.*)$/.exec(String(env['PERDURE_STORE'])) ?? [];
  const keys = openKeyRing(String(env['PERDURE_CODEC_KEYS']), 'its keys are missing');
  const { records } = await readHostRecords(sharedStore({ prefix: String(prefix), keys }), session);
  return records.map(({ from, host }) => `${from} > ${host.id}`);
}

/**
 * A session whose host has died in a call, and whose new host dies with the request that makes it
 * the session's: before the store has it, or before it hears of it.
 */
async function killedTaking(fault: Extract<Fault, 'hang before' | 'hang after'>) {
  const model = await modelFor([writes('a'), bash('echo b >> b; sleep 600'), reply('All done.')]);
  const host = await hostCluster(model);
  const [one, two, three] = [host('host-one'), host('host-two'), host('host-three')];
  let isAsked = false;
  const proxy = await faultyProxy(String(two.env['AWS_ENDPOINT_URL_S3']), {
    fault: ({ method, path }) => {
      if (method !== 'PUT' || !path.includes('/keys/hosts/')) return null;
      isAsked = true;
      return fault;
    },
  });
  two.env['AWS_ENDPOINT_URL_S3'] = proxy.endpoint;
  const first = await readyWorker(one);
  const id = (await one.run('start', ...BYPASS, 'make it')).out.trim() as SessionId;
  await until(() => existsSync(join(one.cwd, 'b')));
  first.signal('SIGKILL');
  await first.status;
  wipe(one);
  const second = await readyWorker(two);
  await until(() => isAsked);
  if (fault === 'hang after') await until(async () => (await recordsOf(two, id)).length === 1);
  expect(readFile(one, 'a')).toBe('a\n');
  second.signal('SIGKILL');
  await second.status;
  return { model, id, one, two, three };
}

async function endsOn(place: HostPlace, { id, one }: Pick<Awaited<ReturnType<typeof killedTaking>>, 'id' | 'one'>) {
  expect(await lastOf(place, id)).toMatchObject({ type: 'result', reason: 'completed', text: 'All done.' });
  expect([readFile(one, 'a'), existsSync(join(one.cwd, 'b'))]).toEqual(['a\n', false]);
}

test('a take-over that is killed between files and record is made by another host, or goes on where it was (T18)', async () => {
  const [elsewhere, again] = await Promise.all([killedTaking('hang before'), killedTaking('hang before')]);
  // The half that the dead host has restored lies on a disk of its own.
  hideWorkspace(elsewhere.one);
  const third = await readyWorker(elsewhere.three);
  await endsOn(elsewhere.three, elsewhere);
  expect(await recordsOf(elsewhere.three, elsewhere.id)).toEqual(['host-one > host-three']);

  again.two.env['AWS_ENDPOINT_URL_S3'] = again.one.env['AWS_ENDPOINT_URL_S3'];
  const back = await readyWorker(again.two);
  await endsOn(again.two, again);
  expect(await recordsOf(again.two, again.id)).toEqual(['host-one > host-two']);
  for (const { model } of [elsewhere, again]) expect(model.requests).toHaveLength(3);
  await endAll([third, back]);
});

test('a host that dies when the store has made it the session’s is left in turn (T18)', async () => {
  const taken = await killedTaking('hang after');
  hideWorkspace(taken.one);
  const third = await readyWorker(taken.three);
  await endsOn(taken.three, taken);
  expect(await recordsOf(taken.three, taken.id)).toEqual(['host-one > host-two', 'host-two > host-three']);
  expect(taken.model.requests).toHaveLength(3);
  await endAll([third]);
});

test('a host that drains keeps its sessions while a call goes on there, and is left when it has ended (T18)', async () => {
  const command = 'echo begun >> log; until [ -e go ]; do sleep 0.1; done; echo ended >> log';
  const model = await modelFor(
    byPrompt({ Rest: [reply('Rested.'), reply('More.')], Work: [bash(command), reply('Worked.')] }),
  );
  const host = await hostCluster(model, 'drainMs: 600_000');
  const [one, two] = [host('host-one'), host('host-two')];
  const first = await readyWorker(one);
  const [resting, working] = [join(one.root, 'resting'), join(one.root, 'working')];
  for (const folder of [resting, working]) mkdirSync(folder);
  const rest = (await one.run('start', ...BYPASS, '--cwd', resting, 'Rest')).out.trim();
  expect(await lastOf(one, rest)).toMatchObject({ text: 'Rested.' });
  const work = (await one.run('start', ...BYPASS, '--cwd', working, 'Work')).out.trim();
  await until(() => existsSync(join(working, 'log')));
  first.signal('SIGTERM');
  const second = await readyWorker(two);
  expect(await two.run('send', rest, 'more')).toMatchObject({ status: 0 });
  const client = await connectTo(two);
  // It is offered again when another host has found the first one at work.
  await until(async () => (await countOffers(client, rest)) > 1);
  expect([await hostOf(two, rest), await hostOf(two, work)]).toEqual(['host-one', 'host-one']);
  writeFileSync(join(working, 'go'), '');
  expect(await first.status).toBe(0);
  const hidden = [resting, working].map(hideFolder);
  for (const [session, text] of [
    [rest, 'More.'],
    [work, 'Worked.'],
  ] as const) {
    expect(await lastOf(two, session)).toMatchObject({ reason: 'completed', text });
    expect(await hostOf(two, session)).toBe('host-two');
  }
  expect(readFileSync(join(hidden[1] ?? '', 'log'), 'utf8')).toBe('begun\nended\n');
  expect(model.requests).toHaveLength(4);
  await endAll([second]);
});

test('a message that names another folder goes to the host that has it, and what moves then is that folder (T18 T19)', async () => {
  const model = await modelFor([
    writes('a'),
    reply('One.'),
    writes('b'),
    reply('Two.'),
    reply('Three.'),
    bash('cat a > seen'),
    reply('Four.'),
  ]);
  const host = await hostCluster(model);
  const [one, two] = [host('host-one'), host('host-two')];
  const first = await readyWorker(one);
  const id = (await one.run('start', ...BYPASS, 'make it')).out.trim() as SessionId;
  expect(await lastOf(one, id)).toMatchObject({ text: 'One.' });
  first.signal('SIGKILL');
  await first.status;
  const hidden = hideWorkspace(one);
  const second = await readyWorker(two);
  expect(await two.run('start', '--session', id, '--cwd', two.cwd, 'go on')).toMatchObject({ status: 0 });
  await until(() => model.requests.length === 4);
  expect(await lastOf(two, id)).toMatchObject({ text: 'Two.' });
  expect([await hostOf(two, id), readFile(two, 'b')]).toEqual(['host-two', 'b\n']);
  // The host of the first folder is back, and the one of the second dies with its disk.
  renameSync(hidden, one.cwd);
  const back = await readyWorker(one);
  await until(() => back.err().includes(`session ${id} works on host host-two now`));
  second.signal('SIGKILL');
  await second.status;
  wipe(two);
  expect(await one.run('send', id, 'more')).toMatchObject({ status: 0 });
  await until(() => model.requests.length === 5);
  expect(await lastOf(one, id)).toMatchObject({ text: 'Three.' });
  expect([await hostOf(one, id), readFile(two, 'b'), existsSync(join(two.cwd, 'a'))]).toEqual([
    'host-one',
    'b\n',
    false,
  ]);
  expect(await recordsOf(one, id)).toEqual(['host-two > host-one']);
  // It goes back to the folder that it was left with.
  expect(await one.run('start', '--session', id, '--cwd', one.cwd, 'back')).toMatchObject({ status: 0 });
  await until(() => model.requests.length === 7);
  expect(await lastOf(one, id)).toMatchObject({ text: 'Four.' });
  expect(readFile(one, 'seen')).toBe('a\n');
  await endAll([back]);
});

test('a session that follows its agent to another host is told which of its own changes that lacks (T18 L71)', async () => {
  const [agentWorks, sessionWrites] = [gate(), gate()];
  const model = await modelFor(
    byPrompt({
      Go: [
        reply([agentCall('Help', { background: true })]),
        { ...writes('r'), hold: sessionWrites.hold },
        reply('First.'),
        reply('Second.'),
        reply('Third.'),
      ],
      Help: [writes('a'), reply('Lost.', { hold: agentWorks.hold }), reply('Helped.')],
    }),
  );
  const host = await hostCluster(model);
  const [one, two] = [host('host-one'), host('host-two')];
  const first = await readyWorker(one);
  const id = (await one.run('start', ...BYPASS, 'Go')).out.trim();
  const asked = (prompt: string): number =>
    model.requests.filter(({ body }) => promptOf(body as ParsedRequest) === prompt).length;
  await until(() => asked('Help') === 2);
  sessionWrites.release();
  expect(await lastOf(one, id)).toMatchObject({ text: 'First.' });
  first.signal('SIGKILL');
  await first.status;
  wipe(one);
  agentWorks.release();
  const second = await readyWorker(two);
  await until(() => asked('Go') === 4);
  await until(async () => (await two.run('show', id)).out.includes('Second.'));
  const lacking = JSON.stringify(model.requests.findLast(({ body }) => promptOf(body as ParsedRequest) === 'Go')?.body);
  expect([existsSync(join(one.cwd, 'r')), existsSync(join(one.cwd, 'a'))]).toEqual([false, false]);
  expect(lacking).toMatch(/you have read their results: agent, bash\./);
  await endAll([second]);
});
