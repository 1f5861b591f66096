// A worker that is killed while a server of its own works: nothing of the server is left, and the
// call is what its recovery says (L40, L76).
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { allProcesses, wasStartedWith } from '../../system/process/proc.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { UPDATES } from '../../workflows/contract/session.ts';
import { crashHarness, decidePatiently, replays } from '../support/crash-harness.ts';
import { effectsIn, oddServer } from '../support/mcp/servers.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const processesOf = (mark: string): readonly number[] =>
  allProcesses().flatMap(({ pid }) => (wasStartedWith(pid, `TEST_MARK=${mark}`) ? [pid] : []));

test.each([
  ['runs again with the same key, for the server is trusted and says it may', true, 'answered at last', 2],
  ['is not made again, and its outcome is unknown', false, 'outcome unknown', 1],
])('a call of a server whose worker is killed %s (L40 L74 L76)', async (_, trusted, words, times) => {
  const effects = join(tempDir(), 'effects');
  const h = await crashHarness({
    script: [reply([toolUse('mcp__odd__child', {})]), reply([toolUse('mcp__odd__once', {})]), reply('Done.')],
    config: { mcpServers: { odd: oddServer({ effects }, { trusted, env: { TEST_MARK: effects } }) } },
  });
  const first = await h.worker();
  const session = await h.open('Call.');
  const calls = () => effectsIn(effects).filter(({ call }) => call === 'once');
  await until(() => calls().length === 1);
  const started = processesOf(effects);
  expect(started.length).toBeGreaterThan(1);
  await first.kill();
  await until(() => !processesOf(effects).some((pid) => started.includes(pid)));
  const second = await h.worker();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(JSON.stringify(h.bodies().at(-1)?.messages.at(-1))).toContain(words);
  expect(calls()).toHaveLength(times);
  expect(new Set(calls().map(({ key }) => key)).size).toBe(1);
  await replays(h.client, session);
  await second.drain();
  await until(() => processesOf(effects).length === 0);
});

test('a question of a server whose worker is killed is withdrawn, and its call’s outcome is unknown (L40 L77)', async () => {
  const h = await crashHarness({
    script: [reply([toolUse('mcp__odd__choose', {})]), reply('Done.')],
    config: { mcpServers: { odd: oddServer({}, { asksPeople: true }) } },
  });
  const first = await h.worker();
  const session = await h.open('Paint.');
  const { call } = await until(async () => (await session.memo())?.approvals?.[0] ?? null);
  await first.kill();
  const second = await h.worker();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(JSON.stringify(h.bodies().at(-1)?.messages.at(-1))).toContain('outcome unknown');
  expect((await session.memo())?.approvals).toBeUndefined();
  const late = { call, body: { kind: 'text', text: 'red' }, by: 'ann' };
  await expect(session.handle.executeUpdate(UPDATES.answer, { args: [late] })).rejects.toThrow();
  await replays(h.client, session);
  await second.kill();
});

test('a tool that ran again by someone’s leave asks under another name, also after a handover (L4 L40 L77)', async () => {
  const h = await crashHarness({
    script: [reply([toolUse('inquire', {})]), reply('Done.')],
    configFile: new URL('../support/crash-config.mjs', import.meta.url).href,
    handover: { events: 20, betweenRuns: 10_000, signals: 10_000 },
  });
  const first = await h.worker();
  // Not `bypass`, under which nobody is asked whether it may run again.
  const session = await h.open('Ask.', { permissionMode: 'default', permissions: { allow: ['inquire'] } });
  const asked = await until(async () => (await session.memo())?.approvals?.find(({ question }) => question) ?? null);
  const runNow = async (): Promise<string> => (await session.handle.describe()).runId;
  const begun = await runNow();
  await first.kill();
  const second = await h.worker();
  await until(async () => (await runNow()) !== begun);
  const { call, inputHash } = await until(
    async () => (await session.memo())?.approvals?.find(({ question }) => !question) ?? null,
  );
  await decidePatiently(h.client, session, 'approve', { call, inputHash });
  const again = await until(async () => (await session.memo())?.approvals?.find(({ question }) => question) ?? null);
  expect([asked.call, again.call]).toEqual(['1.1.0+q1', '1.1.0+q2']);
  const answer = (name: string, text: string) => ({ call: name, body: { kind: 'text', text }, by: 'ann' });
  await expect(session.handle.executeUpdate(UPDATES.answer, { args: [answer(asked.call, 'late')] })).rejects.toThrow();
  await decidePatiently(h.client, session, 'answer', answer(again.call, 'red'));
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(JSON.stringify(h.bodies().at(-1)?.messages.at(-1))).toContain('They say red.');
  await replays(h.client, session);
  await second.kill();
});
