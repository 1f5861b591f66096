import { describe, expect, test } from 'vitest';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { crashHarness, replays } from '../support/crash-harness.ts';
import { playKilled } from '../support/killed-together.ts';
import { until } from '../support/until.ts';
import { besideCallCases } from './cases/beside-calls.ts';
import { inToolCases } from './cases/in-a-tool.ts';
import { recoveredCases } from './cases/recovered-call.ts';

const cases = [...inToolCases, ...besideCallCases, ...recoveredCases];
const play = playKilled(cases, { configFile: new URL('./cases/config.mjs', import.meta.url).href });

describe('a worker killed', () => {
  test.each(cases.map((one) => [one.name, one] as const))('%s', (_name, one) => play(one));
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
