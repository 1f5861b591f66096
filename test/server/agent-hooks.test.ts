// The hooks about agents on a real server: `agentIdle` is asked in the agent's own session before
// it ends, `agentEnded` told of by its parent's.
import { describe, expect, test } from 'vitest';
import type { HookInput } from '../../activities/hooks/hook-config.ts';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { agentsEnded, agentsOf, entriesOf, outcomes } from '../support/agents.ts';
import { agentCall, byPrompt } from '../support/by-prompt.ts';
import { harness } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';

describe('an agent with nothing left to do', () => {
  test('is sent back by a hook `agentIdle` that blocks, once no stop hook objects; the main agent is not asked (L30 L66)', async () => {
    const asked: HookInput<'agentIdle'>[] = [];
    const stopped: string[] = [];
    const agentIdle = (input: HookInput<'agentIdle'>) => {
      asked.push(input);
      return input.text === 'Two.' ? { block: 'Look in the folder lib, too.' } : undefined;
    };
    const stop = ({ text, depth }: HookInput<'stop'>) => {
      stopped.push(`${depth} ${text}`);
      return text === 'One.' ? { block: 'You have not looked.' } : undefined;
    };
    const h = await harness({
      script: byPrompt({
        'Go.': [reply([agentCall('Count.')]), reply('Done.')],
        'Count.': [reply('One.'), reply('Two.'), reply('Three.')],
      }),
      worker: { config: { hooks: { agentIdle: [agentIdle], stop: [stop] } } },
    });
    const session = await h.open('Go.');
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    const [count] = await outcomes(session);
    expect(count!.content).toMatch(/^Three\./);
    expect(stopped).toEqual(['1 One.', '1 Two.', '1 Three.', '0 Done.']);
    expect(asked.map(({ text, active, depth }) => [text, active, depth])).toEqual([
      ['Two.', true, 1],
      ['Three.', true, 1],
    ]);
    const [agent] = await agentsEnded(h, session.id, 1);
    expect(asked[0]).toMatchObject({
      session: agent!.id,
      agent: {
        id: expect.stringMatching(/^agent-[0-9a-f]{16}-0$/),
        type: 'general',
        parent: session.id,
        root: session.id,
      },
    });
    expect(JSON.stringify(await entriesOf(h, agent!))).toContain('Look in the folder lib, too.');
  });

  test('ends as the hook wants it that prevents, and without a `stop` hook it is asked all the same (L30 L66)', async () => {
    const agentIdle = () => ({ prevent: 'That will do.' });
    const h = await harness({
      script: byPrompt({ 'Go.': [reply([agentCall('Count.')]), reply('Done.')], 'Count.': [reply('One.')] }),
      worker: { config: { hooks: { agentIdle: [agentIdle] } } },
    });
    const session = await h.open('Go.');
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    const [count] = await outcomes(session);
    expect(count).toMatchObject({
      isError: true,
      content: expect.stringContaining('stop_hook_prevented: That will do'),
    });
  });
});

describe('the end of an agent', () => {
  test('is told to the hooks `agentEnded`, once each, with what it said and took, and nothing waits for them (O17 L66 L67)', async () => {
    const told: HookInput<'agentEnded'>[] = [];
    const held = gate();
    const agentEnded = async (input: HookInput<'agentEnded'>) => {
      told.push(input);
      await held.hold;
    };
    const h = await harness({
      script: byPrompt({
        'Go.': [reply([agentCall('Count.'), agentCall('Look.')]), reply('Done.')],
        'Count.': [reply([toolUse('bash', { command: 'echo 3' })]), reply('There are three.')],
        'Look.': [reply('Nothing there.')],
      }),
      worker: { config: { model: 'claude-sonnet-5-5', hooks: { agentEnded: [agentEnded] } } },
    });
    const session = await h.open('Go.');
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    held.release();
    await until(() => told.length === 2);
    const agents = await agentsEnded(h, session.id, 2);
    const count = told.find(({ text }) => text === 'There are three.')!;
    expect(count).toMatchObject({
      hook: 'agentEnded',
      session: session.id,
      depth: 0,
      cwd: h.cwd,
      title: 'Go.',
      agent: { type: 'general', title: 'Title of Count.', background: false },
      reason: 'completed',
      detail: null,
      turns: 2,
    });
    const { facts } = agents.find(({ id }) => id === count.agent.session)!.memo;
    expect(count.tokens).toBe(facts!.tokens);
    expect(count.costUsd).toBeCloseTo(facts!.cents! / 100, 3);
    expect(count.agent.session).toContain(count.agent.id);
    await session.handle.cancel();
    await until(async () => ((await session.memo())?.phase === 'closed' ? true : null));
    expect(told.map(({ text }) => text).toSorted()).toEqual(['Nothing there.', 'There are three.']);
    await keepHistory('an end of an agent that was told to hooks (O17)', session.handle);
  });

  test('in the background is told after its run, over a handover, and one that was ended from outside says so (O17 L4 L71)', async () => {
    const told: HookInput<'agentEnded'>[] = [];
    const [first, second] = [gate(), gate()];
    const h = await harness({
      script: byPrompt({
        'Go.': [
          reply([agentCall('A.', { background: true }), agentCall('B.', { background: true })]),
          reply('Both are on their way.'),
          reply('A is done.'),
          reply('B is done.'),
        ],
        'A.': [reply('There are three.', { hold: first.hold })],
        'B.': [reply('Never.', { hold: second.hold })],
      }),
      worker: { config: { hooks: { agentEnded: [(input) => void told.push(input)] } } },
      handover: { events: 5, signals: 5_000, iterations: 1 },
    });
    const session = await h.open('Go.');
    await session.ended(1);
    first.release();
    await until(() => told.length === 1);
    expect(told[0]).toMatchObject({
      text: 'There are three.',
      cwd: h.cwd,
      agent: { background: true },
      reason: 'completed',
    });
    const working = (await agentsOf(h, session.id)).find(({ status }) => status === 'RUNNING');
    await h.client.workflow.getHandle(working!.id).terminate('the test ends it');
    await session.handle.cancel();
    await until(() => told.length === 2);
    second.release();
    expect(told[1]).toMatchObject({
      text: '',
      agent: { background: true, title: 'Title of B.' },
      reason: null,
      costUsd: null,
    });
    expect(told[1]?.detail).toContain('ended from outside');
  });
});
