// Agents in the background: begun and gone on without, told of when they end, asked, stopped, and
// counted.
import { expect, test } from 'vitest';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { agentsEnded, agentsOf, entriesOf, outcomes, usageOf } from '../support/agents.ts';
import { agentCall, byPrompt, promptOf } from '../support/by-prompt.ts';
import { harness, type OpenSession } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';

const background = { background: true };

/** Its id, as the model was given it. */
async function begun(session: OpenSession): Promise<string> {
  const [first] = await outcomes(session);
  return /^Agent (agent-[0-9a-f]{16}-\d+) works in the background/.exec(first!.content)?.[1] ?? first!.content;
}

async function told(session: OpenSession): Promise<readonly string[]> {
  const notices = (await session.entries()).flatMap((entry) => (entry.kind === 'notice' ? [entry.notice] : []));
  return notices.flatMap((notice) => (notice.kind === 'attachment' ? [`${notice.source}: ${notice.text}`] : []));
}

test('an agent in the background outlives its run, and its end opens one when its parent is idle (L66 L69 L71)', async () => {
  const held = gate();
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([agentCall('A.', background)]), reply('It is on its way.'), reply('A has found three.')],
      'A.': [reply('There are three.', { hold: held.hold })],
    }),
  });
  const session = await h.open('Go.', { maxTokens: 1_000_000 });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
  expect((await session.memo())?.phase).toBe('idle');
  const id = await begun(session);
  held.release();
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' }, messages: [] });
  expect(await told(session)).toEqual([
    expect.stringMatching(
      new RegExp(`^agent ${id} \\("Title of A."\\).*: > There are three.\\n\\n\\(agent session`, 's'),
    ),
  ]);
  const [agent] = await agentsEnded(h, session.id, 1);
  const total = usageOf(await session.entries()) + usageOf(await entriesOf(h, agent!));
  expect((await session.memo())?.facts?.tokens).toBe(total);
  await keepHistory('an agent in the background (L71)', session.handle);
});

test('its end is told within the run, over handovers of its parent, and its whole answer can be asked for (L4 L71)', async () => {
  const [held, last] = [gate(), gate()];
  const h = await harness({
    script: (request) => {
      const { messages } = request;
      const prompt = promptOf(request);
      if (prompt === 'A.') return reply('x'.repeat(20_000), { hold: held.hold });
      if (messages.length === 1) return reply([agentCall('A.', background)]);
      const text = JSON.stringify(messages);
      const id = /agent-[0-9a-f]{16}-\d+/.exec(text)![0];
      if (!text.includes('which worked in the background'))
        return reply([toolUse('wait', { seconds: 3_600, message: true })]);
      return text.includes('"agent_output"')
        ? reply('Done.')
        : reply([toolUse('agent_output', { agent: id })], { hold: last.hold });
    },
    handover: { events: 5, signals: 5_000, iterations: 1 },
  });
  const session = await h.open('Go.');
  await until(async () => (await session.memo())?.phase === 'parked');
  held.release();
  last.release();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const [notice] = await told(session);
  expect(notice).toContain('agent_output gives all of it');
  expect(notice!.length).toBeLessThan(9_000);
  const answer = (await outcomes(session)).at(-1)!;
  expect(answer.isError).toBe(false);
  expect(answer.content).toContain('x'.repeat(20_000));
});

test('it is sent a message and stopped by its id, once; an unknown id is an error that names those at work (L64 L71)', async () => {
  const held = gate();
  const [heard, answered] = [gate(), gate()];
  const ask =
    (name: string, more: object = {}, hold?: Promise<void>) =>
    (text: string) =>
      reply([toolUse(name, { agent: /agent-[0-9a-f]{16}-\d+/.exec(text)![0], ...more })], hold ? { hold } : {});
  const steps = [
    () => reply([agentCall('A.', background)]),
    () => reply([toolUse('agent_output', { agent: 'agent-none' })]),
    ask('agent_output'),
    ask('agent_send', { message: 'Look at b too.' }, heard.hold),
    ask('agent_stop', {}, answered.hold),
    ask('agent_stop'),
    ask('agent_send', { message: 'Too late.' }),
    () => reply('Done.'),
  ];
  const asked: string[] = [];
  const h = await harness({
    script: (request) => {
      const text = JSON.stringify(request.messages);
      if (promptOf(request) === 'Go.') return steps.shift()!(text);
      asked.push(text);
      return asked.length === 1
        ? reply([toolUse('glob', { pattern: '*' })], { hold: held.hold })
        : reply('Half', { hold: new Promise(() => {}) });
    },
  });
  const session = await h.open('Go.');
  await until(() => asked.length === 1);
  heard.release();
  // What it was sent waits for it.
  await until(() => steps.length === 3);
  held.release();
  await until(() => asked.length === 2);
  expect(asked[1]).toContain('Look at b too.');
  answered.release();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const texts = (await outcomes(session)).map(({ content, isError }) => `${isError}: ${content}`);
  expect(texts[1]).toMatch(/^true: No agent "agent-none" .* At work: agent-/);
  expect(texts[2]).toMatch(/^false: Agent agent-.* is at work, since 2/);
  expect(texts[3]).toMatch(/^false: Sent to agent agent-.* before its next turn, unless it ends first\.$/);
  expect(texts[4]).toMatch(/^false: The agent ended with aborted_/);
  expect(texts[5]).toBe(texts[4]);
  expect(texts[6]).toMatch(/^true: Not sent: agent agent-.* has ended/);
  // Whoever stopped it was told so.
  expect(await told(session)).toEqual([]);
});

