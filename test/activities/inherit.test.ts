// What the run of an agent inherits when it opens, and what nobody gives it beyond its parent
// (L70).
import { mkdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Deps } from '../../activities/deps.ts';
import { openRun } from '../../activities/run/open-run.ts';
import { mayReadByRules } from '../../tools/rules/match-rules.ts';
import type { AgentOrigin } from '../../workflows/contract/delegation.ts';
import type { RunOptions } from '../../workflows/contract/session.ts';
import { benchDeps, fakeAttempt } from '../support/bench-deps.ts';
import { tempDir } from '../support/temp-dir.ts';

/** A parent's run, and a way to open that of an agent of it on this or another worker. */
async function family(parent: Partial<RunOptions> = {}) {
  const root = realpathSync(tempDir());
  const [cwd, lib] = [join(root, 'workspace'), join(root, 'lib')];
  for (const folder of [cwd, lib]) mkdirSync(folder);
  const { deps } = await benchDeps({ script: [] });
  const open = async (worker: Deps, options: RunOptions, agent?: AgentOrigin) =>
    openRun(worker)(fakeAttempt(), { chain: 'c', run: 1, step: 1, options, ...(agent && { agent }) });
  const opened = await open(deps, { cwd, ...parent });
  if (opened.kind !== 'opened') throw new Error(opened.detail);
  const agent = { type: 'general', depth: 1, parent: 's-p', root: 's-p', key: 'k', config: opened.config, path: [] };
  const child = async (
    worker: Deps,
    options: Partial<RunOptions> = {},
    more: Pick<AgentOrigin, 'isolation' | 'tools'> = {},
  ) => {
    const origin = { ...agent, ...more } as unknown as AgentOrigin;
    const result = await open(worker, { cwd, ...options }, origin);
    return result.kind === 'opened' ? await deps.config(result.config) : result.detail;
  };
  return { deps, lib, child };
}

test('an agent gets neither its worker’s folders nor those of a message, nor variables, that its parent has not (L70)', async () => {
  const { deps, lib, child } = await family({ additionalDirectories: [] });
  const worker = { ...deps, defaults: { ...deps.defaults, additionalDirectories: [lib] } };
  expect(await child(worker)).not.toHaveProperty('folders');
  const config = await child(deps, { additionalDirectories: [lib], toolEnv: { TOKEN: 'x' } });
  expect(config).not.toHaveProperty('folders');
  expect(config).toMatchObject({ toolEnv: {} });
});

test('an agent gets the folders and variables of its parent, and its instructions’ absence (L70 L78)', async () => {
  const { deps, lib, child } = await family();
  expect(await child(deps)).not.toHaveProperty('instructions');
  const other = await family({ additionalDirectories: [lib], toolEnv: { A: '1' }, instructions: false });
  const given = { toolEnv: { A: '1' }, folders: [lib], instructions: false };
  expect(await other.child(other.deps, { instructions: true })).toMatchObject(given);
});

test('tools that a person sends to an agent add none to those that were left to its parent when it began (L38 L70)', async () => {
  const { deps, child } = await family();
  const left = { tools: ['look'] };
  expect(await child(deps, {}, left)).toMatchObject({ tools: ['look'] });
  expect(await child(deps, { tools: ['look', 'act'] }, left)).toMatchObject({ tools: ['look'] });
});

test('an agent of a real model waits for a worker that has one, and an agent with hooks for one that has them (L33 L70)', async () => {
  const { deps, child } = await family();
  await expect(child({ ...deps, scripted: true })).rejects.toThrow('only the scripted model');
  const reader: Deps['config'] = async (hash) => ({ ...(await deps.config(hash)), hooks: ['guard'] });
  await expect(child({ ...deps, config: reader })).rejects.toThrow('lacks hooks');
});

test('a rule sent to an agent is judged as any caller’s: a mistaken name, and one that would never be asked about (L55 L70)', async () => {
  const { deps, child } = await family({ permissionMode: 'bypass' });
  expect(await child(deps, { permissions: { deny: ['loook(*)'] } })).toMatch(/names no tool: did you mean look/);
  expect(await child(deps, { permissions: { ask: ['look'] } })).toMatch(/bypass/);
});

