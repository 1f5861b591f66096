// What people are asked in sessions of agents: listed at the session that a person began, decided
// there, and nowhere by an agent.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createClient } from '../../client/client.ts';
import type { ClientProblem } from '../../client/problem.ts';
import { fileStore } from '../../store/values/file-store.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { agentsOf, outcomes } from '../support/agents.ts';
import { agentCall, byPrompt } from '../support/by-prompt.ts';
import { harness, type Harness } from '../support/harness.ts';
import { until } from '../support/until.ts';

function clientOf({ client: temporal, storePlace, taskQueue }: Harness) {
  return createClient({
    temporal,
    store: fileStore({ dir: storePlace }),
    live: async function* () {},
    visibility: () => Promise.resolve(true),
    taskQueue,
  });
}

/** The memo of a session that is being handed over may be a moment behind. */
async function decided(decide: () => Promise<unknown>): Promise<void> {
  await until(async () => {
    try {
      await decide();
      return true;
    } catch (error) {
      if ((error as Partial<ClientProblem>).kind === 'no_call') return false;
      throw error;
    }
  });
}

test('calls of agents wait at the root with the way to them, and are decided there, over handovers (L4 L55 L70 L81)', async () => {
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([agentCall('A.')]), reply('Done.')],
      'A.': [reply([agentCall('B.'), toolUse('bash', { command: 'touch a' })]), reply('A is done.')],
      'B.': [
        reply([toolUse('bash', { command: 'touch b' })]),
        reply([toolUse('ask_user', { question: 'Which?' })]),
        reply('B is done.'),
      ],
    }),
    handover: { events: 5, signals: 5_000 },
  });
  const session = await h.open('Go.', { permissionMode: 'default' });
  const client = clientOf(h);
  const waiting = () => until(async () => (await client.approvals(session.id))[0] ?? null);
  const first = await waiting();
  expect(first).toMatchObject({ tool: 'bash', input: { command: 'touch b' }, session: session.id });
  expect(first.agent?.path).toEqual(['Title of A.', 'Title of B.']);
  const { runId } = await session.handle.describe();
  await until(async () => {
    await session.send('Still there?');
    return (await session.handle.describe()).runId !== runId;
  });
  const again = await waiting();
  expect(again.call).toBe(first.call);
  // The list of all sessions has it once.
  const bashOf = ({ tool, session: id }: { readonly tool: string; readonly session: string }): boolean =>
    tool === 'bash' && id === session.id;
  await until(async () => (await client.approvals()).filter(bashOf).length === 1);
  await decided(() => client.approve(session.id, again.call, { input: { command: 'touch other' } }));
  const question = await until(async () => (await client.approvals(session.id)).find((one) => one.question) ?? null);
  expect(question).toMatchObject({ input: { question: 'Which?' } });
  await expect(client.approve(session.id, first.call)).rejects.toMatchObject({ kind: 'no_call' });
  await decided(() => client.answer(session.id, question.call, 'This one.'));
  const last = await until(
    async () => (await client.approvals(session.id)).find(({ tool }) => tool === 'bash') ?? null,
  );
  expect(last.agent?.path).toEqual(['Title of A.']);
  await decided(() => client.deny(session.id, last.call, 'not now'));
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(['a', 'b', 'other'].map((name) => existsSync(join(h.cwd, name)))).toEqual([false, false, true]);
  expect((await outcomes(session))[0]!.content).toMatch(/^A is done\./);
  expect(await client.approvals(session.id)).toEqual([]);
});

test('an interrupt withdraws what waits in the sessions of agents (L48 L64 L70)', async () => {
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([agentCall('A.')])],
      'A.': [reply([toolUse('bash', { command: 'touch a' })])],
    }),
  });
  const session = await h.open('Go.', { permissionMode: 'default' });
  const client = clientOf(h);
  const { call } = await until(async () => (await client.approvals(session.id))[0] ?? null);
  await session.interrupt();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_tools' } });
  await until(async () => (await client.approvals(session.id)).length === 0);
  await expect(client.approve(session.id, call)).rejects.toMatchObject({ kind: 'no_call' });
  expect(existsSync(join(h.cwd, 'a'))).toBe(false);
  const [agent] = await agentsOf(h, session.id);
  expect(agent!.memo.approvals).toBeUndefined();
});
