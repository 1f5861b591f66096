// Going back again, after one has gone back, to an empty conversation, and looking before, on a real
// server (T6 T7 T8 T9).
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeMapFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { expect, onTestFinished, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { readLeftBehind } from '../../client/sessions/history/left-behind.ts';
import { defaultHandover, MEMO_KEY } from '../../workflows/contract/session.ts';
import type { MessageId } from '../../workflows/contract/ids.ts';
import { forkHarness } from '../support/fork-harness.ts';
import type { HarnessOptions } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';

const bash = (command: string) => toolUse('bash', { command });

/**
 * A session in a folder with the file `a`, to which each prompt appends the word that its line
 * begins with; the rest of the line is run as well.
 */
async function openAppending(lines: readonly string[], more: Partial<HarnessOptions> = {}) {
  const append = (line: string): string => line.replace(/^\w+/, 'echo $& >> a');
  const script = lines.flatMap((line, at) => [reply([bash(append(line))]), reply(`Said ${at + 1}.`)]);
  const h = await forkHarness({ script, worker: { config: { snapshots: true } }, ...more });
  writeFileSync(join(h.cwd, 'a'), 'a\n');
  const read = (folder = h.cwd): string => readFileSync(join(folder, 'a'), 'utf8').replaceAll('\n', '');
  const session = await h.open(`Prompt 1`, {}, { id: 'm-1' as MessageId });
  await session.ended(1);
  let runs = 1;
  const say = async (): Promise<void> => {
    runs += 1;
    await session.send(`Prompt ${runs}`, { id: `m-${runs}` as MessageId });
    await session.ended(runs);
  };
  return { ...h, read, session, say };
}

test('files go back again after files, and after the conversation alone, for the session knows what it did (T7)', async () => {
  const { sessions, session, say, read } = await openAppending(['1', '2', '3', '4']);
  await say();
  await say();
  expect(read()).toBe('a123');
  await sessions.rewind(session.id, { to: 'm-3', conversation: false });
  await sessions.rewind(session.id, { to: 'm-2', conversation: false });
  expect(read()).toBe('a1');
  await sessions.undoRewind(session.id);
  await say();
  expect(read()).toBe('a124');
  await sessions.rewind(session.id, { files: false });
  await sessions.rewind(session.id, { to: 'm-2' });
  expect(read()).toBe('a1');
});

test('a fork and a comparison after files went back have them as they are now (T10 T11)', async () => {
  const { sessions, session, say, read, fork, checkedOut, cwd } = await openAppending(['1', '2']);
  await say();
  await sessions.rewind(session.id, { to: 'm-2', conversation: false });
  const forked = await fork(session.id, { files: `${cwd}-fork` });
  await checkedOut(forked.session);
  expect(read(forked.cwd)).toBe('a1');
  const diff = (id: string) => sessions.diff(id, { stat: true });
  for (const id of [session.id, forked.session])
    expect((await diff(id)).files).toMatchObject([{ path: 'a', insertions: 1, deletions: 0 }]);
  // At the rewind, too, and not as a later prompt finds them.
  const at = (await session.entries()).findIndex(({ kind }) => kind === 'steered');
  expect((await sessions.diff(session.id, { to: at, stat: true })).files).toMatchObject([{ insertions: 1 }]);
});

test('an undo after the session went on leaves what it did since behind, and an undo of that brings it back (T7)', async () => {
  const { sessions, session, say, read } = await openAppending(['1', '2', '3']);
  await say();
  await sessions.rewind(session.id);
  await say();
  expect(read()).toBe('a13');
  expect(await sessions.undoRewind(session.id)).toMatchObject({ turns: 2 });
  expect(read()).toBe('a12');
  const asked = async () => (await session.entries()).flatMap((entry) => (entry.kind === 'user' ? [entry.id] : []));
  expect(await asked()).toEqual(['m-1', 'm-2']);
  await sessions.undoRewind(session.id);
  expect([read(), await asked()]).toEqual(['a13', ['m-1', 'm-3']]);
});

test('a session that continues as new at rest is at rest from its first moment, and goes back at once again (T9 L4)', async () => {
  const h = await openAppending(['1'], { handover: { ...defaultHandover, betweenRuns: 10 } });
  const { sessions, session, read, client } = h;
  const started = await until(async () => {
    const [first] = (await client.workflow.getHandle(session.id).fetchHistory()).events ?? [];
    const { continuedExecutionRunId, memo } = first?.workflowExecutionStartedEventAttributes ?? {};
    return continuedExecutionRunId ? (memo ?? {}) : null;
  });
  // This is the memo before the first task of the new run.
  const fields = await decodeMapFromPayloads(client.options.loadedDataConverter, started.fields);
  expect(fields?.[MEMO_KEY]).toMatchObject({ phase: 'idle', runs: 1 });
  await sessions.rewind(session.id);
  await sessions.undoRewind(session.id);
  await sessions.undoRewind(session.id);
  expect(read()).toBe('a');
});

test('a session of one prompt goes back to an empty conversation and its first snapshot, over handovers (T6 T9)', async () => {
  const handover = { ...defaultHandover, signals: 1 };
  const h = await openAppending(['1', '2'], { handover });
  const { sessions, session, say, read } = h;
  const runId = async () => (await h.client.workflow.getHandle(session.id).describe()).runId;
  const idle = () => until(async () => ((await sessions.describe(session.id)).phase === 'idle' ? true : null));
  await idle();
  const before = await runId();
  const dry = await sessions.rewind(session.id, { dryRun: true });
  expect(dry).toMatchObject({ position: 0, turns: 2, rewind: { to: null }, files: [{ path: 'a' }] });
  const going = sessions.rewind(session.id);
  // A handover is due with the first signal, and comes when the session has gone back.
  await until(async () => (read() === 'a' ? true : null));
  await h.client.workflow.getHandle(session.id).signal('resume');
  const { rewound } = await going;
  expect(rewound).toMatchObject({ to: null, files: [{ root: h.cwd, files: 1 }] });
  expect(read()).toBe('a');
  await until(async () => ((await runId()) === before ? null : true));
  await idle();
  expect(await session.entries()).toMatchObject([{ kind: 'steered', steered: { action: 'rewind' } }]);
  const left = await readLeftBehind({ temporal: { client: h.client }, store: h.store }, session.id);
  expect(JSON.stringify([...left.values()])).toContain('Said 1.');
  await expect(sessions.rewind(session.id)).rejects.toThrow(
    'This session has no prompts, so there is nothing to rewind',
  );

  await say();
  expect(read()).toBe('a2');
  expect(h.sent()).toContain('Prompt 2');
  expect(h.sent()).not.toContain('Prompt 1');
  const described = await sessions.describe(session.id);
  expect(described).toMatchObject({ title: 'Prompt 1', runs: 2 });
  await h.sound(session.id);
  expect(await sessions.undoRewind(session.id)).toMatchObject({ turns: 2 });
  expect(read()).toBe('a1');
  expect(JSON.stringify(await session.entries())).toContain('Prompt 1');
  await idle();
  await h.sound(session.id);
});

test('a question aside after a session went back to its beginning says that nothing was answered yet (T6)', async () => {
  const { sessions, session } = await openAppending(['1']);
  await sessions.rewind(session.id);
  await expect(sessions.askAside(session.id, 'What was it?')).rejects.toThrow('the model has not answered yet');
  await keepHistory('a session that went back to an empty conversation', session.handle);
});

test('a fork before the first prompt begins with nothing but the first files (T10)', async () => {
  const h = await openAppending(['1', '2']);
  const forked = await h.fork(h.session.id, { at: 0, prompt: 'Anew.' });
  await h.endedRun(forked.session, 1);
  expect(h.read(forked.cwd)).toBe('a2');
  expect(h.sent()).not.toContain('Prompt 1');
  expect(await h.sessions.describe(forked.session)).toMatchObject({ runs: 1, forkedFrom: { position: 0 } });
  await h.sound(forked.session);
  await expect(h.sessions.rewind(forked.session, { to: 0 })).rejects.toThrow('The fork begins after that point');
});

test('a fork into a folder that is not empty is refused at once, and begins nothing (T10)', async () => {
  const h = await openAppending(['1']);
  const files = `${h.cwd}-filled`;
  mkdirSync(files);
  writeFileSync(join(files, 'mine'), '');
  await expect(h.sessions.fork(h.session.id, { files, newId: 's-refused' })).rejects.toThrow(
    `${files} already exists and isn't empty. Choose another folder.`,
  );
  await expect(h.sessions.describe('s-refused')).rejects.toThrow('no session');
});

test('a dry run says what would stop it, marks files that no call names, and leaves nothing behind (T7 T8)', async () => {
  const h = await openAppending(['1', '2; for n in 1 2 3; do echo $n > "file-$n"; done']);
  const { sessions, session, say, read } = h;
  await say();
  const entries = (await session.entries()).length;
  const asked = { dryRun: true } as const;
  expect(await sessions.rewind(session.id, asked)).toMatchObject({
    problems: [],
    notLooked: null,
    moreFiles: 0,
    files: [
      { path: 'a', kind: 'changed', insertions: 0, deletions: 1 },
      { path: 'file-1', kind: 'deleted', unnamed: true },
      { path: 'file-2', unnamed: true },
      { path: 'file-3', unnamed: true },
    ],
    effects: [{ name: 'bash', filesGoBack: true }],
  });
  writeFileSync(join(h.cwd, 'a'), 'mine\n');
  const looked = await sessions.rewind(session.id, asked);
  expect(looked.problems).toEqual(['a was changed by someone else since the last step: use force to overwrite it']);
  expect(looked.files).toMatchObject([{ path: 'a', insertions: 2, deletions: 1 }, {}, {}, {}]);
  expect(await sessions.rewind(session.id, { ...asked, force: true })).toMatchObject({ problems: [] });
  // What snapshots tell knows nothing of that.
  const told = await sessions.rewind(session.id, { dryRun: 'snapshots' });
  expect(told.files).toMatchObject([{ path: 'a', insertions: 0, deletions: 1 }, {}, {}, {}]);
  expect([read(), (await session.entries()).length]).toEqual(['mine', entries]);
  await keepHistory('a rewind that was looked at first', session.handle);
});

test('a dry run while the session works says so, and tells what snapshots know (T7)', async () => {
  const h = await openAppending(['1', '2; until [ -e go ]; do sleep 0.05; done']);
  await h.session.send('Prompt 2', { id: 'm-2' as MessageId });
  await until(async () => (h.read() === 'a12' ? true : null));
  expect(await h.sessions.rewind(h.session.id, { to: 'm-1', dryRun: true })).toMatchObject({
    notLooked: 'the session is not idle',
    files: [{ path: 'a', deletions: 1 }],
  });
  writeFileSync(join(h.cwd, 'go'), '');
  await h.session.ended(2);
});

test('programs that have files open are named, and one that writes stops a rewind unless it is forced (T7)', async () => {
  const h = await openAppending(['1; echo "*-wal" > .gitignore; echo one > data.db', '2; echo two > data.db']);
  const { sessions, session, say } = h;
  await say();
  /** Opens a file of the folder for as long as the test goes on. */
  const hold = async (script: string) => {
    const holder = spawn('sh', ['-c', script], { cwd: '/', stdio: ['ignore', 'pipe', 'ignore'] });
    onTestFinished(() => void holder.kill('SIGKILL'));
    await new Promise((resolve) => holder.stdout.once('data', resolve));
    return holder;
  };
  const reader = await hold(`exec 3<'${join(h.cwd, 'data.db')}'; echo; exec sleep 600`);
  const named = `sleep (pid ${reader.pid}) has data.db open`;
  expect(await sessions.rewind(session.id, { dryRun: true })).toMatchObject({ problems: [], inUse: [named] });
  writeFileSync(join(h.cwd, 'data.db-wal'), '');
  const writer = await hold(`exec 3>>'${join(h.cwd, 'data.db-wal')}'; echo; exec sleep 600`);
  const writes = `sleep (pid ${writer.pid}) has data.db-wal open for writing`;
  const problem = `${writes}: stop it first, or use force to go back all the same`;
  const looked = await sessions.rewind(session.id, { dryRun: true });
  expect([looked.problems, looked.inUse.toSorted()]).toEqual([[problem], [named, writes].toSorted()]);
  await expect(sessions.rewind(session.id)).rejects.toThrow(problem);
  expect(readFileSync(join(h.cwd, 'data.db'), 'utf8')).toBe('two\n');
  const { rewound, inUse } = await sessions.rewind(session.id, { force: true });
  expect(inUse.toSorted()).toEqual([named, writes].toSorted());
  expect(rewound?.files?.[0]?.inUse?.toSorted()).toEqual([named, writes].toSorted());
  expect(readFileSync(join(h.cwd, 'data.db'), 'utf8')).toBe('one\n');
});

test('a command of the session that goes on in the background is named before its files go back (T7 L84)', async () => {
  const h = await forkHarness({
    script: [
      reply([toolUse('bash', { command: 'exec sleep 600', background: true })]),
      reply('Begun.'),
      reply([bash('echo x > a')]),
      reply('Written.'),
    ],
    worker: { config: { snapshots: true } },
  });
  const session = await h.open('Go.');
  await session.ended(1);
  await session.send('Write.');
  await session.ended(2);
  const { inUse } = await h.sessions.rewind(session.id, { dryRun: true });
  expect(inUse).toEqual(['the background command `exec sleep 600` is still running']);
  await h.sessions.rewind(session.id);
  expect(existsSync(join(h.cwd, 'a'))).toBe(false);
});
