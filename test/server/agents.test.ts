// Agents that a session starts: child sessions, what they answer, how they are carried and how they
// are stopped.
import { expect, test } from 'vitest';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { addSpend, noSpend } from '../../workflows/contract/loop.ts';
import { SIGNALS } from '../../workflows/contract/session.ts';
import { agentsEnded, agentsOf, entriesOf, outcomes, spentIn, tokensOf, usageOf } from '../support/agents.ts';
import { agentCall, byPrompt, promptOf } from '../support/by-prompt.ts';
import { harness, once } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { newKeys } from '../support/new-keys.ts';
import { until } from '../support/until.ts';

test('an agent is a session of its own, and answers with its last message and what it took (L66 L67 L69)', async () => {
  const long = `Long: ${'x'.repeat(3_000)}`;
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([agentCall('Count.'), agentCall(long, { type: 'explore' })]), reply('Done.')],
      'Count.': [reply([toolUse('bash', { command: 'echo 3' })]), reply('There are three.')],
      [long]: [reply('Nothing there.')],
    }),
    worker: { config: { model: 'claude-sonnet-5-5', smallModel: 'claude-haiku-4-5' } },
  });
  const session = await h.open('Go.', { tags: { team: 'web' } });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
  const [count, look] = await outcomes(session);
  expect(count).toMatchObject({ isError: false, log: { name: 'agent', outcome: 'ok' } });
  expect(count!.content).toMatch(/^There are three\.\n\n\(agent session \S+: 2 turns, \d+ tokens, \$\d/);
  expect(look!.content).toMatch(/^Nothing there\./);
  const agents = await agentsEnded(h, session.id, 2);
  const facts = agents.map(({ memo }) => memo.facts!);
  expect(facts.map(({ agent }) => agent!.type).toSorted()).toEqual(['explore', 'general']);
  expect(facts.map(({ agent, tags }) => ({ parent: agent!.parent, depth: agent!.depth, tags }))).toEqual(
    [1, 1].map((depth) => ({ parent: session.id, depth, tags: { team: 'web' } })),
  );
  const models = new Map(h.bodies().map((body) => [promptOf(body), body]));
  expect(models.get('Count.')?.model).toBe('claude-sonnet-5-5');
  expect(models.get(long)?.model).toBe('claude-haiku-4-5');
  expect(models.get(long)?.tools?.map((tool) => ('name' in tool ? tool.name : ''))).toEqual(['glob', 'grep', 'read']);
  // Every call that was paid for counts once, and the run says whose it was.
  const own = await session.entries();
  const theirs = await Promise.all(agents.map((agent) => entriesOf(h, agent)));
  const total = [own, ...theirs].reduce((sum, entries) => sum + usageOf(entries), 0);
  expect(tokensOf(spentIn(own))).toBe(total);
  const ended = own.findLast((entry) => entry.kind === 'run_ended');
  const listed = ended?.kind === 'run_ended' ? (ended.ended.agents ?? []) : [];
  expect(listed.map(({ session: id }) => id).toSorted()).toEqual(agents.map(({ id }) => id).toSorted());
  expect(listed.reduce((sum, { spend }) => addSpend(sum, spend), noSpend).usage).toEqual(
    theirs.reduce((sum, entries) => addSpend(sum, spentIn(entries)), noSpend).usage,
  );
  const memo = await session.memo();
  expect(memo?.facts?.tokens).toBe(total);
  await keepHistory('an agent of a session (L66)', h.client.workflow.getHandle(agents[0]!.id));
  await keepHistory('agents that were handed over with their reply (L66)', session.handle);
});

