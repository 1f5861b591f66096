// How soon a run moves on after its worker was killed and another one is ready. Alone on the
// machine: it is a measurement.
import { expect, test } from 'vitest';
import { gate, reply } from '../../scripted-model/index.ts';
import { atBest } from '../support/at-best.ts';
import { crashHarness } from '../support/crash-harness.ts';
import { diedInTool } from '../support/died-in-tool.ts';
import { until } from '../support/until.ts';

/** From the new worker's ready line to the next request, in milliseconds. */
const RECOVERY_MS = 2_000;

test('within two seconds when it died in a model call (L3)', async () => {
  const recovery = async (): Promise<number> => {
    const held = gate();
    const h = await crashHarness({
      script: [reply('This attempt dies.', { hold: held.hold, holdAfterEvent: 4 }), reply('Done.')],
    });
    const first = await h.worker();
    const session = await h.open('Do it.');
    await until(() => h.bodies().length === 1);
    await first.kill();
    const second = await h.worker();
    await until(() => h.bodies().length === 2);
    const taken = Date.now() - second.readyAt;
    held.release();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    await second.kill();
    return taken;
  };
  expect(await atBest(RECOVERY_MS, 8, recovery)).toBeLessThanOrEqual(RECOVERY_MS);
});

test('within two seconds when it died in a tool (L3 L40)', async () => {
  const recovery = async (): Promise<number> => {
    const { h, session, second } = await diedInTool();
    await until(() => h.bodies().length === 2);
    const taken = Date.now() - second.readyAt;
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    await second.kill();
    return taken;
  };
  expect(await atBest(RECOVERY_MS, 8, recovery)).toBeLessThanOrEqual(RECOVERY_MS);
});
