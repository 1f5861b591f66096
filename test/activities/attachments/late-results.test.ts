// What the model is told of results that came after their calls were concluded as unknown.
import { expect, test } from 'vitest';
import { tellLateResults } from '../../../activities/attachments/attachments.ts';
import type { Entry } from '../../../store/log/entries.ts';
import { storeTextBody } from '../../../store/log/bodies.ts';
import { keepRefused, readRefused } from '../../../store/sandbox/offers.ts';
import { describeLost, type SettledEntry } from '../../../workflows/contract/waits.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { callBlock, notice, reply, session, stored } from '../../support/transcript.ts';

const store = memoryStore();

const lost = (call: string): SettledEntry => ({
  kind: 'settled',
  call,
  how: 'result',
  result: { body: { kind: 'text', text: describeLost({ at: 0 }) }, isError: true },
  at: 1,
});

type Kept = { readonly why?: 'late' | 'not_given'; readonly work?: string };

async function keep(call: string, text: string, { why = 'late', work = 'work_1' }: Kept = {}): Promise<void> {
  const result = { body: await storeTextBody(store, text) };
  const settled: SettledEntry = { kind: 'settled', call, how: 'result', by: `work ${work}`, result, at: 2 };
  await keepRefused({ store, session }, { id: `sevt_${call}`, why, work, settled });
}

const calls = reply([callBlock('c1', { command: 'git push' }, 'bash'), callBlock('c2', { command: 'ls' }, 'bash')]);
const told = async (...entries: readonly Entry[]) => tellLateResults(store, await stored(store, [calls, ...entries]));

test('a late result of a call whose outcome was unknown is told once, quoted and cut (G58)', async () => {
  expect(await told(lost('1.1.0'))).toEqual([]);
  const words = `pushed\n${'x'.repeat(20_000)}`;
  await keep('1.1.0', words);
  await keep('1.1.0', words);
  await keep('1.1.0', 'another');
  const [late, ...more] = await told(lost('1.1.0'));
  expect(late?.text).toMatch(
    /^arrived late: the result of bash \{"command":"git push"\}, whose outcome was given as unknown\.\n> pushed\n> x/,
  );
  expect(late?.text.length).toBeLessThan(12_000);
  expect(more).toEqual([]);
  expect(await told(lost('1.1.0'), notice({ kind: 'attachment', ...late! }))).toEqual([]);
});

test('nothing is told of a call with a result of its own, nor of one that was not given (G50 G58)', async () => {
  const given: SettledEntry = { ...lost('1.1.0'), by: 'work work_1' };
  await keep('1.1.1', 'forged', { why: 'not_given' });
  expect(await told(given, lost('1.1.1'))).toEqual([]);
});

test('the first twenty refused results of an item are kept, and the first hundred of a session (G50)', async () => {
  const kept = async () => (await readRefused({ store, session })).length;
  const before = await kept();
  for (let n = 0; n < 25; n += 1) await keep('1.1.0', `late ${n}`, { work: 'work_2' });
  expect(await kept()).toBe(before + 20);
  for (let n = 0; n < 105; n += 1) await keep('1.1.0', `late ${n}`, { work: `work_${3 + Math.floor(n / 15)}` });
  expect(await kept()).toBe(100);
});