test('the agents of one reply begin together, in its order, with no activity between (L62 L63 L66)', async () => {
  const names = Array.from({ length: 40 }, (_, n) => `Agent ${n}.`);
  const h = await harness({
    script: byPrompt({
      'Go.': [reply(names.map((name) => agentCall(name))), reply('Done.')],
      ...Object.fromEntries(names.map((name) => [name, [reply(`${name} Done.`)]])),
    }),
    worker: { config: { agentLimits: { open: 40, perRun: 40 } } },
    // One history: slow agents would see the session handed over while they work.
    handover: { events: 10_000, signals: 5_000 },
  });
  const session = await h.open('Go.', { maxTokens: 40_000_000 });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
  expect((await outcomes(session)).map(({ content }) => content.split('\n')[0])).toEqual(
    names.map((name) => `${name} Done.`),
  );
  const events = (await session.handle.fetchHistory()).events ?? [];
  const started = events.flatMap(({ startChildWorkflowExecutionInitiatedEventAttributes: child }) => child ?? []);
  expect(new Set(started.map(({ workflowTaskCompletedEventId: task }) => Number(task))).size).toBe(1);
  expect(started.map(({ workflowId }) => workflowId)).toEqual(
    names.map((_, n) => expect.stringMatching(new RegExp(`-${n}$`)) as string),
  );
  const asked = events.flatMap(
    ({ activityTaskScheduledEventAttributes: activity }) => activity?.activityType?.name ?? [],
  );
  expect(asked.slice(0, 3)).toEqual(['perdure.openRun', 'perdure.callModel', 'perdure.runTool']);
  expect(asked.filter((name) => name === 'perdure.runTool')).toHaveLength(40);
});

test('a call that no agent can be started for is an error outcome that says why (L67 L68)', async () => {
  const [busy, more] = [gate(), gate()];
  const h = await harness({
    script: byPrompt({
      'Go.': [
        reply([agentCall('A.', { type: 'unknown' }), toolUse('agent', { description: ' ', prompt: 'A.' })]),
        reply([agentCall('A.'), agentCall('A.')]),
        reply([agentCall('B.'), agentCall('B.', { type: 'explore' }), agentCall('B.', { type: 'other' })]),
        reply([agentCall('E.')]),
        reply('Done.'),
      ],
      'A.': [reply([agentCall('Inner.')], { hold: busy.hold }), reply('A is done.')],
      'Inner.': [reply([agentCall('Deep.')]), reply('Inner is done.')],
      'B.': [reply('B is done.', { hold: more.hold }), reply('B is done.', { hold: more.hold })],
    }),
    worker: {
      config: { agents: { other: { description: 'Another.' } }, agentLimits: { depth: 2, open: 2, perRun: 3 } },
    },
  });
  const session = await h.open('Go.');
  const started = (n: number) => until(async () => (await agentsOf(h, session.id)).length === n);
  await started(1);
  busy.release();
  await started(4);
  more.release();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 5 });
  const texts = (await outcomes(session)).map(({ content, isError }) => `${isError}: ${content.split('\n')[0]}`);
  expect(texts.slice(0, 2)).toEqual([
    'true: There is no agent type "unknown": use one of general, explore, other.',
    'true: The input of agent is not valid:',
  ]);
  expect(texts.slice(2, 4).toSorted()).toEqual([
    'false: A is done.',
    expect.stringContaining('true: Not run: an agent with the same prompt and type is at work already (session '),
  ]);
  expect(texts.slice(4, 7).toSorted()).toEqual([
    'false: B is done.',
    'false: B is done.',
    'true: Not run: 2 agents are at work, and no more than 2 may be at a time.',
  ]);
  expect(texts.slice(7)).toEqual(['true: Not run: this run has started 3 agents, and no more than 3 are allowed.']);
  const deepest = (await agentsOf(h, session.id)).find(({ memo }) => memo.title.endsWith('Inner.'))!;
  const refused = (await entriesOf(h, deepest)).flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
  expect(refused[0]!.content).toContain('2 levels below the session, and no more than 2 are allowed');
});

test('an agent that does not complete is an error outcome with the reason and its last words (L67)', async () => {
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([agentCall('A.', { type: 'short' }), agentCall('B.')]), reply('Done.')],
      'A.': [reply([{ type: 'text', text: 'I look.' }, toolUse('glob', { pattern: '*' })])],
      'B.': [reply('Half of', { hold: new Promise(() => {}) })],
    }),
    worker: { config: { agents: { short: { description: 'Has one turn.', limits: { maxTurns: 1 } } } } },
  });
  const session = await h.open('Go.');
  const other = await until(async () => {
    const agents = await agentsOf(h, session.id);
    return h.bodies().some((body) => promptOf(body) === 'B.') && agents.find(({ memo }) => memo.title.endsWith('B.'));
  });
  // Interrupted by itself.
  await h.client.workflow.getHandle(other.id).signal(SIGNALS.interrupt, once('interrupt'));
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
  const [short, interrupted] = await outcomes(session);
  expect(short).toMatchObject({ isError: true, log: { outcome: 'error' } });
  expect(short!.content).toMatch(
    /^The agent ended with max_turns\.\n\nIts last words:\nI look\.\n\nWhat it did:\n- .+\n\n\(agent session/,
  );
  expect(interrupted!.content).toMatch(/^The agent ended with aborted_streaming\./);
});

