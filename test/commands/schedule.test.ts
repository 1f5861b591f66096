import { expect, test } from 'vitest';
import { reply } from '../../scripted-model/index.ts';
import { cliPlace, jsonLines, modelFor } from '../support/cli.ts';

test('`schedule update` changes what is given, keeps the rest, and says when it fires next (L87)', async () => {
  const place = cliPlace(await modelFor([reply('Done.')]));
  const times = ['0 6 * * 1', 'Look.', '--name', 'deps', '--time-zone', 'Europe/Berlin'];
  const options = ['--max-turns', '7', '--model', 'claude-sonnet-5-5'];
  const made = await place.run('schedule', 'create', ...times, ...options);
  expect(made.status).toBe(0);
  const listed = async () => jsonLines((await place.run('schedule', 'list', '--json')).out)[0];
  const before = await listed();
  const changes = ['--cron', '30 7 * * *', '--catch-up', '1h', '--max-turns', 'none'];
  const updated = await place.run('schedule', 'update', 'deps', ...changes);
  expect(updated).toMatchObject({
    status: 0,
    err: expect.stringMatching(/^schedule deps fires next at .* 0[5-6]:30/m),
  });
  expect(await listed()).toMatchObject({
    ...before,
    cron: '30 7 * * *',
    catchUpMs: 3_600_000,
    next: expect.any(Number),
    coming: expect.any(Array),
    clockChanges: [],
  });
  const gone = await place.run('schedule', 'update', 'nothing', '--task', 'Look.');
  expect(gone).toMatchObject({ status: 2, err: expect.stringContaining('no schedule nothing') });
});
