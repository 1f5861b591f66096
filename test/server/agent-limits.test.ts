// How narrow agents are: what they are granted of their parent's limits, what they may do, and what
// is for main agents alone.
import proto from '@temporalio/proto';
import { expect, test } from 'vitest';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { SIGNALS, UPDATES, type TopUp } from '../../workflows/contract/session.ts';
import { agentsEnded, agentsOf, entriesOf, grantOf, outcomes } from '../support/agents.ts';
import { agentCall, byPrompt, promptOf } from '../support/by-prompt.ts';
import { harness, once, userMessage } from '../support/harness.ts';
import { until } from '../support/until.ts';

const { HistoryEvent } = proto.temporal.api.history.v1;

test('agents get equal shares of what is left, what they leave returns, and what they take ends the run (L51 L69)', async () => {
  const dear = { usage: { input_tokens: 300_000, output_tokens: 0 } };
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([agentCall('A.'), agentCall('B.')]), reply([agentCall('C.')]), reply('Never said.')],
      'A.': [reply('A is done.')],
      'B.': [reply([toolUse('glob', { pattern: '*' })], dear), reply('Never said.')],
      'C.': [reply([toolUse('glob', { pattern: '*' })], { usage: { input_tokens: 700_000 } })],
    }),
  });
  const session = await h.open('Go.', { maxTokens: 900_000, timeoutMs: 3_600_000 });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'budget_exceeded', limitTokens: 900_000 } });
  const agents = await agentsEnded(h, session.id, 3);
  const reasons = Object.fromEntries(agents.map(({ memo }) => [memo.title.slice(-2), memo.last?.terminal.reason]));
  expect(reasons).toEqual({ 'A.': 'completed', 'B.': 'budget_exceeded', 'C.': 'budget_exceeded' });
  const grants = Object.fromEntries(
    await Promise.all(agents.map(async ({ id, memo }) => [memo.title.slice(-2), await grantOf(h, id)] as const)),
  );
  expect(Math.abs(Number(grants['A.']) - Number(grants['B.']))).toBeLessThanOrEqual(1);
  expect(grants['A.']).toBeGreaterThan(290_000);
  expect(grants['A.']).toBeLessThan(300_000);
  // A's share has returned: the half of what A and B have not taken.
  expect(grants['C.']).toBeGreaterThan(290_000);
});

test('what is sent to an agent, and a second run, stay within its grant; more is refused with the root’s name (L51 L69)', async () => {
  const held = gate();
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([agentCall('A.')]), reply('Done.')],
      'A.': [
        reply('A is done.', { hold: held.hold, usage: { input_tokens: 60_000 } }),
        reply([toolUse('glob', { pattern: '*' })], { usage: { input_tokens: 45_000 } }),
        reply('Never said.'),
      ],
    }),
  });
  const session = await h.open('Go.', { maxTokens: 200_000 });
  const { id } = await until(async () => h.bodies().length === 2 && (await agentsOf(h, session.id))[0]);
  const agent = h.client.workflow.getHandle(id);
  await agent.signal(SIGNALS.message, { ...userMessage('More.'), options: { maxTokens: 10_000_000 } });
  const topUp = agent.executeUpdate<void, [TopUp]>(UPDATES.topUp, { args: [{ maxTokens: 120_000 }] });
  await expect(topUp).rejects.toMatchObject({ cause: { message: expect.stringContaining(`session ${session.id}`) } });
  held.release();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const [ended] = await agentsEnded(h, session.id, 1);
  expect(ended!.memo.last).toMatchObject({ run: 2, terminal: { reason: 'budget_exceeded' } });
  const { limitTokens } = ended!.memo.last!.terminal as { readonly limitTokens?: number };
  expect(limitTokens).toBeGreaterThan(30_000);
  expect(limitTokens).toBeLessThanOrEqual(40_000);
});

test('a limit in dollars is shared too, and an answer satisfies the schema of its type (L51 L53 L69)', async () => {
  const outputSchema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([agentCall('A.', { type: 'counter' }), agentCall('B.')]), reply('Never said.')],
      'A.': [reply('Three.'), reply('{"n":3}')],
      'B.': [reply([toolUse('glob', { pattern: '*' })], { usage: { input_tokens: 0, output_tokens: 60_000 } })],
    }),
    worker: {
      config: { model: 'claude-sonnet-5-5', agents: { counter: { description: 'Counts.', outputSchema } } },
    },
  });
  const session = await h.open('Go.', { maxBudgetUsd: 1 });
  await session.ended(1);
  const [counted, dear] = await outcomes(session);
  expect(counted).toMatchObject({ isError: false });
  expect(counted!.content).toMatch(/^\{\n {2}"n": 3\n\}/);
  expect(dear!.content).toMatch(/^The agent ended with budget_exceeded/);
  const agents = await agentsEnded(h, session.id, 2);
  const over = agents.find(({ memo }) => memo.title.endsWith('B.'))!.memo.last!.terminal as {
    readonly limitUsd?: number;
  };
  expect(over.limitUsd).toBeGreaterThan(0.25);
  expect(over.limitUsd).toBeLessThanOrEqual(1 / 3);
});

