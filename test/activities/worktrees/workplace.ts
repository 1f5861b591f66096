// A workspace, a data folder beside it, and the work tree of one agent.
import { existsSync, mkdirSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { Sandbox } from '../../../tools/sandbox.ts';
import { memoryStore } from '../../support/memory-store.ts';
import type { Store } from '../../../store/values/store.ts';
import { createWorktrees } from '../../../activities/worktrees/worktrees.ts';
import { fakeAttempt } from '../../support/bench-deps.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { workingSandboxes } from '../../tools/sandboxes.ts';

export const sandboxes = await workingSandboxes();
const [best] = sandboxes as [Sandbox, ...Sandbox[]];

export const files = { 'a.txt': 'one\ntwo\n', 'lib/b.txt': 'b\n', '.gitignore': 'built\n' };
const about = { title: 'Fix  it\n', reason: 'completed' } as const;

export const BRANCH = 'perdure/s-test';

type Placed = { readonly sandbox?: Sandbox; readonly store?: Store; readonly data?: string };

export function place({ sandbox = best, store = memoryStore(), data = 'data' }: Placed = {}) {
  const root = realpathSync(tempDir());
  const [workspace, dataDir] = [join(root, 'workspace'), join(root, data)];
  for (const folder of [workspace, dataDir]) mkdirSync(folder);
  const around = { store, sandbox, dataDir, host: undefined };
  const worktrees = createWorktrees(around);
  const attempt = fakeAttempt();
  const open = async (at = workspace): Promise<string> => {
    const opened = await worktrees.open(attempt, at);
    return opened.kind === 'problem' ? opened.detail : opened.path;
  };
  return {
    root,
    workspace,
    around,
    worktrees,
    open,
    end: (reason: typeof about.reason | 'max_turns' = 'completed') => worktrees.end(attempt, { ...about, reason }),
    left: () => (existsSync(`${dataDir}-worktrees`) ? readdirSync(`${dataDir}-worktrees`) : []),
  };
}
