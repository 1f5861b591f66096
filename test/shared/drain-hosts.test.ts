// What becomes of the sessions of a host that drains (D7): they wait for it, or go on elsewhere with
// their newest files.
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { expect, test } from 'vitest';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { jsonLines, modelFor, readyWorker } from '../support/cli.ts';
import { connectTo, type HostPlace, hostCluster } from '../support/host-cluster.ts';
import { until } from '../support/until.ts';

const BYPASS = ['--permission-mode', 'bypass'] as const;

/** Waits until the session's host has said what it has, and another is to take it over. */
async function untilOffered(client: Client, session: string): Promise<void> {
  await until(async () => {
    const request = { namespace: client.options.namespace, execution: { workflowId: session } };
    // What is sealed is not to be read here.
    const { pendingActivities } = await client.workflowService.describeWorkflowExecution(request);
    return (pendingActivities ?? []).some(({ activityType }) => activityType?.name === 'perdure.takeOver');
  });
}

const hostOf = async (place: HostPlace, session: string): Promise<unknown> =>
  jsonLines((await place.run('list', '--json')).out).find((one) => one['session'] === session)?.['host'];

test('sessions at rest and at work leave a host that drains with their newest files, and nothing is done twice (D7)', async () => {
  const held = gate();
  const effect = (name: string) => reply([toolUse('bash', { command: `echo ${name} >> log; cp log copy-${name}` })]);
  const model = await modelFor([
    effect('a'),
    reply('Rested.'),
    effect('b'),
    { ...effect('c'), hold: held.hold, holdAfterEvent: 1 },
    reply('Worked.'),
  ]);
  const host = await hostCluster(model, 'drainMs: 240_000');
  const [one, two] = [host('host-one'), host('host-two')];
  one.env['PERDURE_ON_DRAIN'] = 'leave';
  const first = await readyWorker(one);
  const [resting, working] = [join(one.root, 'resting'), join(one.root, 'working')];
  for (const folder of [resting, working]) mkdirSync(folder);
  const rest = (await one.run('start', ...BYPASS, '--cwd', resting, 'make it')).out.trim();
  expect(jsonLines((await one.run('watch', '--json', rest)).out).at(-1)).toMatchObject({ text: 'Rested.' });
  const work = (await one.run('start', ...BYPASS, '--cwd', working, 'make it')).out.trim();
  await until(() => model.requests.length === 4);
  const second = await readyWorker(two);
  const client = await connectTo(two);
  first.signal('SIGTERM');
  for (const [session, folder] of [
    [rest, resting],
    [work, working],
  ] as const) {
    if (session === work) held.release();
    await untilOffered(client, session);
    // The other host has a disk of its own.
    renameSync(folder, `${folder}.of-the-host`);
  }
  expect(await first.status).toBe(0);
  expect(first.err()).toMatch(/2 sessions have left host host-one/);
  expect(jsonLines((await two.run('watch', '--json', work)).out).at(-1)).toMatchObject({ text: 'Worked.' });
  for (const session of [rest, work]) expect(await hostOf(two, session)).toMatchObject({ id: 'host-two' });
  expect(readFileSync(join(resting, 'copy-a'), 'utf8')).toBe('a\n');
  expect(readFileSync(join(working, 'copy-c'), 'utf8')).toBe('b\nc\n');
  expect(model.requests).toHaveLength(5);
  expect((await two.run('show', work)).out).toMatch(/moved to another host by host host-one, which drains/);
  second.signal('SIGTERM');
  expect(await second.status).toBe(0);
});

test('without it nothing moves, and a session that no other host can take stays, which a line says (D7)', async () => {
  const model = await modelFor([reply('One.')]);
  const host = await hostCluster(model);
  const [one, two] = [host('host-one'), host('host-two')];
  const first = await readyWorker(one);
  const id = String(jsonLines((await one.run('run', '--json', 'hi')).out).at(-1)?.['sessionId']);
  const second = await readyWorker(two);
  first.signal('SIGTERM');
  expect(await first.status).toBe(0);
  expect(await hostOf(two, id)).toMatchObject({ id: 'host-one' });
  second.signal('SIGTERM');
  expect(await second.status).toBe(0);
  const alone = one.start(['worker'], { env: { PERDURE_ON_DRAIN: 'leave' } });
  await until(() => alone.out().includes('worker ready'));
  alone.signal('SIGTERM');
  expect(await alone.status).toBe(0);
  expect(alone.err()).toContain(`session ${id} stays with host host-one: no worker runs on another host`);
  expect(existsSync(one.cwd)).toBe(true);
});
