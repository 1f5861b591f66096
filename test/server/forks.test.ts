// Sessions that go on from a point of another one, on a real server (T10).
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { gate, reply, text, thinking, toolUse } from '../../scripted-model/index.ts';
import { sandboxTools } from '../../managed/work/tools.ts';
import type { MessageId } from '../../workflows/contract/ids.ts';
import { defaultHandover, type RunOptions } from '../../workflows/contract/session.ts';
import { asksForSummary } from '../support/asks-for-summary.ts';
import { continuationProblem } from '../support/continuation.ts';
import { forkHarness } from '../support/fork-harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';

const bash = (command: string) => toolUse('bash', { command });

test('a fork goes on from the whole of its origin, as a session of its own that has spent nothing (T10)', async () => {
  const h = await forkHarness({ script: [reply('First.'), reply('Forked.'), reply('Own way.')] });
  const origin = await h.open('Go.');
  await origin.ended(1);
  const forked = await h.fork(origin.id, { prompt: 'Another way.', by: 'ana' });
  expect(forked).toMatchObject({ cwd: h.cwd, files: false, forkedFrom: { session: origin.id } });
  await h.endedRun(forked.session, 2);
  expect(h.sent()).toMatch(/Go\..*First\..*Another way\./);
  await origin.send('On.');
  await origin.ended(2);
  expect(h.sent()).not.toContain('Another way.');
  const { facts, forkedFrom } = await h.sessions.describe(forked.session);
  expect(forkedFrom).toEqual(forked.forkedFrom);
  expect(facts).toMatchObject({ turns: 1 });
  const entries = await h.entriesOf(forked.session);
  expect(entries.slice(0, forked.forkedFrom.position)).toEqual(
    (await h.entriesOf(origin.id)).slice(0, forked.forkedFrom.position),
  );
  expect(entries[forked.forkedFrom.position]).toMatchObject({
    notice: { kind: 'forked', session: origin.id, by: 'ana' },
  });
  await h.sound(forked.session);
  await h.sound(origin.id);
});

test('a session whose results come from outside is not forked (T10 G53 G74)', async () => {
  const h = await forkHarness({ script: [reply('First.'), reply('Second.')] });
  const outsides: readonly Partial<RunOptions>[] = [
    { recordWaits: true, outsideTools: sandboxTools(['bash']), environment: 'env_1' },
    { recordWaits: true, outsideTools: sandboxTools(['bash']) },
  ];
  for (const options of outsides) {
    const origin = await h.open('Go.', options);
    await origin.ended(1);
    const refused = { kind: 'refused', message: expect.stringContaining('come from outside') as string };
    await expect(h.fork(origin.id, {})).rejects.toMatchObject(refused);
  }
});

