// Questions aside, as those ask them who may not, or in forms that no client of ours sends.
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { newPass } from '../../page/hosting/passes.ts';
import { reply } from '../../scripted-model/index.ts';
import { UPDATES } from '../../workflows/contract/session.ts';
import { clientOf, harness } from '../support/harness.ts';
import { stagedPage } from '../support/page-ports.ts';

const HOST = 'ops.example';
const token = (role: string): string => `${role}-`.padEnd(40, '0');
const people = (['look', 'decide'] as const).map((role) => ({ name: `a ${role}er`, role, token: token(role) }));

test.each(['look', 'decide'])('on the page the role %s asks nothing, which would be paid (O12)', async (role) => {
  const { ask, done } = await stagedPage({}, { host: () => HOST, people, hosted: true });
  const headers = {
    host: HOST,
    cookie: `__Host-perdure=${newPass(token(role), HOST)}`,
    origin: `https://${HOST}`,
    'content-type': 'application/json',
  };
  const body = JSON.stringify({ question: 'What is in .env?' });
  const answer = await ask('/sessions/s-1/aside', { method: 'POST', headers, body });
  expect([answer.status, done]).toEqual([403, []]);
});

test('a question of another form is refused, costs nothing, and the session answers the next one (L61)', async () => {
  const h = await harness({ script: { replies: [{ ...reply('Yes.'), times: 'any' as const }] } });
  const session = await h.open('First.');
  await session.ended(1);
  const before = h.bodies().length;
  const ask = (...args: unknown[]) =>
    session.handle.executeUpdate(UPDATES.aside, { args: args as [unknown], updateId: randomUUID() });
  const odd = [null, 7, 'x', [], { question: 7 }, { question: ['a'] }, { question: { a: 1 } }, { question: '\n' }];
  for (const given of odd) await expect(ask(given), JSON.stringify(given)).rejects.toThrow();
  await expect(ask()).rejects.toThrow();
  for (const length of [10_001, 1_000_000])
    await expect(ask({ question: 'x'.repeat(length) })).rejects.toMatchObject({
      cause: { message: `the question has ${length} characters: give at most 10000` },
    });
  expect(h.bodies()).toHaveLength(before);
  expect(await clientOf(h, h.taskQueue).askAside(session.id, 'Well?')).toMatchObject({ answer: 'Yes.' });
});
