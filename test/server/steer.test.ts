// A session steered by the client while it runs: more for the run under way, options for the next
// one, waits that end early (Q10).
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Entry } from '../../store/log/entries.ts';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { clientOf, harness } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';

const look = toolUse('glob', { pattern: '*' });

test('a run under way gets more turns, tokens and time, and goes on past its old limits (Q10 L45 L51)', async () => {
  const held = gate();
  const h = await harness({
    script: [reply([look], { hold: held.hold, holdAfterEvent: 1 }), reply([look]), reply('Done.')],
  });
  const sessions = clientOf(h);
  const session = await h.open('Look.', { maxTurns: 1, maxTokens: 1, timeoutMs: 3_600_000 });
  await until(() => h.bodies().length === 1);
  await expect(sessions.topUp(session.id, { maxTurns: 1 })).rejects.toThrow(
    "the run's limit of turns is 1 already: give more than that",
  );
  await expect(sessions.topUp(session.id, { maxBudgetUsd: 5 })).rejects.toThrow('has no limit of US dollars');
  await sessions.topUp(session.id, { maxTurns: 3, maxTokens: 1_000_000, timeoutMs: 7_200_000 });
  held.release();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 3 });
  await keepHistory('a run that was given more while it ran', session.handle);
  await expect(sessions.topUp(session.id, { maxTurns: 9 })).rejects.toMatchObject({ kind: 'refused' });
});

test('a run under way is given limits that it did not have and lower ones, which end it (Q10 L45 L51)', async () => {
  const [first, second] = [gate(), gate()];
  const h = await harness({
    script: [
      reply([look], { hold: first.hold, holdAfterEvent: 1 }),
      reply([look], { hold: second.hold, holdAfterEvent: 1 }),
      reply('Too late.'),
    ],
  });
  const sessions = clientOf(h);
  const session = await h.open('Look.', { maxTurns: 9 });
  await until(() => h.bodies().length === 1);
  await sessions.topUp(session.id, { maxBudgetUsd: 5, maxTokens: 1_000_000, timeoutMs: 3_600_000, exact: true });
  first.release();
  await until(() => h.bodies().length === 2);
  await sessions.topUp(session.id, { maxTokens: 1, exact: true });
  second.release();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'budget_exceeded', limitTokens: 1 } });
  expect(JSON.stringify(await session.entries())).toContain('"action":"setLimits"');
  await keepHistory('a run whose limits were set and lowered', session.handle);
});

test('a run is given rules while it is under way: they allow at once, and can be taken back (Q10 L55)', async () => {
  const call = (nth: number) => reply([toolUse('bash', { command: `touch made-${nth}` })]);
  const h = await harness({
    script: [call(1), call(2), call(3), reply('Done.')],
    handover: { events: 10_000, signals: 10_000, iterations: 1 },
  });
  const sessions = clientOf(h);
  const session = await h.open('Make.', { permissionMode: 'default' });
  const waits = (name: string) => until(async () => (await sessions.approvals(session.id))[0]?.call === name);
  await waits('1.1.0');
  await expect(sessions.changeRules(session.id, { allow: ['bash(('] })).rejects.toThrow('cannot be read');
  await sessions.changeRules(session.id, { allow: ['bash(touch made-2)'] });
  await sessions.approve(session.id, '1.1.0');
  await waits('1.3.0');
  await sessions.changeRules(session.id, { allow: ['bash'], lasts: 'session' });
  await sessions.changeRules(session.id, { drop: ['bash'], lasts: 'session' });
  await sessions.approve(session.id, '1.3.0');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  await keepHistory('a run that was given rules while it ran', session.handle);
});

test('what a run was given survives a handover (Q10 L4)', async () => {
  const held = gate();
  const h = await harness({
    script: [reply([look], { hold: held.hold, holdAfterEvent: 1 }), reply([look]), reply('Done.')],
    handover: { events: 10_000, signals: 10_000, iterations: 1 },
  });
  const session = await h.open('Look.', { maxTurns: 1 });
  await until(() => h.bodies().length === 1);
  await clientOf(h).topUp(session.id, { maxTurns: 3 });
  held.release();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 3 });
});

