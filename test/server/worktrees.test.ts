// Agents in git work trees of their own: what they change is on a branch, and their parent is told
// which.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { agentsEnded, agentsOf, outcomes } from '../support/agents.ts';
import { agentCall, byPrompt } from '../support/by-prompt.ts';
import { harness } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { git, initRepository } from '../support/repository.ts';
import { until } from '../support/until.ts';

const isolated = { isolation: 'worktree' };
const bash = (command: string) => reply([toolUse('bash', { command })]);

/** What is left of work trees on the worker's host. */
function left({ cwd }: { readonly cwd: string }): readonly string[] {
  const folder = join(cwd, '..', 'data-worktrees');
  return existsSync(folder) ? readdirSync(folder) : [];
}

test('isolated agents work side by side, and each outcome names the branch with its changes (L66 L72)', async () => {
  const h = await harness({
    script: byPrompt({
      'Go.': [
        reply([agentCall('A.', isolated), agentCall('B.', { type: 'builder' }), agentCall('C.', isolated)]),
        reply('Done.'),
      ],
      'A.': [bash('echo a >> shared.txt; git commit -qam sneaky; echo n > new.txt'), reply('A is done.')],
      'B.': [bash('echo b >> shared.txt; git status --short'), reply('B is done.')],
      'C.': [bash('cat shared.txt'), reply('C is done.')],
    }),
    worker: { config: { agents: { builder: { description: 'Builds.', isolation: 'worktree' } } } },
  });
  initRepository(h.cwd, { 'shared.txt': 'first\n' });
  const session = await h.open('Go.');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
  const texts = (await outcomes(session)).map(({ content }) => content);
  const branches = texts
    .slice(0, 2)
    .map((text) => /on branch (perdure\/agent-[0-9a-f]{16}-\d), and/.exec(text)?.[1] ?? text);
  expect(texts[0]).toContain('A is done.\n\nIts changes are on branch perdure/agent-');
  expect(texts[1]).toContain('and are not merged: 1 file changed, 1 line added, 0 removed.\n\n(agent session');
  expect(texts[2]).toContain('C is done.\n\nIt changed no files: its branch is removed.');
  expect(git(h.cwd, 'show', `${branches[0]}:shared.txt`)).toBe('first\na');
  expect(git(h.cwd, 'show', `${branches[0]}:new.txt`)).toBe('n');
  expect(git(h.cwd, 'show', `${branches[1]}:shared.txt`)).toBe('first\nb');
  expect(git(h.cwd, 'branch', '--list', '--format=%(refname:short)').split('\n').toSorted()).toEqual(
    ['main', ...branches].toSorted(),
  );
  expect(git(h.cwd, 'status', '--porcelain')).toBe('');
  expect(left(h)).toEqual([]);
  const agents = await agentsEnded(h, session.id, 3);
  const first = agents.find(({ id }) => texts[0]!.includes(id))!;
  await keepHistory('an agent in a work tree (L72)', h.client.workflow.getHandle(first.id));
});

test('an isolated agent in the background, and one that is interrupted, leave their branches, too (L64 L71 L72)', async () => {
  const h = await harness({
    script: byPrompt({
      'Go.': [
        reply([agentCall('A.', { ...isolated, background: true })]),
        reply('It works.'),
        reply([agentCall('B.', isolated)]),
      ],
      'A.': [bash('echo a > a.txt'), reply('A is done.')],
      'B.': [bash('echo b > b.txt; sleep 600')],
    }),
  });
  initRepository(h.cwd, { 'shared.txt': 'first\n' });
  const session = await h.open('Go.');
  await session.ended(1);
  // The end of the one in the background opens the run in which the other begins.
  const changed = (name: string): boolean =>
    left(h).some((agent) => existsSync(join(h.cwd, '..', 'data-worktrees', agent, agent, name)));
  await until(() => changed('b.txt'));
  await session.interrupt();
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'aborted_tools', by: 'interrupt' } });
  const notices = (await session.entries()).flatMap((entry) => (entry.kind === 'notice' ? [entry.notice] : []));
  const told = notices.flatMap((notice) => (notice.kind === 'attachment' ? [notice.text] : []));
  expect(told).toEqual([
    expect.stringMatching(/^> A is done\.\n\nIts changes are on branch perdure\/agent-\S+, and are not merged: 1 file/),
  ]);
  await agentsEnded(h, session.id, 2);
  const branches = git(h.cwd, 'branch', '--list', '--format=%(refname:short)', 'perdure/*').split('\n');
  expect(branches).toHaveLength(2);
  const names = branches.map((branch) => git(h.cwd, 'diff', '--name-only', 'main', branch));
  expect(names.toSorted()).toEqual(['a.txt', 'b.txt']);
  expect(left(h)).toEqual([]);
});

test('an isolated agent where there is no repository is an error outcome that says so (L67 L72)', async () => {
  const h = await harness({
    script: byPrompt({ 'Go.': [reply([agentCall('A.', isolated)]), reply('Done.')], 'A.': [] }),
  });
  const session = await h.open('Go.');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const [outcome] = await outcomes(session);
  expect(outcome).toMatchObject({ isError: true });
  expect(outcome!.content).toContain('can be made for the agent: it lies in no git repository');
  expect((await agentsOf(h, session.id)).map(({ status }) => status)).toEqual(['COMPLETED']);
});
