import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { gate, reply, text, toolUse } from '../../worker/scripted-model/index.ts';
import { crashHarness, replays } from '../support/crash-harness.ts';
import { diedInTool } from '../support/died-in-tool.ts';
import { processesOf } from '../support/processes.ts';
import { until } from '../support/until.ts';

describe('a worker killed in the middle of a tool', () => {
  test('the effect happened once, its outcome is unknown, and another worker finishes the run (L40)', async () => {
    const { h, session, second } = await diedInTool();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
    expect(h.effects()).toEqual(['effect']);
    expect(JSON.stringify(h.bodies()[1])).toMatch(/outcome unknown/i);
    await replays(h.client, session);
    await second.kill();
  });

  test.each([
    ['with its reply', {}],
    ['the regular way', { maxTokens: 1_000_000 }],
  ])(
    'that ran %s: after an interrupt its outcome is unknown, and nothing of it is left (L39 L40 L47 L48)',
    async (_how, run) => {
      const h = await crashHarness({
        script: [reply([text('I begin.'), toolUse('bash', { command: 'echo effect >> effects.log; sleep 60' })])],
      });
      const first = await h.worker();
      const session = await h.open('Do it.', run);
      const watching = h.follow(session);
      await until(() => h.effects().length > 0);
      await first.kill();
      await session.interrupt();
      const second = await h.worker();
      expect(await session.ended(1)).toMatchObject({
        terminal: { reason: 'aborted_tools', by: 'interrupt' },
        turns: 1,
      });
      const entries = await session.entries();
      expect(entries.filter(({ kind }) => kind === 'reply')).toHaveLength(1);
      expect(entries.find(({ kind }) => kind === 'outcomes')).toMatchObject({
        outcomes: [{ content: expect.stringContaining('outcome unknown') as string, log: { outcome: 'unknown' } }],
      });
      expect(h.effects()).toEqual(['effect']);
      expect(processesOf(h.cwd)).toEqual([]);
      expect(h.bodies()).toHaveLength(1);
      await watching.converges();
      await h.follow(session).converges();
      await replays(h.client, session);
      await second.kill();
    },
  );

  test('a safe call that had run early runs again with the next attempt, and has one outcome (L37 L40)', async () => {
    const held = gate();
    const early = [toolUse('read', { path: 'a.txt' }, 'toolu_1'), text('and so on')];
    const h = await crashHarness({
      script: [reply(early, { hold: held.hold, holdAfterEvent: 7 }), reply(early), reply('Done.')],
    });
    writeFileSync(join(h.cwd, 'a.txt'), 'hello\n');
    const first = await h.worker();
    const session = await h.open('Do it.');
    const watching = h.follow(session);
    await until(() => h.liveText(session.id).includes('tool_end'));
    await first.kill();
    writeFileSync(join(h.cwd, 'a.txt'), 'hello again\n');
    const second = await h.worker();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    held.release();
    expect(h.bodies().at(-1)?.messages.at(-1)).toMatchObject({
      content: [{ content: expect.stringContaining('hello again') }],
    });
    const outcomes = (await session.entries()).flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
    expect(outcomes).toHaveLength(1);
    await watching.converges();
    await second.kill();
  });
});

describe("a dead worker's call", () => {
  test('is taken over once, by a worker of its own task queue (L3 L50)', async () => {
    const held = gate();
    const h = await crashHarness({ script: [reply('Dies.', { hold: held.hold, holdAfterEvent: 4 }), reply('Done.')] });
    const stranger = await crashHarness({ script: [] });
    const first = await h.worker();
    const session = await h.open('Do it.');
    await until(() => h.bodies().length === 1);
    await first.kill();
    const other = await stranger.worker();
    const { raw } = await h.client.workflow.getHandle(session.id).describe();
    expect(raw.pendingActivities).toMatchObject([{ attempt: 1, lastFailure: null }]);
    const second = await h.worker();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    held.release();
    expect(h.bodies()).toHaveLength(2);
    await other.kill();
    await second.kill();
  });
});

describe('a worker killed between two steps', () => {
  test('nothing is lost or doubled, wherever it dies (L3 L39 L61)', async () => {
    const turns = 6;
    const replies = Array.from({ length: turns }, (_, n) =>
      reply([toolUse('bash', { command: `echo ${n} >> effects.log` })]),
    );
    const h = await crashHarness({ script: [...replies, reply('Done.')] });
    const first = await h.worker();
    const session = await h.open('Do it.');
    const watching = h.follow(session);
    await until(() => h.effects().length >= 1);
    await first.kill();
    for (let n = 2; n <= turns; n += 2) {
      const worker = await h.worker();
      await until(() => h.effects().length >= n);
      await worker.kill();
    }
    const last = await h.worker();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: turns + 1 });
    expect(h.effects()).toEqual(['0', '1', '2', '3', '4', '5']);
    await watching.converges();
    await replays(h.client, session);
    await last.kill();
  });
});

describe('a worker that is told to go', () => {
  test('is not a stop: the run goes on elsewhere and nothing records an interruption (L50)', async () => {
    const held = gate();
    const h = await crashHarness({
      script: [reply('Going on', { hold: held.hold, holdAfterEvent: 4 }), reply('Done.')],
    });
    const first = await h.worker();
    const session = await h.open('Do it.');
    await until(() => h.bodies().length === 1);
    const drained = first.drain();
    const second = await h.worker();
    await drained;
    held.release();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    expect((await session.entries()).some((entry) => entry.kind === 'notice')).toBe(false);
    await second.kill();
  });
});