test('an interrupt reaches every agent of the tree, and what they took is counted (L48 L64 L69)', async () => {
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([agentCall('A.')]), reply('Later.')],
      'A.': [reply([agentCall('B.')])],
      'B.': [reply([toolUse('bash', { command: 'touch began; sleep 600' })])],
      'Again.': [],
    }),
  });
  const session = await h.open('Go.');
  await until(() => h.liveText(session.id).includes('agent') && h.bodies().length === 3);
  await until(async () => (await agentsOf(h, session.id)).length === 2);
  await session.interrupt();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_tools', by: 'interrupt' } });
  const agents = await agentsEnded(h, session.id, 2);
  expect(agents.map(({ status }) => status)).toEqual(['CANCELLED', 'CANCELLED']);
  const [outcome] = await outcomes(session);
  expect(outcome).toMatchObject({ isError: true, log: { outcome: 'cancelled' } });
  const all = [await session.entries(), ...(await Promise.all(agents.map((agent) => entriesOf(h, agent))))];
  const total = all.reduce((sum, entries) => sum + usageOf(entries), 0);
  await until(async () => (await session.memo())?.facts?.tokens === total);
});

test('a session that is cancelled closes when its agents have ended (L49 L64)', async () => {
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([agentCall('A.')])],
      'A.': [reply('Half of', { hold: new Promise(() => {}) })],
    }),
  });
  const session = await h.open('Go.');
  await until(() => h.bodies().length === 2);
  await session.handle.cancel();
  await expect(session.handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
  const [agent] = await agentsOf(h, session.id);
  expect(agent).toMatchObject({ status: 'CANCELLED', memo: { phase: 'closed' } });
});

test('an agent is carried over handovers of its parent and of its own, and reports once (L4 L63 L66)', async () => {
  const held = gate();
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([agentCall('A.'), toolUse('bash', { command: 'touch after' })]), reply('Done.')],
      'A.': [reply([toolUse('glob', { pattern: '*' })]), reply('A is done.', { hold: held.hold })],
    }),
    handover: { events: 5, signals: 5_000, iterations: 1 },
  });
  const session = await h.open('Go.');
  await until(() => h.bodies().length === 3);
  const { runId } = await session.handle.describe();
  await until(async () => {
    await session.send('Still there?');
    return (await session.handle.describe()).runId !== runId;
  });
  held.release();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const [agent] = await agentsEnded(h, session.id, 1);
  const described = await h.client.workflow.getHandle(agent!.id).describe();
  expect(described.raw.workflowExecutionInfo?.firstRunId).not.toBe(described.runId);
  const [first] = await outcomes(session);
  expect(first!.content).toMatch(/^A is done\./);
  const total = usageOf(await session.entries()) + usageOf(await entriesOf(h, agent!));
  expect((await session.memo())?.facts?.tokens).toBe(total);
});

test('the agents of a session that is terminated end at their next iteration (L64)', async () => {
  const held = gate();
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([agentCall('A.')])],
      'A.': [reply([toolUse('glob', { pattern: '*' })], { hold: held.hold }), reply('Too late.')],
    }),
  });
  const session = await h.open('Go.');
  await until(() => h.bodies().length === 2);
  await session.handle.terminate();
  held.release();
  const [agent] = await agentsEnded(h, session.id, 1);
  expect(agent!.memo.last?.terminal).toEqual({
    reason: 'model_error',
    detail: `session ${session.id}, which started this agent, is over`,
  });
  expect(h.bodies()).toHaveLength(2);
});

test('sealed payloads are carried to agents and back (L66)', async () => {
  const h = await harness({
    script: byPrompt({ 'Go.': [reply([agentCall('A.')]), reply('Done.')], 'A.': [reply('A is done.')] }),
    keys: newKeys(),
  });
  const session = await h.open('Go.');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect((await outcomes(session))[0]!.content).toMatch(/^A is done\./);
});
