// Going back to an older release: sessions that a newer one has worked on are named, and no worker
// starts beside them unless told.
import { Client, Connection } from '@temporalio/client';
import { expect, onTestFinished, test } from 'vitest';
import { reply } from '../../scripted-model/index.ts';
import { CHANGES_ATTRIBUTE } from '../../workflows/contract/changes.ts';
import { TASK_QUEUE, WORKFLOW_TYPE } from '../../workflows/contract/session.ts';
import { cliPlace, jsonLines, modelFor, serverAlone } from '../support/cli.ts';
import { until } from '../support/until.ts';

test('a session that a newer release has worked on is told by list and doctor, and keeps a worker from starting', async () => {
  const place = cliPlace(await modelFor([reply('Hi.')]));
  const { address } = await serverAlone(place.data);
  await place.run('run', 'Say hi.');
  const connection = await Connection.connect({ address });
  onTestFinished(() => connection.close());
  const session = await new Client({ connection }).workflow.start(WORKFLOW_TYPE, {
    workflowId: 's-of-tomorrow',
    taskQueue: TASK_QUEUE,
    args: [],
    searchAttributes: { [CHANGES_ATTRIBUTE]: ['perdure-facts', 'perdure-of-tomorrow'] },
  });
  onTestFinished(async () => void (await session.terminate().catch(() => undefined)));
  const listed = await until(async () => {
    const rows = jsonLines((await place.run('list', '--json')).out);
    return rows.length === 2 && rows;
  });
  expect(listed.filter(({ needsNewer }) => needsNewer === true).map((row) => row['session'])).toEqual([
    's-of-tomorrow',
  ]);
  expect((await place.run('list')).out).toContain('needs a newer perdure');
  expect((await place.run('doctor')).out).toContain('1 open session was worked on by a newer Perdure');
  const refused = await place.run('worker');
  expect(refused.status).toBe(2);
  expect(refused.err).toContain('(s-of-tomorrow): start the newer version, or this one with --beside-newer');
  const worker = place.start(['worker', '--beside-newer']);
  await until(() => worker.out().includes('worker ready'));
  worker.signal('SIGTERM');
  expect(await worker.status).toBe(0);
});
