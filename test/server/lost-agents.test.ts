// Agents that are ended from outside: what they were granted stays spent, and who is still there is
// never taken for gone.
import { expect, test } from 'vitest';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { agentsOf, entriesOf, grantOf, outcomes } from '../support/agents.ts';
import { agentCall, byPrompt } from '../support/by-prompt.ts';
import { harness, userMessage } from '../support/harness.ts';
import { ownServer } from '../support/own-server.ts';
import { until } from '../support/until.ts';
import { defineTool } from '../../tools/tool.ts';
import { SIGNALS } from '../../workflows/contract/session.ts';
import { z } from 'zod';

test('an agent whose session is ended from outside fails, and its grant does not return (L64 L69)', async () => {
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([agentCall('A.')]), reply([agentCall('B.')]), reply('Done.')],
      'A.': [reply('Half of', { hold: new Promise(() => {}) })],
      'B.': [reply('B is done.')],
    }),
  });
  const session = await h.open('Go.', { maxTokens: 1_000_000 });
  await until(() => h.bodies().length === 2);
  const [first] = await until(async () => {
    const found = await agentsOf(h, session.id);
    return found.length > 0 && found;
  });
  await h.client.workflow.getHandle(first!.id).terminate();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const [lost, other] = await outcomes(session);
  expect(lost!.content).toContain('ended from outside');
  expect(other!.content).toMatch(/^B is done\./);
  const granted = await Promise.all(
    (await agentsOf(h, session.id)).map(async ({ id, memo }) => [memo.title.slice(-2), await grantOf(h, id)] as const),
  );
  const { 'A.': a = 0, 'B.': b = 0 } = Object.fromEntries(granted);
  expect(a).toBeGreaterThan(490_000);
  expect(b).toBeLessThan(a / 2 + 1);
});

test('the run itself does not spend the grant of an agent that was ended from outside (L51 L69)', async () => {
  const h = await harness({
    script: byPrompt({
      'Go.': [
        reply([agentCall('A.')]),
        reply([toolUse('glob', { pattern: '*' })], { usage: { input_tokens: 600_000 } }),
        reply('Never said.'),
      ],
      'A.': [reply('Half of', { hold: new Promise(() => {}) })],
    }),
  });
  const session = await h.open('Go.', { maxTokens: 1_000_000 });
  await until(() => h.bodies().length === 2);
  const [agent] = await until(async () => {
    const found = await agentsOf(h, session.id);
    return found.length > 0 && found;
  });
  const granted = await grantOf(h, agent!.id);
  await h.client.workflow.getHandle(agent!.id).terminate();
  const { terminal } = await session.ended(1);
  expect(terminal).toMatchObject({ reason: 'budget_exceeded', limitTokens: 1_000_000, reservedTokens: granted });
  expect(h.bodies()).toHaveLength(3);
});

/** A server lets a workflow take 10,000 signals; this one fewer. */
const fewSignals = () => ownServer('history.maximumSignalsPerExecution=3');

test('who takes no more signals is not taken for gone: work goes on for a session that can hear of nothing (L64)', async () => {
  const deliver = defineTool({
    name: 'deliver',
    description: 'Delivers.',
    inputSchema: z.strictObject({ article: z.string() }),
    risk: 'external',
    activity: { name: 'deliver', taskQueue: 'nobody-polls', options: { startToCloseTimeout: '5 minutes' } },
  });
  const address = await fewSignals();
  const h = await harness({
    address,
    script: [reply([toolUse('deliver', { article: 'x' })])],
    worker: { tools: [deliver] },
  });
  const session = await h.open('Deliver.');
  await session.send('And?');
  await session.send('And now?');
  const work = await until(async () => {
    for await (const { workflowId } of h.client.workflow.list({ query: `WorkflowType = 'perdure.delegatedWork'` }))
      return h.client.workflow.getHandle(workflowId);
    return null;
  });
  const failedAt = (events: readonly object[]): number =>
    events.findIndex(
      (event) =>
        'signalExternalWorkflowExecutionFailedEventAttributes' in event &&
        event.signalExternalWorkflowExecutionFailedEventAttributes,
    );
  const events = await until(async () => {
    const all = (await work.fetchHistory()).events ?? [];
    const at = failedAt(all);
    // Whatever it does then is in the history with the next task.
    return at >= 0 && all.slice(at).some((event) => event.workflowTaskCompletedEventAttributes) ? all : null;
  });
  const after = events.slice(failedAt(events));
  expect(after.filter((event) => event.activityTaskCancelRequestedEventAttributes)).toEqual([]);
  expect(after.filter((event) => event.timerStartedEventAttributes)).toHaveLength(1);
});

test('a message that comes while an agent reports to its parent is recorded as not taken (L61)', async () => {
  const held = gate();
  const address = await fewSignals();
  const h = await harness({
    address,
    script: byPrompt({
      'Go.': [reply([agentCall('A.')])],
      'A.': [reply('A is done.', { hold: held.hold })],
    }),
  });
  const session = await h.open('Go.');
  await until(() => h.bodies().length === 2);
  const [agent] = await until(async () => {
    const found = await agentsOf(h, session.id);
    return found.length > 0 && found;
  });
  const handle = h.client.workflow.getHandle(agent!.id);
  await session.send('One.');
  await session.send('Two.');
  held.release();
  // The parent takes no report now: the agent tells it again later.
  await until(async () =>
    ((await handle.fetchHistory()).events ?? []).some(
      (event) => event.signalExternalWorkflowExecutionFailedEventAttributes,
    ),
  );
  const late = userMessage('Too late.');
  await handle.signal(SIGNALS.message, late);
  await session.handle.terminate();
  await handle.result().catch(() => undefined);
  const [closed] = await agentsOf(h, session.id);
  const entries = await entriesOf(h, closed!);
  const notTaken = entries.flatMap((entry) => (entry.kind === 'session_closed' ? entry.notTaken : []));
  expect(notTaken).toEqual([late.id]);
});