test('an isolated agent works in its work tree, where rules for paths of its parent’s workspace hold too (L70 L72)', async () => {
  const { deps, child } = await family({ permissions: { deny: ['look', 'read(keys/**)'] } });
  const tree = realpathSync(tempDir());
  const asked: string[] = [];
  const worktrees: NonNullable<Deps['worktrees']> = {
    open: (_attempt, workspace) => {
      asked.push(workspace);
      return Promise.resolve({ kind: 'opened', path: tree });
    },
    end: () => Promise.resolve(null),
  };
  const reader: Deps['config'] = async (hash) => {
    const config = await deps.config(hash);
    const deny = config.permissions?.deny ?? [];
    // As the parent's would have been opened with it.
    return { ...config, permissions: { ...config.permissions, deny: [...deny, `read(/${config.cwd}/secrets/**)`] } };
  };
  const config = await child(
    { ...deps, worktrees, config: reader },
    { appendSystemPrompt: 'Be brief.' },
    { isolation: 'worktree' },
  );
  if (typeof config === 'string') throw new Error(config);
  expect(config.cwd).toBe(tree);
  expect(config.permissions?.deny).toEqual([
    'look',
    'read(keys/**)',
    `read(/${asked[0]}/secrets/**)`,
    'read(secrets/**)',
  ]);
  expect(config.system).toMatch(/Be brief\.\n\nThe workspace is a git worktree of your own/);
});

test('what an absolute rule keeps in a repository beside the workspace is kept in the work tree, too (L55 L72)', async () => {
  const { deps, child } = await family();
  const path = join(realpathSync(tempDir()), 'a tree', 'workspace');
  mkdirSync(path, { recursive: true });
  const worktrees: NonNullable<Deps['worktrees']> = {
    open: () => Promise.resolve({ kind: 'opened', path, prefix: 'workspace' }),
    end: () => Promise.resolve(null),
  };
  const reader: Deps['config'] = async (hash) => {
    const config = await deps.config(hash);
    return { ...config, permissions: { deny: [`read(/${join(config.cwd, '..', 'other')}/**)`] } };
  };
  const config = await child({ ...deps, worktrees, config: reader }, {}, { isolation: 'worktree' });
  if (typeof config === 'string') throw new Error(config);
  const { permissions = {}, cwd } = config;
  const mayRead = (file: string): boolean => mayReadByRules({ cwd, permissions }, file);
  expect([mayRead('../other/key'), mayRead('../third/key'), mayRead('key')]).toEqual([false, true, true]);
});

test('an agent that can have no work tree does not begin, and the reason is said (L72)', async () => {
  const { deps, child } = await family();
  expect(await child(deps, {}, { isolation: 'worktree' })).toBe('this worker makes no git work trees for agents');
  const worktrees: NonNullable<Deps['worktrees']> = {
    open: () => Promise.resolve({ kind: 'problem', detail: 'it has no commit yet' }),
    end: () => Promise.resolve(null),
  };
  expect(await child({ ...deps, worktrees }, {}, { isolation: 'worktree' })).toMatch(
    /^no git work tree of \/.*\/workspace can be made for the agent: it has no commit yet$/,
  );
});

test('an agent puts as much into its replies as its type says, else as its parent, of whose model it is (L70 X2)', async () => {
  const { deps, child } = await family({ model: 'opus', effort: 'xhigh' });
  const typed = (type: object): Deps => {
    const agents = { ...deps.defaults.agents, types: { general: { description: 'd', ...type } } };
    return { ...deps, defaults: { ...deps.defaults, agents } };
  };
  expect(await child(deps)).toMatchObject({ effort: 'xhigh', models: [{ name: 'claude-opus-5-5' }] });
  expect(await child(typed({ model: 'inherit', effort: 'low' }))).toMatchObject({
    effort: 'low',
    models: [{ name: 'claude-opus-5-5' }],
  });
  const small = await child(typed({ model: 'claude-haiku-4-5' }));
  expect(small).toMatchObject({ models: [{ name: 'claude-haiku-4-5' }] });
  expect(small).not.toHaveProperty('effort');
  expect(await child(typed({ model: 'claude-haiku-4-5', effort: 'low' }))).toMatch(/^claude-haiku-4-5 takes no effort/);
});
