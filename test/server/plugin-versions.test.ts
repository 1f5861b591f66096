// Worker Versioning beside PerdurePlugin: what the user sets up for a worker holds for the one that
// records, too.
import { expect, test } from 'vitest';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { until } from '../support/until.ts';
import { execute, running, userPlace, type UserPlace } from '../support/user-worker.ts';

const deployed = (deploymentName: string, buildId: string) => ({
  useWorkerVersioning: true as const,
  version: { deploymentName, buildId },
  defaultVersioningBehavior: 'PINNED' as const,
});

/** Once a worker of it has polled. */
async function makeCurrent({ client }: UserPlace, deploymentName: string, buildId: string): Promise<void> {
  await until(async () => {
    const wanted = { namespace: 'default', deploymentName, buildId, identity: 'test', allowNoPollers: false };
    return client.workflowService.setWorkerDeploymentCurrentVersion(wanted).then(
      () => true,
      () => null,
    );
  });
}

test('both queues of a worker belong to its deployment, and an agent that is pinned ends on its version (Q3)', async () => {
  const held = gate();
  const script = [
    reply([toolUse('glob', { pattern: '*' })], { hold: held.hold }),
    reply('By the first.'),
    reply('By the second.'),
  ];
  const at = await userPlace(script);
  const name = at.taskQueue;
  await running(at, { workerDeploymentOptions: deployed(name, 'one') });
  await makeCurrent(at, name, 'one');
  const old = await execute(at, 'asked', ['Go.']);
  await until(() => at.model.requests.length === 1);
  await running(at, { workerDeploymentOptions: deployed(name, 'two') });
  await makeCurrent(at, name, 'two');
  held.release();
  expect(await old.result()).toMatchObject({ text: 'BY THE FIRST.' });
  const young = await execute(at, 'asked', ['Go.']);
  expect(await young.result()).toMatchObject({ text: 'BY THE SECOND.' });

  const versionOf = async (workflowId: string) => {
    const { raw } = await at.client.workflow.getHandle(workflowId).describe();
    return raw.workflowExecutionInfo?.versioningInfo?.deploymentVersion?.buildId;
  };
  const agentOf = async (handle: typeof old): Promise<string> => {
    const { events } = await handle.fetchHistory();
    const started = events?.flatMap((event) => event.childWorkflowExecutionStartedEventAttributes ?? []) ?? [];
    return started[0]?.workflowExecution?.workflowId ?? '';
  };
  expect(await versionOf(await agentOf(old))).toBe('one');
  expect(await versionOf(await agentOf(young))).toBe('two');
  const deploymentVersion = { deploymentName: name, buildId: 'one' };
  const described = { namespace: 'default', deploymentVersion };
  const { workerDeploymentVersionInfo } = await at.client.workflowService.describeWorkerDeploymentVersion(described);
  const queues = workerDeploymentVersionInfo?.taskQueueInfos?.map((queue) => queue.name);
  expect(new Set(queues)).toEqual(new Set([at.taskQueue, `${at.taskQueue}-records`]));
});
