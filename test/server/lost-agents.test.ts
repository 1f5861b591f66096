// Agents that are ended from outside: what they were granted stays spent, and who is still there is never taken for gone.
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../worker/scripted-model/index.ts';
import { agentsOf, grantOf, outcomes } from '../support/agents.ts';
import { agentCall, byPrompt } from '../support/by-prompt.ts';
import { harness } from '../support/harness.ts';
import { until } from '../support/until.ts';

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
