// The files of a session, as its snapshots and its calls tell of them.
import { expect, test } from 'vitest';
import { ClientProblem } from '../../client/problem.ts';
import type { ChangedFile } from '../../client/sessions/files/diff-session.ts';
import type { FileEdit } from '../../client/sessions/history/changed-files.ts';
import type { Entry } from '../../store/log/entries.ts';
import { joinFiles } from '../../page/session/session-files.ts';
import type { CallKey } from '../../workflows/contract/ids.ts';
import { stagedPage } from '../support/page-ports.ts';
import { callBlock, outcome, outcomes, reply, runStarted, textBlock, user } from '../support/transcript.ts';

const changeOf = (path: string, kind: ChangedFile['kind'] = 'changed', root = '/work'): ChangedFile => ({
  root,
  path,
  kind,
  insertions: 2,
  deletions: 1,
});
const edit = { anchor: '1-1-0', tool: 'edit', before: 'a', after: 'b', done: true, replaced: false } satisfies FileEdit;
const counts = { files: 3, bytes: 1, added: 0, changed: 1, deleted: 0, insertions: 1, deletions: 0 };
const rootOf = (names: readonly string[], parent: string | null = 'a'.repeat(40)) => ({
  root: '/work',
  id: 'b'.repeat(40),
  parent,
  names,
  ...counts,
});

test('a file of the snapshots has the calls that asked for it, by whichever path, or the command behind it (T5 T11)', () => {
  const touched = [
    { path: '/work/a.ts', edits: [edit] },
    { path: 'a.ts', edits: [edit] },
    { path: './b.ts', edits: [edit, edit] },
    { path: '/else/where.ts', edits: [edit] },
  ];
  const captures = [
    { position: 1, at: 0, roots: [rootOf(['made.ts'], null)], calls: [] },
    { position: 4, at: 1, roots: [rootOf(['made.ts'])], calls: [{ name: 'bash', input: { command: 'make' } }] },
  ];
  const found = [
    changeOf('a.ts'),
    changeOf('b.ts'),
    changeOf('made.ts', 'added'),
    changeOf('c.ts', 'deleted', '/more'),
  ];
  const files = joinFiles('/work', { changed: touched, found, captures });
  expect(files.map(({ path, change, edits, cause }) => [path, change?.kind, edits.length, cause])).toEqual([
    ['a.ts', 'changed', 2, ''],
    ['b.ts', 'changed', 2, ''],
    ['made.ts', 'added', 0, 'bash make'],
    ['/more/c.ts', 'deleted', 0, ''],
    ['/else/where.ts', undefined, 1, ''],
  ]);
});

const entries = [
  runStarted(1),
  user('Change it.'),
  reply([callBlock('c', { path: 'c.py', old_string: 'one', new_string: 'two' }, 'edit')]),
  outcomes(outcome(0, 'edited')),
];

test('the files of a session are shown by its snapshots with a patch, and by its calls where there are none (T11)', async () => {
  const patch = 'diff --git a/made.py b/made.py\n--- a/made.py\n+++ b/made.py\n@@ -1 +1 @@\n-old <b>\n+new\n';
  const asked: unknown[] = [];
  const captured = await stagedPage({
    entries,
    ports: {
      diffOf: (_seen, _entries, options) => {
        asked.push(options);
        return Promise.resolve({ files: [changeOf('made.py')], patch: options.stat === true ? null : patch });
      },
    },
  });
  const html = await captured.text('/sessions/s-1/files');
  expect(asked).toEqual([{ stat: true }, { paths: ['/work/made.py'] }]);
  expect(html).toContain('2 files changed');
  expect(html).toMatch(/class="at">@@ -1 \+1 @@/);
  expect(html).toMatch(/class="del">- .*old.*&lt;b&gt;/);
  expect(html).not.toContain('Only changes made by calls');
  const compared = await captured.text('/compare?a=s-1&b=s-1');
  expect(compared).toMatch(/Files changed<\/td><td class="number">2<\/td>/);
  const without = await stagedPage({
    entries,
    ports: { diffOf: () => Promise.reject(new ClientProblem('refused', 'no files of session s-1 were captured')) },
  });
  const calls = await without.text('/sessions/s-1/files');
  expect(calls).toContain('1 file changed');
  expect(calls).toContain('Only changes made by calls are listed: no files of session s-1 were captured.');
});

test('a call that was not carried out is none of the changes of its file (T11)', async () => {
  const input = { path: 'c.py', old_string: 'one', new_string: 'two' };
  const calls = ['a', 'b'].map((id) => callBlock(id, input, 'edit'));
  const failed = outcome(1, 'not found', { isError: true });
  const ran = [runStarted(1), user('x'), reply(calls), outcomes(outcome(0, 'edited'), failed)];
  const refused = (): Promise<never> => Promise.reject(new ClientProblem('refused', 'none were captured'));
  const { text } = await stagedPage({ entries: ran, ports: { diffOf: refused } });
  const html = await text('/sessions/s-1/files');
  expect(html).toContain('failed or denied');
  expect(html).not.toContain('2 changes');
});

test('a step says in the transcript which call has changed files, and leads to its change alone (T5)', async () => {
  const steps = [
    runStarted(1),
    user('Make it.'),
    reply([callBlock('m', { command: 'make' }, 'bash')]),
    { kind: 'files', roots: [rootOf([], null)], at: 1 },
    outcomes(
      outcome(0, 'made', {
        log: { key: 'k' as CallKey, name: 'bash', decision: 'allowed', duration: 1, outcome: 'ok' },
      }),
    ),
    reply([textBlock('Made.')], { iteration: 2 }),
    { kind: 'files', roots: [rootOf(['made.ts'])], at: 2 },
  ] satisfies Entry[];
  const asked: unknown[] = [];
  const { text } = await stagedPage({
    entries: steps,
    ports: {
      diffOf: (_seen, given, options) => {
        expect(given).toEqual(steps);
        asked.push(options);
        return Promise.resolve({ files: [changeOf('made.ts', 'added')], patch: '' });
      },
    },
  });
  const from = steps.findIndex(({ kind }) => kind === 'files');
  const at = steps.length - 1;
  expect(await text('/sessions/s-1')).toContain(
    `<a href="/sessions/s-1/files?capture=${at}">bash make · 1 file changed (+1 −0)</a>`,
  );
  const html = await text(`/sessions/s-1/files?capture=${at}`);
  const between = { from, to: at };
  expect(asked).toEqual([
    { ...between, stat: true },
    { ...between, paths: ['/work/made.ts'] },
  ]);
  expect(html).toContain('By bash make');
  expect(html).toContain('In this step');
  expect(html).toContain(`href="/sessions/s-1/files?capture=${at}&amp;file=made.ts"`);
  expect(await text(`/sessions/s-1/files?capture=${from}`)).toContain(
    `entry ${from} is no capture of files after another`,
  );
});
