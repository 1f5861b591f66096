// Workers killed under a session and its agents: what was begun goes on once, and what it took is
// counted once.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { agentsEnded, entriesOf, usageOf } from '../support/agents.ts';
import { agentCall, byTurn, promptOf } from '../support/by-prompt.ts';
import { crashHarness, decidePatiently, replays } from '../support/crash-harness.ts';
import { git, initRepository } from '../support/repository.ts';
import { until } from '../support/until.ts';

test('agents and their agents go on after a kill, are started once, and are counted once (L40 L63 L66 L69)', async () => {
  const effect = (name: string) => toolUse('bash', { command: `echo ${name} >> effects.log` });
  // What the first kill must not meet.
  const { hold, release } = gate();
  const h = await crashHarness({
    script: byTurn({
      'Go.': [reply([agentCall('A.'), agentCall('B.'), effect('after')]), reply('Done.')],
      'A.': [reply([effect('a')]), reply([agentCall('C.')]), reply('A is done.')],
      'B.': [reply([effect('b')]), reply('B is done.')],
      'C.': [reply([effect('c')], { hold }), reply('C is done.')],
    }),
  });
  const first = await h.worker();
  const session = await h.open('Go.');
  const watching = h.follow(session);
  await until(() => ['a', 'b'].every((name) => h.effects().includes(name)));
  await first.kill();
  release();
  const second = await h.worker();
  await until(() => h.effects().includes('c'));
  await second.kill();
  const third = await h.worker();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
  // A call that the kill met before its effect is told as unknown, and is not made again.
  const effects = h.effects().toSorted();
  expect(effects.filter((name) => name !== 'after')).toEqual(['a', 'b', 'c']);
  expect(new Set(effects).size).toBe(effects.length);
  const asked = new Set(h.bodies().map(promptOf));
  expect([...asked].toSorted()).toEqual(['A.', 'B.', 'C.', 'Go.']);
  const entries = await session.entries();
  const ended = entries.findLast((entry) => entry.kind === 'run_ended');
  const agents = ended?.kind === 'run_ended' ? (ended.ended.agents ?? []) : [];
  expect(agents.map(({ title }) => title).toSorted()).toEqual(['Title of A.', 'Title of B.']);
  await watching.converges();
  await replays(h.client, session);
  await third.kill();
});

test('a call of an agent that waits for a person is decided at the root after a kill (L55 L70)', async () => {
  const h = await crashHarness({
    script: byTurn({
      'Go.': [reply([agentCall('A.')]), reply('Done.')],
      'A.': [reply([toolUse('bash', { command: 'echo a >> effects.log' })]), reply('A is done.')],
    }),
  });
  const first = await h.worker();
  const session = await h.open('Go.', { permissionMode: 'default' });
  const asked = await until(async () => (await session.memo())?.approvals?.[0] ?? null);
  await first.kill();
  const second = await h.worker();
  const { agent, inputHash } = asked;
  await decidePatiently(h.client, { ...session, handle: h.client.workflow.getHandle(agent!.session) }, 'approve', {
    call: agent!.call,
    inputHash,
  });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(h.effects()).toEqual(['a']);
  expect((await session.memo())?.approvals).toBeUndefined();
  await replays(h.client, session);
  await second.kill();
});

test('an agent in the background goes on after kills, and its end opens one run and counts once (L40 L63 L69 L71)', async () => {
  const effect = (name: string) => toolUse('bash', { command: `echo ${name} >> effects.log` });
  const { hold, release } = gate();
  const h = await crashHarness({
    script: byTurn({
      'Go.': [reply([agentCall('A.', { background: true })]), reply('It works.'), reply('A is done, too.')],
      'A.': [reply([effect('a')]), reply([effect('b')], { hold }), reply('A is done.')],
    }),
  });
  const first = await h.worker();
  const session = await h.open('Go.');
  await until(() => h.effects().includes('a'));
  await first.kill();
  release();
  const second = await h.worker();
  await until(() => h.effects().includes('b'));
  await second.kill();
  const third = await h.worker();
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' }, messages: [] });
  expect(h.effects()).toEqual(['a', 'b']);
  const entries = await session.entries();
  expect(entries.filter((entry) => entry.kind === 'notice' && entry.notice.kind === 'attachment')).toHaveLength(1);
  const [agent] = await agentsEnded(h, session.id, 1);
  const total = usageOf(entries) + usageOf(await entriesOf(h, agent!));
  expect((await session.memo())?.facts?.tokens).toBe(total);
  expect((await session.memo())?.last?.run).toBe(2);
  await replays(h.client, session);
  await third.kill();
});

test('an agent in a work tree goes on after kills, and what it changed is committed once (L40 L72)', async () => {
  const script = byTurn({
    'Go.': [reply([agentCall('A.', { isolation: 'worktree' })]), reply('Done.')],
    'A.': [
      reply([toolUse('bash', { command: 'echo a >> a.txt' })]),
      reply([toolUse('bash', { command: 'echo b >> b.txt' })]),
      reply('A is done.'),
    ],
  });
  const h = await crashHarness({ script });
  initRepository(h.cwd, { 'first.txt': 'first\n' });
  const trees = join(h.cwd, '..', 'data-worktrees');
  const written = (name: string): boolean =>
    existsSync(trees) && readdirSync(trees).some((agent) => existsSync(join(trees, agent, agent, name)));
  const commits = (): number => Number(git(h.cwd, 'rev-list', '--count', '--branches=perdure/*', '--not', 'main'));
  const first = await h.worker();
  const session = await h.open('Go.');
  await until(() => written('first.txt'));
  await first.kill();
  const second = await h.worker();
  await until(() => written('b.txt'));
  await second.kill();
  const third = await h.worker();
  await until(() => commits() > 0);
  await third.kill();
  const fourth = await h.worker();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
  const outcomes = (await session.entries()).flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
  expect(outcomes[0]!.content).toMatch(
    /^A is done\.\n\nIts changes are on branch (\S+), and are not merged: 2 files changed/,
  );
  expect(commits()).toBe(1);
  expect(git(h.cwd, 'worktree', 'list').split('\n')).toHaveLength(1);
  expect(readdirSync(trees)).toEqual([]);
  await replays(h.client, session);
  await fourth.kill();
});