test('options that are set hold from the next run on, and bad ones are refused at once (Q10 L57)', async () => {
  const held = gate();
  const h = await harness({
    script: [reply('One.', { hold: held.hold, holdAfterEvent: 1 }), reply('Two.')],
  });
  const sessions = clientOf(h);
  const session = await h.open('Talk.', { model: 'claude-sonnet-5' });
  await until(() => h.bodies().length === 1);
  await sessions.setOptions(session.id, { model: 'claude-opus-5', systemPrompt: 'Be brief.' });
  await expect(sessions.setOptions(session.id, { maxTurns: 0 })).rejects.toMatchObject({ kind: 'refused' });
  held.release();
  await session.ended(1);
  await session.send('Again.');
  await session.ended(2);
  expect(h.bodies().map(({ model }) => model)).toEqual(['claude-sonnet-5', 'claude-opus-5']);
  expect(JSON.stringify(h.bodies()[1]?.messages)).toContain('Be brief.');
  await keepHistory('options set for the next run', session.handle);
});

const steeredIn = (entries: readonly Entry[]) =>
  entries.flatMap((entry) => (entry.kind === 'steered' ? [entry.steered] : []));

test('the transcript has who did what to a session, over handovers and to its end, and no model reads it (O12 L4)', async () => {
  const [first, second] = [gate(), gate()];
  const h = await harness({
    script: [reply([look], { hold: first.hold, holdAfterEvent: 1 }), reply('Done.', { hold: second.hold })],
    handover: { events: 10_000, signals: 10_000, iterations: 1 },
  });
  const sessions = clientOf(h);
  const session = await h.open('Look.', { maxTurns: 5 }, { by: 'eve@example' });
  await until(() => h.bodies().length === 1);
  await sessions.topUp(session.id, { maxTurns: 9 }, { by: 'ana@example' });
  await sessions.setOptions(session.id, { permissionMode: 'plan', toolEnv: { A: 'secret' } }, { by: 'ben@example' });
  first.release();
  await until(() => h.bodies().length === 2);
  await sessions.interrupt(session.id, { by: 'cyn@example' });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_streaming' } });
  second.release();
  // It changes nothing, and is not told.
  await sessions.interrupt(session.id, { by: 'nobody' });
  await sessions.cancel(session.id, { by: 'dee@example' });
  await until(async () => (await session.memo())?.phase === 'closed');
  const entries = await session.entries();
  const at = expect.any(Number);
  expect(steeredIn(entries)).toEqual([
    { action: 'topUp', limits: { maxTurns: 9 }, by: 'ana@example', at },
    { action: 'setOptions', changes: { permissionMode: 'plan' }, untold: ['toolEnv'], by: 'ben@example', at },
    { action: 'interrupt', by: 'cyn@example', at },
    { action: 'cancel', by: 'dee@example', at },
  ]);
  // The first two went with the results of the call, not with the end of the run.
  const kinds = entries.map(({ kind }) => kind);
  expect(kinds.indexOf('steered')).toBeLessThan(kinds.indexOf('transition'));
  expect(kinds.slice(-2)).toEqual(['steered', 'session_closed']);
  expect(JSON.stringify(h.bodies())).not.toMatch(/@example/);
  await keepHistory('a session that was steered and cancelled by name', session.handle);
});

test('the transcript comes entry by entry, from any position, and a wait ends with its signal (Q10)', async () => {
  const h = await harness({ script: [reply([look]), reply('Done.')] });
  const sessions = clientOf(h);
  const session = await h.open('Look.');
  await session.ended(1);
  const entries: Entry[] = [];
  for await (const { position, entry } of sessions.transcript(session.id)) {
    expect(position).toBe(entries.length);
    entries.push(entry);
  }
  expect(entries).toEqual(await session.entries());
  const rest: number[] = [];
  for await (const { position } of sessions.transcript(session.id, { from: 2 })) rest.push(position);
  expect(rest[0]).toBe(2);
  expect(rest).toHaveLength(entries.length - 2);
  const gone = AbortSignal.abort(new Error('enough'));
  await expect(sessions.send(session.id, 'More.', { signal: gone })).rejects.toThrow('enough');
  await expect(sessions.describe(session.id, { signal: gone })).rejects.toThrow('enough');
  await expect(sessions.list({ signal: gone })[Symbol.asyncIterator]().next()).rejects.toThrow('enough');
});

test('a session of a queue that nobody polls waits for a worker, in its description and in lists (Q10)', async () => {
  const h = await harness({ script: [reply('Done.')] });
  const sessions = clientOf(h, `nobody-${randomUUID()}`);
  const { session } = await sessions.start('Wait.', { cwd: h.cwd });
  expect(await sessions.describe(session)).toMatchObject({ status: 'open', phase: 'waiting_worker' });
  await until(async () => {
    for await (const info of sessions.list({ open: true }))
      if (info.session === session) return info.phase === 'waiting_worker';
    return false;
  });
  await h.client.workflow.getHandle(session).terminate();
  expect(await sessions.describe(session)).toMatchObject({ status: 'terminated', phase: 'closed' });
});
