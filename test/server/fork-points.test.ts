// Forks and rewinds at points where something waits, or is at work beside the loop (T6 T10).
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { gate, reply, toolUse, type ParsedRequest } from '../../scripted-model/index.ts';
import { UPDATES } from '../../workflows/contract/session.ts';
import { agentsEnded, agentsOf, entriesOf, usageOf } from '../support/agents.ts';
import { agentCall, promptOf } from '../support/by-prompt.ts';
import { forkHarness } from '../support/fork-harness.ts';
import { until } from '../support/until.ts';

const bash = (command: string, more: object = {}) => toolUse('bash', { command, ...more });
const saidTo = ({ messages }: ParsedRequest): string => JSON.stringify(messages);
const NOT_RUN = 'Not run: the session was forked before it ran';

test('a call that waits for a person is not run in the fork, which asks nobody, and still waits in its origin (T10 L55)', async () => {
  const h = await forkHarness({
    script: (request) => {
      const said = saidTo(request);
      if (said.includes('Another way.')) return reply('Forked.');
      return said.includes('tool_result') ? reply('Done.') : reply([bash('echo ran >> ran')]);
    },
  });
  const origin = await h.open('Go.', { permissionMode: 'default' });
  const [approval] = await until(async () => {
    const { phase, approvals } = (await origin.memo()) ?? {};
    return phase === 'waiting_approval' && approvals?.length === 1 ? approvals : null;
  });
  const forked = await h.fork(origin.id, { prompt: 'Another way.' });
  await h.endedRun(forked.session, 2);
  expect(h.sent()).toContain(NOT_RUN);
  expect((await h.sessions.describe(forked.session)).approvals ?? []).toEqual([]);
  expect((await origin.memo())?.phase).toBe('waiting_approval');
  const { call, inputHash } = approval!;
  const allow = (id: string) =>
    h.client.workflow.getHandle(id).executeUpdate(UPDATES.approve, { args: [{ call, inputHash }] });
  await expect(allow(forked.session)).rejects.toThrow();
  await allow(origin.id);
  expect(await origin.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(readFileSync(join(h.cwd, 'ran'), 'utf8')).toBe('ran\n');
  await h.sound(forked.session);
});

test('agents at work stay with the origin: the fork has neither their answers nor their costs (T10 L66 L69)', async () => {
  const held = gate();
  const h = await forkHarness({
    script: (request) => {
      const prompt = promptOf(request);
      if (prompt !== 'Go.') return reply(`${prompt} Found.`, { hold: held.hold });
      const said = saidTo(request);
      if (said.includes('Another way.')) return reply('Forked.');
      if (said.includes('works in the background'))
        return said.includes('Found.') ? reply('All.') : reply([agentCall('B.')]);
      return reply([agentCall('A.', { background: true })]);
    },
  });
  onTestFinished(held.release);
  const origin = await h.open('Go.', { maxTokens: 1_000_000 });
  await until(async () => (h.bodies().some((body) => promptOf(body) === 'B.') ? true : null));
  const forked = await h.fork(origin.id, { prompt: 'Another way.' });
  await h.endedRun(forked.session, 2);
  expect(h.sent()).toContain(NOT_RUN);
  expect(h.sent()).toContain('belong to the other session: you cannot reach them');
  held.release();
  expect(await origin.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const agents = await agentsEnded(h, origin.id, 2);
  expect(agents).toHaveLength(2);
  expect(await agentsOf(h, forked.session)).toEqual([]);
  expect((await h.sessions.describe(forked.session)).runs).toBe(2);
  expect(JSON.stringify(await h.entriesOf(forked.session))).not.toContain('Found.');
  await h.sound(forked.session);
});

test('a command in the background writes to the folder of the origin alone, and the fork cannot reach it (T10 L84)', async () => {
  const h = await forkHarness({
    script: (request) => {
      const said = saidTo(request);
      const id = /as (bg-[0-9a-f]{8})/.exec(said)?.[1] ?? '';
      if (said.includes('Another way.'))
        return said.includes('There is no command') ? reply('Forked.') : reply([toolUse('bash_output', { id })]);
      if (id !== '') return reply('It runs.');
      return reply([
        bash('echo a > a; while [ ! -e go ]; do sleep 0.05; done; echo late > late', { background: true }),
      ]);
    },
    worker: { config: { snapshots: true } },
  });
  const origin = await h.open('Go.');
  await origin.ended(1);
  await until(() => existsSync(join(h.cwd, 'a')) || null);
  const forked = await h.fork(origin.id, { prompt: 'Another way.' });
  await h.endedRun(forked.session, 2);
  expect(h.sent()).toContain('belong to the other session: you cannot reach them');
  expect(forked.cwd).not.toBe(h.cwd);
  writeFileSync(join(h.cwd, 'go'), '');
  await until(() => existsSync(join(h.cwd, 'late')) || null);
  expect(existsSync(join(forked.cwd, 'late'))).toBe(false);
  await h.sound(forked.session);
});

test('a command in the background outlives a rewind to before it, and the model is told how it ended (T6 T8 L84)', async () => {
  const h = await forkHarness({
    script: (request) => {
      const said = saidTo(request);
      if (said.includes('And now?')) return reply('I see.');
      if (said.includes('Serve.') && !said.includes('tool_result'))
        return reply([bash('while [ ! -e go ]; do sleep 0.05; done; echo late > late', { background: true })]);
      return reply('Done.');
    },
    worker: { config: { snapshots: true } },
  });
  const session = await h.open('Go.');
  await session.ended(1);
  await session.send('Serve.');
  await session.ended(2);
  const { effects } = await h.sessions.rewind(session.id);
  expect(effects.map(({ name }) => name)).toEqual(['bash']);
  writeFileSync(join(h.cwd, 'go'), '');
  await until(() => existsSync(join(h.cwd, 'late')) || null);
  await session.send('And now?');
  expect(await session.ended(3)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(h.sent()).not.toContain('Serve.');
  expect(h.sent()).toMatch(/command bg-[0-9a-f]{8} in the background.*has ended with exit status 0/);
  await h.sound(session.id);
});

test('an agent in the background outlives a rewind to before it, and its end opens a run, which it counts in (T6 L69 L71)', async () => {
  const held = gate();
  const h = await forkHarness({
    script: (request) => {
      if (promptOf(request) === 'A.') return reply('There are three.', { hold: held.hold });
      const said = saidTo(request);
      if (said.includes('There are three.')) return reply('I see.');
      if (said.includes('Look.') && !said.includes('tool_result'))
        return reply([agentCall('A.', { background: true })]);
      return reply('Done.');
    },
  });
  onTestFinished(held.release);
  const session = await h.open('Go.', { maxTokens: 1_000_000 });
  await session.ended(1);
  await session.send('Look.');
  await session.ended(2);
  const { effects } = await h.sessions.rewind(session.id, { files: false });
  expect(effects.map(({ name }) => name)).toEqual(['agent']);
  held.release();
  expect(await session.ended(3)).toMatchObject({ terminal: { reason: 'completed' }, messages: [] });
  expect(h.sent()).not.toContain('Look.');
  expect(h.sent()).toMatch(/which worked in the background.*There are three\./);
  const [agent] = await agentsEnded(h, session.id, 1);
  const spent = usageOf(await session.entries()) + usageOf(await entriesOf(h, agent!));
  expect((await session.memo())?.facts?.tokens).toBeGreaterThanOrEqual(spent);
  await h.sound(session.id);
});

test('a call that waits is withdrawn for a rewind to before it, and a late decision is refused (T6 T9 L55)', async () => {
  const h = await forkHarness({
    script: (request) => {
      const said = saidTo(request);
      if (said.includes('Instead.'))
        return said.includes('tool_result') ? reply('Instead done.') : reply([bash('date >> ran')]);
      if (!said.includes('Second.')) return reply('First done.');
      return said.includes('tool_result')
        ? reply([bash('date >> ran')])
        : reply([toolUse('write', { path: 'made', content: 'x' })]);
    },
    worker: { config: { snapshots: true } },
  });
  const session = await h.open('Go.', { permissionMode: 'acceptEdits' });
  await session.ended(1);
  await session.send('Second.');
  const waiting = () => until(async () => (await h.sessions.approvals(session.id))[0]);
  const { call } = await waiting();
  await expect(h.sessions.rewind(session.id)).rejects.toThrow('The session is running or has messages waiting');
  expect((await h.sessions.approvals(session.id)).map((one) => one.call)).toEqual([call]);
  await h.sessions.interrupt(session.id);
  await session.ended(2);
  const refused = async (): Promise<void> => {
    expect((await h.sessions.approvals(session.id)).filter((one) => one.call === call)).toEqual([]);
    await expect(h.sessions.approve(session.id, call)).rejects.toThrow(
      `no call ${call} of session ${session.id} waits for a decision`,
    );
    expect(existsSync(join(h.cwd, 'ran'))).toBe(false);
  };
  await refused();
  await h.sessions.rewind(session.id);
  expect(existsSync(join(h.cwd, 'made'))).toBe(false);
  await refused();
  await h.sessions.undoRewind(session.id);
  expect(existsSync(join(h.cwd, 'made'))).toBe(true);
  await refused();
  await h.sessions.rewind(session.id);
  await session.send('Instead.');
  const next = await waiting();
  expect(next.call).not.toBe(call);
  await refused();
  await h.sessions.approve(session.id, next.call);
  await session.ended(3);
  expect(existsSync(join(h.cwd, 'ran'))).toBe(true);
  expect(h.sent()).not.toContain('Second.');
  await h.sound(session.id);
});