test('an interrupt leaves it at work, the end of the session ends it, and all is counted (L48 L49 L64 L71)', async () => {
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([agentCall('A.', background), toolUse('bash', { command: 'sleep 600' })])],
      'A.': [reply('Half of', { hold: new Promise(() => {}) })],
    }),
  });
  const session = await h.open('Go.');
  await until(() => h.bodies().length === 2);
  await until(() => h.liveText(session.id).includes('sleep 600'));
  await session.interrupt();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_tools' } });
  const [agent] = await agentsOf(h, session.id);
  expect(agent).toMatchObject({ status: 'RUNNING' });
  await session.handle.cancel();
  await expect(session.handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
  expect((await agentsOf(h, session.id))[0]).toMatchObject({ status: 'CANCELLED' });
});

test('an agent whose own agents are in the background answers when these have ended, within its limits (L69 L71)', async () => {
  const held = gate();
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([agentCall('A.')]), reply('Done.')],
      'A.': [reply([agentCall('B.', background)]), reply('B is at work.'), reply('B has found b.')],
      'B.': [reply('b', { hold: held.hold })],
    }),
  });
  const session = await h.open('Go.', { maxTokens: 1_000_000 });
  // Of the root, twice of A, and of B.
  await until(() => h.bodies().length === 4);
  held.release();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const [outcome] = await outcomes(session);
  expect(outcome!.content).toMatch(/^B has found b\./);
  const agents = await agentsEnded(h, session.id, 2);
  const all = [await session.entries(), ...(await Promise.all(agents.map((agent) => entriesOf(h, agent))))];
  const total = all.reduce((sum, entries) => sum + usageOf(entries), 0);
  expect((await session.memo())?.facts?.tokens).toBe(total);
});

test('a message to a run that the end of an agent opened brings all limits of a prompt (L45 L71)', async () => {
  const [held, sent] = [gate(), gate()];
  const look = (hold?: Promise<void>) => reply([toolUse('glob', { pattern: '*' })], hold ? { hold } : {});
  const h = await harness({
    script: byPrompt({
      'Go.': [
        reply([agentCall('A.', background)]),
        reply('Begun.'),
        look(sent.hold),
        look(),
        look(),
        look(),
        reply('Done.'),
      ],
      'A.': [reply('a', { hold: held.hold })],
    }),
  });
  const session = await h.open('Go.', { maxTurns: 4 });
  await session.ended(1);
  held.release();
  await until(() => h.bodies().length === 4);
  await session.send('And then?');
  sent.release();
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' }, turns: 5 });
  await keepHistory('a message to a run that the end of an agent opened (L71)', session.handle);
});

test('runs that ends of agents open share the limits of the prompt, so that agents do not begin each other for ever (L45 L71)', async () => {
  let n = 0;
  const held = Array.from({ length: 5 }, () => gate());
  const h = await harness({
    script: (request) => {
      const prompt = promptOf(request);
      if (prompt !== 'Go.') return reply('A.', { hold: held[Number(prompt.slice(0, -1))]!.hold });
      if (!JSON.stringify(request.messages.at(-1)).includes('tool_result'))
        return reply([agentCall(`${(n += 1)}.`, background)]);
      // Its end is not told together with what its beginning came to.
      held[n]!.release();
      return reply('It works.');
    },
  });
  const session = await h.open('Go.', { maxTurns: 5 });
  const ended = await until(async () => {
    const last = (await session.memo())?.last;
    return last?.terminal.reason === 'max_turns' && last;
  });
  expect(ended).toMatchObject({ turns: 1 });
  for (const { release } of held) release();
  await until(async () => (await agentsOf(h, session.id)).every(({ status }) => status !== 'RUNNING'));
  expect(n).toBe(3);
});
