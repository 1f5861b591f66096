// A worker that is killed while a command of its goes on in the background: nothing of it is left,
// and the model is told at its next turn.
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { gate, reply, toolUse, type ParsedRequest, type Reply } from '../../scripted-model/index.ts';
import { processesWith } from '../tools/support.ts';
import { crashHarness, replays } from '../support/crash-harness.ts';
import { until } from '../support/until.ts';

test('a command in the background dies with its worker, and the next worker tells the model so (L84 L43)', async () => {
  const mark = randomUUID();
  const killed = gate();
  const command = `echo up; sleep 1000; : ${mark}`;
  const script = async ({ messages }: ParsedRequest): Promise<Reply> => {
    if (messages.length === 1) return reply([toolUse('bash', { command, background: true })]);
    await killed.hold;
    return reply('Done.');
  };
  const h = await crashHarness({ script });
  const first = await h.worker();
  const session = await h.open('Serve.');
  await until(async () => (h.bodies().length > 1 && (await processesWith(mark)).length > 0 ? true : null));
  await first.kill();
  const second = await h.worker();
  await until(async () => ((await processesWith(mark)).length === 0 ? true : null));
  killed.release();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(JSON.stringify(h.bodies().at(-1)?.messages)).toMatch(/is gone: its worker has died, and it with it/);
  await replays(h.client, session);
  await second.drain();
});
