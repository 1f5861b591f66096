// The worker makes and commits the work trees of agents with git, on repositories that an agent may have written to (L72): nothing that
// lies in them has git start a program, or work on another repository.
import { chmodSync, existsSync, mkdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { probeSandbox } from '../../activities/tools/sandbox.ts';
import { memoryStore } from '../../activities/transcript/store/memory-store.ts';
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

test('a link in a work tree is committed as a link, and what it leads to stays (L72)', async () => {
  const p = place();
  const tree = await opened(p);
  writeFiles(p.root, { 'outside/secret.txt': 'secret\n' });
  symlinkSync(join(p.root, 'outside'), join(tree, 'way'));
  expect(await p.worktrees.end(fakeAttempt(), about)).toMatchObject({ kind: 'committed', files: 1 });
  expect(git(p.workspace, 'ls-tree', '-r', '--name-only', 'perdure/s-test')).not.toContain('secret');
  expect(existsSync(join(p.root, 'outside', 'secret.txt'))).toBe(true);
});
