import { expect, test } from 'vitest';
import { joinServer } from '../../../worker/embedded/join-server.ts';
import { connectClient } from '../../../connection/connect-client.ts';
import { findRunningServer } from '../../../worker/embedded/server-record.ts';
import { type Supervise, superviseServer } from '../../../worker/embedded/supervise-server.ts';
import { joining, serverOf, temporaryData, until } from './support.ts';

type Restart = Parameters<Supervise['onRestart']>[0];

function listener() {
  const restarts: Restart[] = [];
  const problems: string[] = [];
  return {
    restarts,
    problems,
    onRestart: (r: Restart) => restarts.push(r),
    onProblem: (p: string) => problems.push(p),
  };
}

test('a killed server is started again on the same port, by one of those who watch, with what it had acknowledged', async () => {
  const folder = temporaryData();
  const members = [await joinServer(joining(folder)), await joinServer(joining(folder))];
  const listeners = members.map((member) => {
    const heard = listener();
    superviseServer(member, heard);
    return heard;
  });
  const address = members[0]?.address ?? '';
  const { client, close } = await connectClient({ address, namespace: 'default' });
  await client.workflow.signalWithStart('anyType', { workflowId: 'kept', taskQueue: 'none', signal: 'hello' });

  process.kill(serverOf(folder).pid, 'SIGKILL');
  await until(() => listeners.every(({ restarts }) => restarts.length === 1));

  const restarts = listeners.flatMap((heard) => heard.restarts);
  expect(restarts.map((restart) => restart.address)).toEqual([address, address]);
  expect(restarts.filter(({ here }) => here)).toHaveLength(1);
  expect((await client.workflow.getHandle('kept').describe()).status.name).toBe('RUNNING');
  await close();
  await Promise.all(members.map((member) => member.leave()));
  expect(findRunningServer(folder)).toBeNull();
});

test('a server that cannot be started again is said once, and started as soon as it can be', async () => {
  const folder = temporaryData();
  let lost = false;
  const binary = joining(folder).binary;
  const member = await joinServer(
    joining(folder, { binary: (wanted) => (lost ? Promise.reject(new Error('it is gone')) : binary(wanted)) }),
  );
  const heard = listener();
  superviseServer(member, heard);
  lost = true;
  process.kill(serverOf(folder).pid, 'SIGKILL');
  await until(() => heard.problems.length === 1);
  lost = false;
  await until(() => heard.restarts.length === 1);
  expect(heard.problems).toEqual(['it is gone']);
  await member.leave();
});

test('a server that is stopped because the last one leaves is not started again', async () => {
  const folder = temporaryData();
  const member = await joinServer(joining(folder));
  const stop = superviseServer(member, listener());
  await member.leave();
  await stop();
  expect(findRunningServer(folder)).toBeNull();
});
