// Work trees of agents (L72), with real git and each sandbox of this machine.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { memoryStore } from '../../support/memory-store.ts';
import { StoreError, type Store } from '../../../store/values/store.ts';
import { createWorktrees } from '../../../activities/worktrees/worktrees.ts';
import { fakeAttempt } from '../../support/bench-deps.ts';
import { git, initRepository, writeFiles } from '../../support/repository.ts';
import { BRANCH, files, place, sandboxes } from './workplace.ts';

test.each(sandboxes)(
  '$kind: what is changed is one commit on a branch, and the work tree is removed (L72)',
  async (sandbox) => {
    const p = place({ sandbox });
    initRepository(p.workspace, files);
    writeFiles(p.workspace, { 'a.txt': 'not committed\n' });
    const before = [git(p.workspace, 'rev-parse', 'HEAD'), git(p.workspace, 'status', '--porcelain')];
    const tree = await p.open();
    expect(readFileSync(join(tree, 'a.txt'), 'utf8')).toBe('one\ntwo\n');
    expect(git(tree, 'status', '--porcelain', '--branch')).toBe(`## ${BRANCH}`);
    writeFiles(tree, { 'a.txt': 'one\n2\n3\n', 'new.txt': 'new\n', built: 'ignored' });
    rmSync(join(tree, 'lib'), { recursive: true });
    expect(await p.end()).toEqual({ kind: 'committed', branch: BRANCH, files: 3, insertions: 3, deletions: 2 });
    expect(git(p.workspace, 'ls-tree', '-r', '--name-only', BRANCH).split('\n')).toEqual([
      '.gitignore',
      'a.txt',
      'new.txt',
    ]);
    expect(git(p.workspace, 'log', '--format=%an <%ae> %s', `main..${BRANCH}`)).toBe(
      'Perdure <perdure@localhost> Fix it',
    );
    // Nothing is merged, and nothing else is left.
    expect([git(p.workspace, 'rev-parse', 'HEAD'), git(p.workspace, 'status', '--porcelain')]).toEqual(before);
    expect(git(p.workspace, 'worktree', 'list').split('\n')).toHaveLength(1);
    expect(p.left()).toEqual([]);
  },
);

test('a work tree without a change is removed with its branch, what git ignores in it too (L72)', async () => {
  const p = place();
  initRepository(p.workspace, files);
  writeFileSync(join(await p.open(), 'built'), 'ignored');
  expect(await p.end()).toEqual({ kind: 'unchanged' });
  expect(git(p.workspace, 'branch', '--list', 'perdure/*')).toBe('');
  expect(git(p.workspace, 'worktree', 'list').split('\n')).toHaveLength(1);
  expect(p.left()).toEqual([]);
});

test('what an agent changed that did not complete is committed as well, and the message says so (L72)', async () => {
  const p = place();
  initRepository(p.workspace, files);
  writeFiles(await p.open(), { 'new.txt': 'half\n' });
  expect(await p.end('max_turns')).toMatchObject({ kind: 'committed', files: 1 });
  expect(git(p.workspace, 'log', '-1', '--format=%b', BRANCH)).toContain('did not complete its task (max_turns)');
});

test('an attempt goes on where one before it died: one work tree, one commit, one end (L40 L72)', async () => {
  const memory = memoryStore();
  let fails = true;
  const store: Store = {
    ...memory,
    create: (key, bytes) =>
      fails && key.endsWith('/ended')
        ? Promise.reject(new StoreError('unavailable', 'no space is left'))
        : memory.create(key, bytes),
  };
  const p = place({ store });
  initRepository(p.workspace, files);
  const tree = await p.open();
  // As if it had died before all was there.
  rmSync(join(dirname(tree), 'ready'));
  rmSync(join(tree, 'a.txt'));
  writeFileSync(join(dirname(tree), 'index.lock'), '');
  git(p.workspace, 'worktree', 'lock', tree);
  git(p.workspace, 'commit', '--quiet', '--allow-empty', '--message', 'Second');
  expect(await p.open()).toBe(tree);
  expect(git(tree, 'status', '--porcelain')).toBe('');
  expect(git(tree, 'log', '--format=%s')).toBe('First');
  writeFiles(tree, { 'a.txt': 'changed\n' });
  expect(await p.open()).toBe(tree);
  await expect(p.end()).rejects.toThrow('no space is left');
  fails = false;
  const ended = await p.end();
  expect(ended).toMatchObject({ kind: 'committed', files: 1 });
  expect(await p.end()).toEqual(ended);
  expect(git(p.workspace, 'rev-list', '--count', `main..${BRANCH}`)).toBe('1');
  expect(p.left()).toEqual([]);
});

test('a work tree begins in the folder of its parent’s workspace (L72)', async () => {
  const p = place();
  initRepository(p.workspace, files);
  const folder = await p.open(join(p.workspace, 'lib'));
  expect(readdirSync(folder)).toEqual(['b.txt']);
  writeFiles(folder, { 'c.txt': 'c\n' });
  expect(await p.end()).toMatchObject({ kind: 'committed', files: 1, insertions: 1, deletions: 0 });
  expect(git(p.workspace, 'show', `${BRANCH}:lib/c.txt`)).toBe('c');
});

test('a repository within a work tree keeps it, for no commit would hold its files (L72)', async () => {
  const p = place();
  initRepository(p.workspace, files);
  const tree = await p.open();
  initRepository(join(tree, 'inner'), { 'x.txt': 'x\n' });
  const end = await p.end();
  expect(end).toEqual({
    kind: 'kept',
    path: tree,
    detail: expect.stringContaining('inner in it is a repository of its own'),
  });
  expect(existsSync(join(tree, 'inner', 'x.txt'))).toBe(true);
});

