// A worker that was told to stop and still finishes what it runs: what others can do meanwhile.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { reply, toolUse } from '../../worker/scripted-model/index.ts';
import { dataFolder } from '../../worker/embedded/data-folder.ts';
import { livingMembers } from '../../worker/embedded/members.ts';
import { cliPlace, jsonLines, modelFor } from '../support/cli.ts';
import { until } from '../support/until.ts';

it('L49 L50 beside a worker that drains for long, a run goes on elsewhere, and a cancel ends what it runs', async () => {
  const command = 'touch begun; until [ -e go ]; do sleep 0.05; done';
  const place = cliPlace(await modelFor([reply([toolUse('bash', { command })]), reply('Hi.')]));
  const config = join(place.root, 'slow.mjs');
  writeFileSync(config, 'export default { drainMs: 600_000 };\n');
  const worker = place.start(['worker', '--config', config]);
  await until(() => worker.out().includes('worker ready'));
  const session = (await place.run('start', '--permission-mode', 'bypass', 'Wait.')).out.trim();
  await until(() => existsSync(join(place.cwd, 'begun')));
  worker.signal('SIGTERM');
  const members = () => livingMembers(dataFolder({ PERDURE_DATA: place.data }));
  await until(() => members().every((member) => !member.worker));
  const other = await place.run('run', '--json', 'Say hi.');
  expect(jsonLines(other.out).at(-1)).toMatchObject({ reason: 'completed', text: 'Hi.' });
  const cancelled = await place.run('cancel', session);
  expect(cancelled).toMatchObject({ status: 0, err: expect.stringContaining(`session ${session} is cancelled`) });
  expect(await worker.status).toBe(0);
});