test('the runtime limit of a session reaches its agents, and theirs (L51 L64 L69)', async () => {
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([agentCall('A.')])],
      'A.': [reply([agentCall('B.')])],
      'B.': [reply('Half of', { hold: new Promise(() => {}) })],
    }),
  });
  const session = await h.open('Go.', { timeoutMs: 15_000 });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'timeout' } });
  const agents = await agentsEnded(h, session.id, 2);
  for (const { memo } of agents)
    expect(['timeout', 'aborted_tools', 'aborted_streaming']).toContain(memo.last?.terminal.reason);
});

test('an agent that waits holds no slot, and no more than 2 KB of its parent’s history (L63 L66)', async () => {
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([agentCall('A.')]), reply('Done.')],
      'A.': [reply([toolUse('wait', { seconds: 3_600 })]), reply('A is done.')],
    }),
  });
  const session = await h.open('Go.');
  const [agent] = await until(async () => {
    const found = await agentsOf(h, session.id);
    return found[0]?.memo.phase === 'parked' && found;
  });
  const described = await Promise.all([session.id, agent!.id].map((id) => h.client.workflow.getHandle(id).describe()));
  expect(described.flatMap(({ raw }) => raw.pendingActivities ?? [])).toEqual([]);
  const { events } = await session.handle.fetchHistory();
  const ofAgent = (events ?? []).filter(
    ({
      startChildWorkflowExecutionInitiatedEventAttributes: begins,
      childWorkflowExecutionStartedEventAttributes: began,
    }) => begins ?? began,
  );
  const size = ofAgent.reduce((sum, event) => sum + HistoryEvent.encode(event).finish().length, 0);
  expect(ofAgent).toHaveLength(2);
  expect(size).toBeLessThanOrEqual(2_048);
  await h.client.workflow.getHandle(agent!.id).signal(SIGNALS.resume, once('resume'));
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
});

test('an agent may do no more than its parent, whatever its type says, and rules name types (L55 L70)', async () => {
  const h = await harness({
    script: byPrompt({
      'Go.': [
        reply([agentCall('A.', { type: 'free' }), agentCall('B.', { type: 'explore' }), agentCall('C.')]),
        reply('Done.'),
      ],
      'A.': [
        reply([toolUse('bash', { command: 'touch made' })]),
        reply([toolUse('write', { path: 'secret.txt', content: 'x' })]),
        reply([toolUse('glob', { pattern: '*' })]),
        reply('A is done.'),
      ],
      'C.': [reply([toolUse('bash', { command: 'touch made' })]), reply('C is done.')],
    }),
    worker: { config: { agents: { free: { description: 'May all.', permissionMode: 'bypass' } } } },
  });
  const session = await h.open('Go.', {
    permissionMode: 'dontAsk',
    permissions: { allow: ['write'], deny: ['write(secret.txt)', 'agent(exp*)'] },
    tools: ['agent', 'bash', 'write'],
  });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const [free, denied, general] = await outcomes(session);
  expect(free!.content).toMatch(/^A is done/);
  expect(denied!.content).toContain('the rule "agent(exp*)" denies it');
  expect(general!.content).toMatch(/^C is done/);
  const agents = await agentsEnded(h, session.id, 2);
  const told = await Promise.all(
    agents.map(async (agent) =>
      (await entriesOf(h, agent)).flatMap((entry) =>
        entry.kind === 'outcomes' ? entry.outcomes.map(({ content }) => content) : [],
      ),
    ),
  );
  const all = told.flat();
  expect(all.filter((text) => text.includes('permission mode "dontAsk"'))).toHaveLength(2);
  expect(all.filter((text) => text.includes('the rule "write(secret.txt)" denies it'))).toHaveLength(1);
  expect(all.filter((text) => text.includes('There is no tool named "glob"'))).toHaveLength(1);
});

test('agents have no batch summaries and no after-stop handlers, and hooks are told their depth (L13 L42 L56 L73)', async () => {
  const stopped: number[] = [];
  const depths: number[] = [];
  const h = await harness({
    script: (request) => {
      const prompt = promptOf(request);
      if (prompt === 'Go.') return request.messages.length === 1 ? reply([agentCall('A.')]) : reply('Done.');
      if (prompt === 'A.')
        return request.messages.length === 1 ? reply([toolUse('glob', { pattern: '*' })]) : reply('A.');
      return reply('A summary.');
    },
    worker: {
      config: {
        batchSummaries: true,
        afterStop: [
          { name: 'after', timeoutMs: 60_000, run: ({ depth }) => Promise.resolve(void stopped.push(depth)) },
        ],
        hooks: { preTool: [({ depth }) => void depths.push(depth)] },
      },
    },
  });
  const session = await h.open('Go.');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const [agent] = await agentsEnded(h, session.id, 1);
  await until(() => stopped.length > 0);
  expect(stopped).toEqual([0]);
  expect(depths).toEqual([0, 1]);
  const notices = (await entriesOf(h, agent!)).flatMap((entry) => (entry.kind === 'notice' ? [entry.notice.kind] : []));
  expect(notices).not.toContain('batch_summary');
});
