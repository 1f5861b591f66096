// The branch in the footer of a chat, in folders that strangers made.
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readGitBranch } from '../../../cli/chat/footer.ts';
import { tempDir } from '../../support/temp-dir.ts';

test('a branch is read from the folder, from a folder below it, and from a work tree', () => {
  const dir = tempDir();
  mkdirSync(join(dir, '.git', 'worktrees', 'w'), { recursive: true });
  writeFileSync(join(dir, '.git', 'HEAD'), 'ref: refs/heads/main\n');
  writeFileSync(join(dir, '.git', 'worktrees', 'w', 'HEAD'), 'ref: refs/heads/side\n');
  mkdirSync(join(dir, 'src'));
  mkdirSync(join(dir, 'w'));
  writeFileSync(join(dir, 'w', '.git'), 'gitdir: ../.git/worktrees/w\n');
  expect([dir, join(dir, 'src'), join(dir, 'w')].map(readGitBranch)).toEqual(['main', 'main', 'side']);
});

test.each([
  ['HEAD is a pipe', (git: string) => [mkdirSync(git), execFileSync('mkfifo', [join(git, 'HEAD')])]],
  ['HEAD leads to a device', (git: string) => [mkdirSync(git), symlinkSync('/dev/zero', join(git, 'HEAD'))]],
  ['HEAD is a folder', (git: string) => mkdirSync(join(git, 'HEAD'), { recursive: true })],
  ['.git is a pipe', (git: string) => execFileSync('mkfifo', [git])],
  ['.git leads to a device', (git: string) => symlinkSync('/dev/zero', git)],
])('where %s there is no branch, and nothing waits', (_what, make) => {
  const dir = tempDir();
  make(join(dir, '.git'));
  expect(readGitBranch(dir)).toBeNull();
});
