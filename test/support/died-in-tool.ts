// A worker killed after the effect of its call and before its result, and another one in its place.
import { reply, toolUse } from '../../scripted-model/index.ts';
import { crashHarness } from './crash-harness.ts';
import { until } from './until.ts';

export async function diedInTool() {
  const h = await crashHarness({
    script: [reply([toolUse('bash', { command: 'echo effect >> effects.log; sleep 60' })]), reply('I will check.')],
  });
  const first = await h.worker();
  const session = await h.open('Do it.');
  await until(() => h.effects().length > 0);
  await first.kill();
  return { h, session, second: await h.worker() };
}
