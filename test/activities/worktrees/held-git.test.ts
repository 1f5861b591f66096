// Work trees of one repository that are made and removed at once, as agents of one reply have them.
import { expect, test } from 'vitest';
import { GitProblem, type HeldGit } from '../../../activities/worktrees/held-git.ts';
import { createWorktreeCommand } from '../../../activities/worktrees/worktrees.ts';
import type { WorktreePlace } from '../../../store/worktree-record.ts';
import { until } from '../../support/until.ts';

const idle = new AbortController().signal;
const at = (common: string): WorktreePlace => ({ holder: '/h', tree: '/h/t', common });

/** Each command ends when `go` says so, or fails with the next of `failures`. */
function fakeGit(...failures: readonly string[]) {
  const left = [...failures];
  const open: (() => void)[] = [];
  const began: string[] = [];
  const refs: HeldGit['refs'] = async (place, args) => {
    began.push([place.common, ...args].join(' '));
    const why = left.shift();
    if (why !== undefined) throw new GitProblem(why);
    await new Promise<void>((resolve) => void open.push(resolve));
    return 'done';
  };
  return { git: { refs } as HeldGit, began, go: () => open.shift()?.() };
}

test('work trees of one repository are made one after the other, and those of another beside them (L72)', async () => {
  const { git, began, go } = fakeGit();
  const command = createWorktreeCommand();
  const all = ['one', 'two'].map((tree) => command(git, at('/a'), ['add', tree], idle));
  all.push(command(git, at('/b'), ['add', 'three'], idle));
  await until(() => began.length === 2);
  expect(began).toEqual(['/a worktree add one', '/b worktree add three']);
  go();
  go();
  await until(() => began.length === 3);
  go();
  expect(await Promise.all(all)).toEqual(['done', 'done', 'done']);
});

test('what git cannot read of a work tree that another worker is making is looked at again, and nothing else (L72)', async () => {
  const { git, began, go } = fakeGit('fatal: failed to read /r/.git/worktrees/w/commondir: Success', 'no space left');
  const command = createWorktreeCommand();
  await expect(command(git, at('/a'), ['add', 'one'], idle)).rejects.toThrow('no space left');
  expect(began).toHaveLength(2);
  const again = command(git, at('/a'), ['add', 'two'], idle);
  await until(() => began.length === 3);
  go();
  expect(await again).toBe('done');
  const stopped = fakeGit('failed to read x', 'failed to read y');
  await expect(command(stopped.git, at('/a'), ['add', 'one'], AbortSignal.abort())).rejects.toThrow('failed to read x');
});