test('a work tree that someone removed is told as gone (L72)', async () => {
  const p = place();
  initRepository(p.workspace, files);
  const tree = await p.open();
  rmSync(tree, { recursive: true });
  expect(await p.end()).toEqual({ kind: 'gone', path: tree });
  expect(git(p.workspace, 'branch', '--list', 'perdure/*')).toBe('');
  expect(p.left()).toEqual([]);
});

test('an agent that never began has left nothing (L72)', async () => {
  const p = place();
  expect(await p.end()).toBeNull();
  initRepository(p.workspace, files);
  const tree = await p.open();
  rmSync(join(dirname(tree), 'ready'));
  expect(await p.end()).toEqual({ kind: 'unchanged' });
  expect(p.left()).toEqual([]);
});

test.each<[string, (workspace: string) => void, string]>([
  ['no repository', () => {}, 'it lies in no git repository'],
  ['no commit', (workspace) => void git(workspace, 'init', '--quiet'), 'it has no commit yet'],
  [
    'hooks in its configuration',
    (workspace) => {
      initRepository(workspace, files);
      git(workspace, 'config', 'hook.x.command', 'touch ran');
    },
    'config has hooks or includes other files',
  ],
  [
    'another configuration included',
    (workspace) => {
      initRepository(workspace, files);
      git(workspace, 'config', 'include.path', '/tmp/other');
    },
    'config has hooks or includes other files',
  ],
  [
    'a .git that leads to another repository',
    (workspace) => {
      initRepository(join(workspace, '..', 'other'), files);
      writeFileSync(join(workspace, '.git'), `gitdir: ${join(workspace, '..', 'other', '.git')}\n`);
    },
    'is not that of a work tree',
  ],
  [
    'a .git that leads to a work tree of another repository',
    (workspace) => {
      const other = join(workspace, '..', 'other');
      initRepository(other, files);
      git(other, 'worktree', 'add', '--quiet', join(workspace, '..', 'theirs'));
      writeFileSync(join(workspace, '.git'), `gitdir: ${join(other, '.git', 'worktrees', 'theirs')}\n`);
    },
    'is not that of a work tree',
  ],
  [
    'a .git that shares what another has',
    (workspace) => {
      initRepository(join(workspace, '..', 'other'), files);
      initRepository(workspace, files);
      writeFileSync(join(workspace, '.git', 'commondir'), join(workspace, '..', 'other', '.git'));
    },
    'is a part of another repository',
  ],
])('%s: no work tree is made, and a sentence says why (L72)', async (_name, prepare, problem) => {
  const p = place();
  prepare(p.workspace);
  expect(await p.open()).toContain(problem);
  expect(await p.end()).toBeNull();
  expect(p.left()).toEqual([]);
});

test('a folder that is not in the last commit is no beginning (L72)', async () => {
  const p = place();
  initRepository(p.workspace, files);
  mkdirSync(join(p.workspace, 'fresh'));
  expect(await p.open(join(p.workspace, 'fresh'))).toBe('this folder is not in the last commit');
});

test('an agent in a work tree has agents in work trees of the same repository (L72)', async () => {
  const p = place();
  initRepository(p.workspace, files);
  const tree = await p.open();
  const inner = place();
  const below = await inner.worktrees.open({ ...fakeAttempt(), session: 's-x.agent-1-0' as never }, tree);
  expect(below).toMatchObject({ kind: 'opened' });
  expect(git(p.workspace, 'branch', '--list', '--format=%(refname:short)').split('\n')).toEqual([
    'main',
    'perdure/agent-1-0',
    BRANCH,
  ]);
});

const elsewhere = (begun: Record<string, unknown>, root: string): readonly object[] => [
  { ...begun, holder: join(root, 'precious') },
  { ...begun, holder: root, tree: join(root, 'precious') },
  { ...begun, tree: join(root, 'precious') },
  { ...begun, prefix: '../../../precious' },
  { ...begun, branch: 'main' },
  { ...begun, base: '--upload-pack=x' },
];

test('a record that leads elsewhere has nothing made or removed there, and is said (L72 W1)', async () => {
  const made = memoryStore();
  const key = 'worktrees/s-test/begun';
  const p = place({ store: made });
  initRepository(p.workspace, files);
  await p.open();
  const begun = JSON.parse(Buffer.from((await made.read(key)) ?? []).toString()) as Record<string, unknown>;
  const precious = join(p.root, 'precious');
  writeFiles(p.root, { 'precious/kept.txt': 'kept\n' });
  for (const forged of elsewhere(begun, p.root)) {
    const bytes = Buffer.from(JSON.stringify(forged));
    const store: Store = { ...made, read: (name) => (name === key ? Promise.resolve(bytes) : made.read(name)) };
    const worktrees = createWorktrees({ ...p.around, store });
    const sentence = /^the record of its work tree leads to .*, and it would be in .*-worktrees\/s-test$/;
    expect(await worktrees.open(fakeAttempt(), p.workspace)).toMatchObject({
      kind: 'problem',
      detail: expect.stringMatching(sentence) as string,
    });
    expect(await worktrees.end(fakeAttempt(), { title: 't', reason: 'completed' })).toMatchObject({
      kind: 'kept',
      detail: expect.stringMatching(sentence) as string,
    });
    expect(readFileSync(join(precious, 'kept.txt'), 'utf8')).toBe('kept\n');
    expect(git(p.workspace, 'branch', '--list', 'main')).toContain('main');
  }
});
