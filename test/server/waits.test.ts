// Waits of the model on a real server (L82): a durable timer, until a time or for a message.
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { harness } from '../support/harness.ts';
import { until } from '../support/until.ts';

test('a wait and a question last until the very time that the model gave (L81 L82)', async () => {
  const time = Date.now() + 24 * 3_600_000;
  const at = new Date(time).toISOString();
  const h = await harness({
    script: [
      reply([toolUse('wait', { until: at })]),
      reply([toolUse('ask_user', { question: 'Which colour?', deadline: at })]),
      reply('Done.'),
    ],
  });
  const session = await h.open('Wait.');
  expect(await until(async () => (await session.memo())?.parkedUntil)).toBe(time);
  await session.resume();
  expect((await until(async () => (await session.memo())?.approvals?.[0])).deadline).toBe(time);
  await session.interrupt();
  await session.ended(1);
});

test('a wait for a message alone ends when one comes (L82)', async () => {
  const h = await harness({ script: [reply([toolUse('wait', { message: true })]), reply('Done.')] });
  const session = await h.open('Wait.');
  await until(async () => (await session.memo())?.phase === 'parked');
  await session.send('Go on.');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
  expect(JSON.stringify(h.bodies()[1]?.messages)).toContain('A message ended the wait.');
});