test('a running session is forked as it is: open calls are answered, it goes on, and nothing runs twice (T10)', async () => {
  const h = await forkHarness({
    script: (request) => {
      const said = JSON.stringify(request.messages);
      if (said.includes('Another way.')) return reply('Forked.');
      if (said.includes('tool_result')) return reply('Origin.');
      return reply([bash('while [ ! -e go ]; do sleep 0.05; done; echo once >> ran'), bash('echo second >> ran')]);
    },
  });
  const origin = await h.open('Go.');
  await until(() => h.liveText(origin.id).includes('go ]'));
  const forked = await h.fork(origin.id, { prompt: 'Another way.' });
  await h.endedRun(forked.session, 2);
  expect(h.sent().match(/Not run: the session was forked before it ran/g)).toHaveLength(2);
  expect((await h.sessions.describe(origin.id)).phase).toBe('running');
  writeFileSync(join(h.cwd, 'go'), '');
  expect(await origin.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(readFileSync(join(h.cwd, 'ran'), 'utf8')).toBe('once\nsecond\n');
  expect(h.sent()).not.toContain('forked');
  // The run of the fork that was cut says so, and cost it nothing.
  expect(await h.sessions.result(forked.session, 1)).toMatchObject({ reason: 'aborted_tools', costUsd: 0 });
  await h.sound(forked.session);
});

test('a fork parts at an entry, an iteration or a message, also from a closed session (T10)', async () => {
  const h = await forkHarness({
    script: [
      reply([bash('echo one')]),
      reply([bash('echo two')]),
      reply('First.'),
      reply('Second.'),
      reply('At the message.'),
      reply('At the iteration.'),
    ],
  });
  const origin = await h.open('Go.');
  await origin.ended(1);
  await origin.send('Again.', { id: 'm-again' as MessageId });
  await origin.ended(2);
  await h.sessions.cancel(origin.id);
  await until(async () => (await h.sessions.describe(origin.id)).status !== 'open');
  const atMessage = await h.fork(origin.id, { at: 'm-again', prompt: 'Instead.' });
  await h.endedRun(atMessage.session, 2);
  expect(h.sent()).toMatch(/First\..*Instead\./);
  expect(h.sent()).not.toContain('Again.');
  // What the first iteration has run is there, and the reply of the second is not.
  const atIteration = await h.fork(origin.id, { at: '1.2', prompt: 'Instead.' });
  await h.endedRun(atIteration.session, 2);
  expect(h.sent()).toMatch(/echo one.*"content":"one.*Instead\./);
  expect(h.sent()).not.toContain('echo two');
  for (const { session } of [atMessage, atIteration]) await h.sound(session);
  await expect(h.fork(origin.id, { at: '7.7' })).rejects.toThrow('is not a point in this transcript');
  await expect(h.fork(origin.id, { files: join(h.cwd, '..', 'copy') })).rejects.toThrow('no files of session');
});

test('a fork of a fork shares what both have, and a rewind goes no further than its own beginning (T10)', async () => {
  const h = await forkHarness({
    script: ['First.', 'Second.', 'Third.', 'Deep.', 'Shallow.', 'Back.'].map((words) => reply(words)),
  });
  const origin = await h.open('Go.');
  await origin.ended(1);
  const one = await h.fork(origin.id, { prompt: 'One.' });
  await h.endedRun(one.session, 2);
  await h.sessions.send(one.session, 'More.');
  await h.endedRun(one.session, 3);
  const two = await h.fork(one.session, { prompt: 'Two.' });
  await h.endedRun(two.session, 4);
  expect(h.sent()).toMatch(/Go\..*One\..*More\..*Third\..*Two\./);
  // A point that the first fork has from its own origin.
  const shared = await h.fork(one.session, { at: one.forkedFrom.position, prompt: 'Shared.' });
  await h.endedRun(shared.session, 2);
  expect(h.sent()).toMatch(/Go\..*First\..*Shared\./);
  expect(h.sent()).not.toContain('One.');
  expect(shared.forkedFrom.session).toBe(one.session);
  for (const { session } of [one, two, shared]) await h.sound(session);

  await expect(h.sessions.rewind(two.session, { to: 1 })).rejects.toThrow(
    `The fork begins after that point. Fork session ${one.session} from there instead.`,
  );
  await h.sessions.rewind(two.session);
  await h.sessions.send(two.session, 'Anew.');
  await h.endedRun(two.session, 5);
  expect(h.sent()).toMatch(/More\..*Third\..*Anew\./);
  expect(h.sent()).not.toContain('Two.');
  await h.sound(two.session);
});

test('a fork has the files of its point in a folder of its own, and its changes are told from there (T10 T11)', async () => {
  const h = await forkHarness({
    script: (request) => {
      const said = JSON.stringify(request.messages);
      const results = said.match(/tool_result/g)?.length ?? 0;
      if (said.includes('Instead.')) return results === 1 ? reply([bash('echo fork > own; rm one')]) : reply('Forked.');
      if (said.includes('Again.'))
        return results === 1 ? reply([bash('echo b > one; echo x > two')]) : reply('Second.');
      return results === 0 ? reply([bash('echo a > one; chmod +x one; mkdir empty; ln -s one link')]) : reply('First.');
    },
    worker: { config: { snapshots: true } },
    handover: { ...defaultHandover, iterations: 1 },
  });
  const origin = await h.open('Go.');
  await origin.ended(1);
  await origin.send('Again.', { id: 'm-again' as MessageId });
  await origin.ended(2);
  const folder = join(dirname(h.cwd), 'copy');
  const forked = await h.fork(origin.id, { at: 'm-again', files: folder, prompt: 'Instead.' });
  expect(forked).toMatchObject({ cwd: folder, files: true });
  expect(await h.checkedOut(forked.session)).toEqual({ state: 'done', folder });
  await h.endedRun(forked.session, 2);
  expect(h.sent()).toContain(`Your files are in ${folder} now, and no longer in ${h.cwd}`);
  expect(readdirSync(folder).toSorted()).toEqual(['empty', 'link', 'own']);
  expect(readFileSync(join(h.cwd, 'one'), 'utf8')).toBe('b\n');
  expect(existsSync(join(h.cwd, 'own'))).toBe(false);
  const files = (await h.entriesOf(forked.session)).flatMap((entry) => (entry.kind === 'files' ? [entry] : []));
  expect(files.map(({ roots }) => roots[0]?.root)).toEqual([h.cwd, h.cwd, folder]);
  expect(files.at(-1)).toMatchObject({ roots: [{ added: 1, deleted: 1, names: ['one', 'own'] }] });
  await keepHistory('a fork that checked out files of its own', h.client.workflow.getHandle(forked.session));

  // A folder that the worker cannot use ends the fork before it says a word.
  const again = await h.fork(origin.id, { files: join(h.cwd, 'inside'), prompt: 'Instead.' });
  expect(await h.checkedOut(again.session)).toMatchObject({ state: 'refused', problem: /whose files it would have/ });
  await until(async () => (await h.sessions.describe(again.session)).status === 'failed');
  // Without a name it lies beside the session's own.
  const beside = await h.fork(origin.id);
  expect(beside.cwd).toBe(`${h.cwd}-${beside.session}`);
  await h.checkedOut(beside.session);
  expect(readFileSync(join(beside.cwd, 'two'), 'utf8')).toBe('x\n');
  await h.sound(forked.session);
});

test('a fork at the outcomes of calls has neither them nor the files that they left (T10 T11)', async () => {
  const h = await forkHarness({
    script: [
      reply([bash('echo a > one')]),
      reply([bash('echo b > two; echo wrote two')]),
      reply('First.'),
      reply('Forked.'),
    ],
    worker: { config: { snapshots: true } },
  });
  const origin = await h.open('Go.');
  await origin.ended(1);
  const at = (await h.entriesOf(origin.id)).findLastIndex(({ kind }) => kind === 'outcomes');
  const forked = await h.fork(origin.id, { at, prompt: 'Instead.' });
  await h.endedRun(forked.session, 2);
  expect(h.sent()).toMatch(/Not run: the session was forked before it ran.*Instead\./);
  expect(readdirSync(forked.cwd)).toEqual(['one']);
  await h.sound(forked.session);
});

test('a fork within a step has what its last calls left, tells of it at them, and so has a fork of it (T5 T10 T11)', async () => {
  const h = await forkHarness({
    script: [
      reply([bash('echo a > one')]),
      reply([bash('echo b > two; rm one')]),
      reply([bash('echo c > three')]),
      reply('First.'),
    ],
    worker: { config: { snapshots: true } },
  });
  const origin = await h.open('Go.');
  await origin.ended(1);
  // The capture of what the second call left is stored with the third reply.
  const forked = await h.fork(origin.id, { at: '1.3' });
  await h.checkedOut(forked.session);
  expect(readdirSync(forked.cwd)).toEqual(['two']);
  const diff = async (from: string | number, to?: number) =>
    (await h.sessions.diff(forked.session, { from, ...(to !== undefined && { to }) })).files.map(
      ({ kind, path }) => `${kind} ${path}`,
    );
  const at = (await h.entriesOf(forked.session)).findLastIndex(({ kind }) => kind === 'outcomes');
  expect([await diff('1.1'), await diff('1.2'), await diff('1.2', at), await diff(at)]).toEqual([
    ['added two'],
    ['deleted one', 'added two'],
    ['deleted one', 'added two'],
    [],
  ]);
  expect((await h.sessions.files(forked.session)).at(-1)).toMatchObject({
    calls: [{ input: { command: 'echo b > two; rm one' } }],
  });
  for (const [point, names] of [
    [undefined, ['two']],
    [at, ['one']],
    ['1.2', ['one']],
    ['1.1', []],
  ] as const) {
    const again = await h.fork(forked.session, { ...(point !== undefined && { at: point }) });
    await h.checkedOut(again.session);
    expect([point, existsSync(again.cwd) ? readdirSync(again.cwd) : null]).toEqual([point, names]);
    await h.sound(again.session);
  }
});

test('a fork of a fork knows its files from before the first one, in a folder of its own and in the same (T10 T11)', async () => {
  const h = await forkHarness({
    script: [reply([bash('echo a > one')]), reply([bash('echo b > two; rm one')]), reply('First.'), reply('Second.')],
    worker: { config: { snapshots: true } },
  });
  const origin = await h.open('Go.');
  await origin.ended(1);
  const first = await h.fork(origin.id);
  await h.checkedOut(first.session);
  const added = async (session: string) => (await h.sessions.diff(session)).files.map(({ path }) => path);
  for (const files of [undefined, false] as const) {
    const again = await h.fork(first.session, { at: '1.3', ...(files === false && { files, prompt: 'And?' }) });
    if (files === false) await h.endedRun(again.session, 2);
    else await h.checkedOut(again.session);
    expect([files, await added(again.session)]).toEqual([files, ['two']]);
    const roots = (await h.sessions.diff(again.session)).files.map(({ root }) => root);
    expect(roots).toEqual([again.cwd]);
    await h.sound(again.session);
  }
});

test('a fork of a running session tells of no call whose files are not captured yet (T10 T11)', async () => {
  const held = gate();
  const h = await forkHarness({
    script: (request) => {
      const said = JSON.stringify(request.messages);
      const results = said.match(/tool_result/g)?.length ?? 0;
      if (said.includes('Instead.')) return reply('Forked.');
      if (results === 0) return reply([bash('echo a > one; echo wrote one')]);
      if (results === 1) return reply([bash('echo b > two; echo wrote two')]);
      return reply('First.', { hold: held.hold });
    },
    worker: { config: { snapshots: true } },
  });
  onTestFinished(held.release);
  const origin = await h.open('Go.');
  await until(() => h.bodies().length === 3);
  const forked = await h.fork(origin.id, { prompt: 'Instead.' });
  await h.endedRun(forked.session, 2);
  expect(h.sent()).toMatch(/"content":"wrote one.*Not run: the session was forked before it ran.*Instead\./);
  expect(h.sent()).not.toContain('"content":"wrote two');
  expect(readdirSync(forked.cwd)).toEqual(['one']);
  // In the same folder it has all.
  const same = await h.fork(origin.id, { prompt: 'Instead.', files: false });
  await h.endedRun(same.session, 2);
  expect(h.sent()).toContain('"content":"wrote two');
  for (const { session } of [forked, same]) await h.sound(session);
  held.release();
  expect(await origin.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
});

test('a fork works in a git work tree on a branch of its own, and the repository stays as it was (T10)', async () => {
  const h = await forkHarness({
    script: [reply([bash('echo changed > one; echo new > two')]), reply('Done.')],
    worker: { config: { snapshots: true } },
  });
  const git = (cwd: string, ...args: readonly string[]) => {
    const env = { PATH: process.env['PATH'], HOME: cwd, GIT_CONFIG_GLOBAL: '/dev/null' };
    const { status, stdout, stderr } = spawnSync('git', args, { cwd, encoding: 'utf8', env });
    if (status !== 0) throw new Error(stderr);
    return stdout;
  };
  git(h.cwd, 'init', '-q', '-b', 'main');
  writeFileSync(join(h.cwd, 'one'), 'one\n');
  git(h.cwd, 'add', 'one');
  git(h.cwd, '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', 'one');
  const origin = await h.open('Go.');
  await origin.ended(1);
  const before = git(h.cwd, 'status', '--porcelain') + readFileSync(join(h.cwd, '.git', 'HEAD'), 'utf8');
  const forked = await h.fork(origin.id, { worktree: true });
  const branch = `perdure/${forked.session}`;
  expect(await h.checkedOut(forked.session)).toEqual({ state: 'done', folder: forked.cwd, branch });
  expect(git(forked.cwd, 'branch', '--show-current').trim()).toBe(branch);
  expect(git(forked.cwd, 'status', '--porcelain')).toBe(' M one\n?? two\n');
  expect(readFileSync(join(forked.cwd, 'two'), 'utf8')).toBe('new\n');
  expect(git(h.cwd, 'status', '--porcelain') + readFileSync(join(h.cwd, '.git', 'HEAD'), 'utf8')).toBe(before);
});

test('a fork goes on after a compaction as its origin does, and parts before it, too (T10 L10)', async () => {
  const asked = 'The secret is a teapot. '.repeat(400);
  const h = await forkHarness({
    script: (request) => reply(asksForSummary(request) ? 'SUMMARY.' : 'Yes.'),
    worker: { config: { batchSummaries: false, memory: false } },
  });
  const origin = await h.open(asked);
  await origin.ended(1);
  await origin.send('/compact', { compact: {} });
  await origin.ended(2);
  await origin.send('After.');
  await origin.ended(3);
  const forked = await h.fork(origin.id, { prompt: 'Forked.' });
  await h.endedRun(forked.session, 4);
  expect(h.sent()).toMatch(/SUMMARY\..*After\..*Yes\..*Forked\./);
  expect(h.sent()).not.toContain('teapot');
  expect(h.model.problems).toEqual([]);
  const position = (await h.entriesOf(origin.id)).findIndex(({ kind }) => kind === 'boundary');
  const earlier = await h.fork(origin.id, { at: position, prompt: 'Before it.' });
  await h.endedRun(earlier.session, 2);
  expect(h.sent()).toMatch(/teapot.*Before it\./);
  for (const { session } of [forked, earlier]) await h.sound(session);
});

test('what a model thought before the fork is sent as it was, and the prefix of the cache stays (T10 L58 L59)', async () => {
  let turn = 0;
  const h = await forkHarness({
    script: () => {
      turn += 1;
      const thought = thinking(`Thought ${turn}.`);
      return turn % 2 === 0 ? reply([thought, text('Done.')]) : reply([thought, bash(`echo ${turn}`)]);
    },
    worker: {
      config: { snapshots: true, models: { 'claude-sonnet-5-5': { window: 30_000, maxOutput: 8_000, price: null } } },
    },
  });
  const origin = await h.open('Go.', { model: 'claude-sonnet-5-5' });
  await origin.ended(1);
  const last = h.bodies().at(-1);
  const forked = await h.fork(origin.id, { prompt: 'On.' });
  await h.endedRun(forked.session, 2);
  for (const body of h.bodies().slice(-2)) expect(continuationProblem(last, body)).toBeUndefined();
  expect(h.sent()).toMatch(/Thought 1\..*Thought 2\..*Thought 3\./);
  expect(h.model.problems).toEqual([]);
  const entries = await h.entriesOf(forked.session);
  expect(entries.filter(({ kind }) => kind === 'epoch')).toHaveLength(1);
});
