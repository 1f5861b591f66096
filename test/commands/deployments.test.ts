// `perdure worker` of a build: what it says of it, and what it refuses (D5).
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { reply } from '../../scripted-model/index.ts';
import { cliPlace, modelFor, readyWorker, serverAlone } from '../support/cli.ts';
import { tempDir } from '../support/temp-dir.ts';

test('a worker says its deployment and its build, and that the build gets nothing until it is current (D5)', async () => {
  const place = cliPlace(await modelFor([reply('Done.')]));
  const name = `agents-${randomUUID()}`;
  const { address } = await serverAlone(tempDir());
  const setting = { TEMPORAL_ADDRESS: address, PERDURE_DEPLOYMENT: `${name}:7`, PERDURE_VERSIONING: 'pinned' };
  Object.assign(place.env, setting);
  const worker = await readyWorker(place);
  expect(worker.out()).toMatch(
    new RegExp(`^perdure worker ready: pid \\d+, task queue perdure, deployment ${name}:7, pinned\n$`),
  );
  expect(worker.err()).toContain(
    `no build is current, so build 7 gets no new sessions until you run \`temporal worker deployment set-current-version --deployment-name ${name} --build-id 7\``,
  );
  worker.signal('SIGTERM');
  expect(await worker.status).toBe(0);
});

test('a build on the embedded server, and a wrong one, are refused in one line with status 2 (D5)', async () => {
  const { run, env } = cliPlace(null);
  env['PERDURE_DEPLOYMENT'] = 'agents:7';
  const refused = await run('worker');
  expect(refused.status).toBe(2);
  expect(refused.err).toMatch(
    /^perdure: deployment agents:7, auto-upgrade needs a Temporal server of your own: [^\n]*\n$/,
  );
  env['PERDURE_DEPLOYMENT'] = 'agents';
  expect((await run('worker')).err).toMatch(/^perdure: PERDURE_DEPLOYMENT or PERDURE_VERSIONING is wrong: [^\n]*\n$/);
});
