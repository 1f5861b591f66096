import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor } from '../support/cli.ts';
import { until } from '../support/until.ts';

const looks = reply([toolUse('glob', { pattern: '*' })]);
const written = (folder: string): readonly unknown[] =>
  readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')).body as unknown);

test('run writes each request to the model as it was sent, and refuses a folder of the workspace', async () => {
  const model = await modelFor([looks, reply('Nothing is here.')]);
  const place = cliPlace(model);
  const inside = await place.run('run', '--dump-requests', 'requests', 'look');
  expect([inside.status, inside.err]).toEqual([2, expect.stringContaining('could be read by commands of the agent')]);
  const folder = join(place.data, 'requests');
  const { status } = await place.run('run', '--dump-requests', folder, 'look');
  expect(status).toBe(0);
  expect(written(folder)).toEqual(model.requests.map(({ body }) => body));
  const alone = await place.run('run', '--dump-readable', 'look');
  expect([alone.status, alone.err]).toEqual([2, expect.stringContaining('goes with --dump-requests')]);
});

test('a worker writes those of its sessions, and run does not promise to beside it', async () => {
  const place = cliPlace(await modelFor([looks, reply('Nothing is here.')]));
  const folder = join(place.cwd, '..', 'seen');
  const worker = place.start(['worker', '--dump-requests', folder, '--dump-readable']);
  await until(() => worker.out().includes('ready'));
  const beside = await place.run('run', '--dump-requests', join(place.data, 'x'), 'look');
  expect([beside.status, beside.err]).toEqual([2, expect.stringContaining('a worker that stays sends the requests')]);
  expect((await place.run('run', 'look')).status).toBe(0);
  expect(written(folder)).toHaveLength(2);
  worker.signal('SIGTERM');
  expect(await worker.status).toBe(0);
});
