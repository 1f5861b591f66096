// Work trees of agents (L72) in repositories and folders that are not as most are.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { git, initRepository, writeFiles } from '../../support/repository.ts';
import { BRANCH, files, place } from './workplace.ts';

test('files are there as they are stored, and one with CRLF that nothing changed is no change (L72)', async () => {
  const p = place();
  initRepository(p.workspace, { 'a.txt': 'one\r\ntwo\r\n', 'b.bat': 'b\n', 'c.txt': '$Id$\n' });
  writeFiles(p.workspace, { '.gitattributes': '*.txt text ident\n*.bat text eol=crlf\n' });
  git(p.workspace, 'add', '.gitattributes');
  git(p.workspace, 'commit', '--quiet', '--message', 'Attributes');
  const tree = await p.open();
  expect(['a.txt', 'b.bat', 'c.txt'].map((name) => readFileSync(join(tree, name), 'utf8'))).toEqual([
    'one\r\ntwo\r\n',
    'b\n',
    '$Id$\n',
  ]);
  // Git looks into what has another time.
  for (const name of ['a.txt', 'b.bat', 'c.txt']) utimesSync(join(tree, name), 1, 1);
  expect(await p.end()).toEqual({ kind: 'unchanged' });
});

test('a change to a file with CRLF is that change alone (L72)', async () => {
  const p = place();
  initRepository(p.workspace, { 'a.txt': 'one\r\ntwo\r\n', 'b.txt': 'b\r\n' });
  writeFiles(p.workspace, { '.gitattributes': '* text\n' });
  git(p.workspace, 'add', '.gitattributes');
  git(p.workspace, 'commit', '--quiet', '--message', 'Attributes');
  writeFiles(await p.open(), { 'a.txt': 'one\r\n2\r\n' });
  expect(await p.end()).toMatchObject({ kind: 'committed', files: 1, insertions: 1, deletions: 1 });
});

test('a branch that cannot be removed, or that somebody has moved, is told as one that stays (L72)', async () => {
  const p = place();
  initRepository(p.workspace, files);
  await p.open();
  writeFileSync(join(p.workspace, '.git', 'packed-refs.lock'), '');
  expect(await p.end()).toEqual({ kind: 'unchanged', branch: BRANCH });
  expect(git(p.workspace, 'branch', '--list', '--format=%(refname:short)', 'perdure/*')).toBe(BRANCH);
  const q = place();
  initRepository(q.workspace, files);
  const tree = await q.open();
  rmSync(tree, { recursive: true });
  git(q.workspace, 'commit', '--quiet', '--allow-empty', '--message', 'Second');
  git(q.workspace, 'update-ref', `refs/heads/${BRANCH}`, 'main');
  expect(await q.end()).toEqual({ kind: 'gone', path: tree, branch: BRANCH });
});

test('a link in the place of a work tree is removed, and what it leads to stays as it is (L72)', async () => {
  const p = place();
  initRepository(p.workspace, files);
  const tree = await p.open();
  const other = join(p.workspace, '.git', 'other');
  mkdirSync(other);
  chmodSync(other, 0o500);
  rmSync(tree, { recursive: true });
  symlinkSync(other, tree);
  expect(await p.end()).toEqual({ kind: 'gone', path: tree });
  expect(statSync(other).mode & 0o777).toBe(0o500);
  expect(p.left()).toEqual([]);
});

test('a data folder in the repository would have its work trees in it: none is made (L72)', async () => {
  const p = place({ data: 'workspace/data' });
  initRepository(p.workspace, files);
  expect(await p.open(join(p.workspace, 'lib'))).toMatch(
    /data-worktrees, where its work trees would lie, is in it: have/,
  );
  expect(existsSync(join(p.workspace, 'data-worktrees'))).toBe(false);
  const other = join(p.root, 'other');
  git(p.workspace, 'worktree', 'add', '--quiet', other);
  expect(await p.open(other)).toContain('where its work trees would lie, is in it');
});
