// The worker makes and commits the work trees of agents with git, on repositories that an agent may
// have written to (L72): nothing that lies in them has git start a program, or work on another
// repository.
import { chmodSync, existsSync, mkdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { probeSandbox } from '../../tools/sandbox.ts';
import { memoryStore } from '../support/memory-store.ts';
import { createWorktrees } from '../../activities/worktrees/worktrees.ts';
import { fakeAttempt } from '../support/bench-deps.ts';
import { git, initRepository, writeFiles } from '../support/repository.ts';
import { tempDir } from '../support/temp-dir.ts';

// The weakest: programs would run with all that the worker may do.
const sandbox = await probeSandbox({ kinds: ['group'] });
const about = { title: 'Fix it', reason: 'completed' } as const;

function place() {
  const root = realpathSync(tempDir());
  const [workspace, dataDir, ran] = [join(root, 'workspace'), join(root, 'data'), join(root, 'ran')];
  for (const folder of [workspace, dataDir]) mkdirSync(folder);
  initRepository(workspace, { 'a.txt': 'a\n', '.gitattributes': '* filter=evil diff=evil merge=evil\n' });
  const worktrees = createWorktrees({ store: memoryStore(), sandbox, dataDir, host: undefined });
  return { root, workspace, worktrees, ran, touch: `touch ${ran};cat` };
}

type Place = ReturnType<typeof place>;

function setConfig(repository: string, touch: string): void {
  for (const key of [
    'filter.evil.clean',
    'filter.evil.smudge',
    'diff.evil.textconv',
    'diff.evil.command',
    'diff.external',
  ])
    git(repository, 'config', key, touch);
  git(repository, 'config', 'core.fsmonitor', touch);
}

function writeHooks(folder: string, touch: string): void {
  const names = [
    'post-checkout',
    'reference-transaction',
    'post-index-change',
    'pre-commit',
    'post-commit',
    'commit-msg',
  ];
  for (const name of names) {
    writeFiles(folder, { [name]: `#!/bin/sh\n${touch} </dev/null\n` });
    chmodSync(join(folder, name), 0o755);
  }
}

async function opened({ worktrees, workspace }: Place): Promise<string> {
  const tree = await worktrees.open(fakeAttempt(), workspace);
  if (tree.kind !== 'opened') throw new Error(JSON.stringify(tree));
  return tree.path;
}

test.each<[string, (place: Place) => void]>([
  ['filters, drivers and a file monitor', ({ workspace, touch }) => setConfig(workspace, touch)],
  ['hooks', ({ workspace, touch }) => writeHooks(join(workspace, '.git', 'hooks'), touch)],
  [
    'a folder of hooks in the workspace',
    ({ workspace, touch }) => {
      writeHooks(join(workspace, 'hooks'), touch);
      git(workspace, 'config', 'core.hooksPath', join(workspace, 'hooks'));
    },
  ],
])('%s of a repository start nothing while a work tree is made and committed (L72)', async (_name, prepare) => {
  const p = place();
  prepare(p);
  const tree = await opened(p);
  writeFiles(tree, { 'a.txt': 'changed\n', 'new.txt': 'new\n' });
  expect(await p.worktrees.end(fakeAttempt(), about)).toMatchObject({ kind: 'committed', files: 2 });
  expect(existsSync(p.ran)).toBe(false);
});

test('an agent that puts another repository in the place of its .git changes nothing of how it is committed (L72)', async () => {
  const p = place();
  const tree = await opened(p);
  rmSync(join(tree, '.git'));
  initRepository(tree, { 'a.txt': 'changed\n', '.gitattributes': '* filter=evil\n' });
  setConfig(tree, p.touch);
  writeHooks(join(tree, '.git', 'hooks'), p.touch);
  expect(await p.worktrees.end(fakeAttempt(), about)).toMatchObject({
    kind: 'committed',
    branch: 'perdure/s-test',
    files: 2,
  });
  expect(git(p.workspace, 'ls-tree', '-r', '--name-only', 'perdure/s-test').split('\n')).toEqual([
    '.gitattributes',
    'a.txt',
  ]);
  expect(existsSync(p.ran)).toBe(false);
});

test('a submodule that an agent fills with a repository of its own starts nothing, and is kept (L72)', async () => {
  const p = place();
  initRepository(join(p.workspace, 'sub'), { 's.txt': 's\n' });
  git(p.workspace, 'add', 'sub');
  git(p.workspace, 'commit', '--quiet', '--message', 'With sub');
  const tree = await opened(p);
  initRepository(join(tree, 'sub'), { 's.txt': 's\n' });
  setConfig(join(tree, 'sub'), p.touch);
  writeFiles(tree, { 'sub/s.txt': 'changed\n' });
  expect(await p.worktrees.end(fakeAttempt(), about)).toMatchObject({ kind: 'kept', path: tree });
  expect(existsSync(p.ran)).toBe(false);
});

test('files in the folder of a submodule, which git adds nowhere, are kept (L72)', async () => {
  const p = place();
  initRepository(join(p.workspace, 'sub'), { 's.txt': 's\n' });
  git(p.workspace, 'add', 'sub');
  git(p.workspace, 'commit', '--quiet', '--message', 'With sub');
  const tree = await opened(p);
  writeFiles(tree, { 'sub/new.txt': 'work\n' });
  expect(await p.worktrees.end(fakeAttempt(), about)).toMatchObject({ kind: 'kept', path: tree });
  expect(existsSync(join(tree, 'sub', 'new.txt'))).toBe(true);
});

test.each<[string, (at: { git: string; other: string }) => void]>([
  ['links of objects and refs', (at) => ['objects', 'refs'].forEach((name) => linkTo(at, name))],
  ['a link of a folder of objects', (at) => linkTo(at, 'objects/pack')],
  ['a link of its packed refs', (at) => linkTo(at, 'packed-refs')],
  ['alternates', (at) => writeFiles(at.git, { 'objects/info/alternates': `${at.other}/objects\n` })],
])(
  '%s that lead to another repository: there is no work tree, and nothing is written there (L72)',
  async (_name, lead) => {
    const p = place();
    const other = join(p.root, 'other');
    initRepository(other, { 'secret.txt': 'secret\n' });
    lead({ git: join(p.workspace, '.git'), other: join(other, '.git') });
    expect(await p.worktrees.open(fakeAttempt(), p.workspace)).toMatchObject({
      kind: 'problem',
      detail: expect.stringContaining('leads to another repository') as string,
    });
    expect(git(other, 'for-each-ref').split('\n')).toHaveLength(1);
  },
);

function linkTo(at: { readonly git: string; readonly other: string }, name: string): void {
  rmSync(join(at.git, name), { recursive: true, force: true });
  symlinkSync(join(at.other, name), join(at.git, name));
}

test('a configuration too large to be looked into is refused, in words (L72)', async () => {
  const p = place();
  writeFiles(p.workspace, { '.git/config': `[core]\n#${'x'.repeat(2 * 1024 * 1024)}\n` });
  expect(await p.worktrees.open(fakeAttempt(), p.workspace)).toMatchObject({
    kind: 'problem',
    detail: expect.stringContaining('is too large') as string,
  });
});

test('a link in a work tree is committed as a link, and what it leads to stays (L72)', async () => {
  const p = place();
  const tree = await opened(p);
  writeFiles(p.root, { 'outside/secret.txt': 'secret\n' });
  symlinkSync(join(p.root, 'outside'), join(tree, 'way'));
  expect(await p.worktrees.end(fakeAttempt(), about)).toMatchObject({ kind: 'committed', files: 1 });
  expect(git(p.workspace, 'ls-tree', '-r', '--name-only', 'perdure/s-test')).not.toContain('secret');
  expect(existsSync(join(p.root, 'outside', 'secret.txt'))).toBe(true);
});
