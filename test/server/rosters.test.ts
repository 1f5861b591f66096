// Agents that a run brings with it (G68), on a real server: each has its own tools and rules, its
// parent's transcript says that it has begun and which of its calls wait, and handovers change
// nothing of that.
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import type { Entry } from '../../store/log/entries.ts';
import type { RosterAgent } from '../../workflows/contract/roster.ts';
import { defaultHandover, type RunOptions, UPDATES } from '../../workflows/contract/session.ts';
import type { SettledEntry, WaitEntry } from '../../workflows/contract/waits.ts';
import { byPrompt } from '../support/by-prompt.ts';
import { clientOf, type Harness, harness, type OpenSession } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';

const clerk: RosterAgent = {
  name: 'The clerk',
  description: 'Knows orders.',
  model: 'claude-sonnet-5-5',
  tools: ['get_order', 'write'],
  permissions: { ask: ['write'] },
  outsideTools: [
    { by: 'custom', name: 'get_order', description: 'Looks up an order.', input_schema: { type: 'object' } },
  ],
};
const leading: Partial<RunOptions> = {
  recordWaits: true,
  roster: [clerk],
  tools: ['agent'],
  permissionMode: 'default',
};
const task = (prompt: string) => toolUse('agent', { description: prompt, prompt, type: 'The clerk' });
const write = (path: string) => toolUse('write', { path, content: 'a' });

const toldIn = (entries: readonly Entry[]) =>
  entries.flatMap((entry): readonly (WaitEntry | SettledEntry)[] =>
    entry.kind === 'wait' || entry.kind === 'settled' ? [entry] : [],
  );

/** Returns what the session has told once it is this much. */
const told = (h: Harness, session: OpenSession, count: number) =>
  until(async () => {
    const entries: Entry[] = [];
    for await (const { entry } of clientOf(h).transcript(session.id)) entries.push(entry);
    const all = toldIn(entries);
    return all.length >= count && all;
  });

test('an agent works by its own entry, and what waits in it is told to its parent, over handovers (G68 L4)', async () => {
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([task('A.')]), reply('Done.')],
      'A.': [reply([toolUse('get_order', { id: '7' }), write('a.txt')]), reply('A is done.')],
    }),
    handover: { ...defaultHandover, events: 10 },
  });
  const session = await h.open('Go.', leading);
  const [begun, waits] = (await told(h, session, 2)) as readonly WaitEntry[];
  const child = begun?.agents?.[0]?.session;
  expect(begun).toMatchObject({ calls: [], agents: [{ call: '1.1.0' }] });
  expect(waits).toMatchObject({
    calls: [
      { call: '1.1.0', why: 'custom', thread: child, asked: { tool: 'get_order', input: { id: '7' } } },
      { call: '1.1.1', why: 'ask', thread: child, asked: { tool: 'write', input: { path: 'a.txt', content: 'a' } } },
    ],
  });
  expect(JSON.stringify(waits)).not.toContain('"head"');
  await until(async () => (await session.memo())?.waits === 2);
  await clientOf(h).approve(child!, '1.1.1', { by: 'ann' });
  await told(h, session, 3);
  const result = { body: { kind: 'text' as const, text: 'sold' } };
  await h.client.workflow
    .getHandle(child!)
    .executeUpdate(UPDATES.giveResult, { args: [{ call: '1.1.0', result, by: 'app' }] });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(toldIn(await session.entries()).slice(2)).toMatchObject([
    { kind: 'settled', call: '1.1.1', thread: child, how: 'allow', by: 'ann' },
    { kind: 'settled', call: '1.1.0', thread: child, how: 'result', result },
  ]);
  expect(await session.memo()).not.toHaveProperty('waits');
  const offered = h.bodies().map(({ tools }) => (tools ?? []).flatMap((tool) => ('name' in tool ? tool.name : [])));
  expect(offered.slice(0, 2)).toEqual([['agent'], ['get_order', 'write']]);
  await keepHistory('a roster whose agent waits, over a handover (G68)', session.handle);
  await keepHistory(
    'an agent of a roster, which tells its parent that it waits (G68)',
    h.client.workflow.getHandle(child!),
  );
});

test('two agents wait under equal names, and an interrupt ends both (G68 L48)', async () => {
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([task('A.'), task('B.')]), reply('Never.')],
      'A.': [reply([write('a.txt')])],
      'B.': [reply([write('b.txt')])],
    }),
  });
  const session = await h.open('Go.', leading);
  await until(async () => (await session.memo())?.waits === 2);
  const threads = async (count: number): Promise<number> => {
    const waits = (await told(h, session, count)).flatMap((entry) => (entry.kind === 'wait' ? entry.calls : []));
    return new Set(waits.map(({ thread }) => thread)).size;
  };
  await until(async () => (await threads(2)) === 2);
  await clientOf(h).interrupt(session.id, { by: 'ann' });
  await session.ended(1);
  expect(await session.memo()).not.toHaveProperty('waits');
  const ends = (await session.entries()).flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
  expect(ends.map(({ isError, log }) => [isError, log.outcome])).toEqual([
    [true, 'cancelled'],
    [true, 'cancelled'],
  ]);
  await keepHistory('a roster whose agents are interrupted while they wait (G68)', session.handle);
});

test('an agent that is ended while it waits takes its waits along, and another one’s can be settled (G38 G68)', async () => {
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([task('A.'), task('B.')]), reply('Done.')],
      'A.': [reply([write('a.txt')])],
      'B.': [reply([write('b.txt')]), reply('B is done.')],
    }),
  });
  const session = await h.open('Go.', leading);
  const waits = await until(async () => {
    const calls = (await told(h, session, 2)).flatMap((entry) => (entry.kind === 'wait' ? entry.calls : []));
    return calls.length === 2 && calls;
  });
  const inputs = waits.map(({ asked }) => JSON.stringify(asked?.input));
  const [ended, other] = inputs[0]?.includes('a.txt') ? waits : waits.toReversed();
  await clientOf(h).cancel(ended!.thread as never, { by: 'ann' });
  await until(async () =>
    (await told(h, session, 3)).some((entry) => entry.kind === 'settled' && entry.thread === ended!.thread),
  );
  expect(await session.memo()).toMatchObject({ waits: 1 });
  await clientOf(h).approve(other!.thread as never, other!.call, { by: 'ann' });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const settled = toldIn(await session.entries()).filter((entry) => entry.kind === 'settled');
  expect(settled.map(({ thread, how }) => [thread, how])).toEqual([
    [ended!.thread, 'expired'],
    [other!.thread, 'allow'],
  ]);
});
