// The end of an agent in the words that its parent's model reads.
import { expect, test } from 'vitest';
import { describeEnd } from '../../../store/view/agent-end.ts';
import { quoteLines } from '../../../system/text.ts';
import type { AgentEnd, WorktreeEnd } from '../../../workflows/contract/delegation.ts';
import { noSpend } from '../../../workflows/contract/loop.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';

function said(worktree: WorktreeEnd | undefined, reason: 'completed' | 'max_turns' = 'completed'): string {
  const terminal = { reason } as NonNullable<AgentEnd['run']>['terminal'];
  const run = { run: 1, terminal, turns: 2, head: null };
  const end = { kind: 'agent', session: 's-1' as SessionId, run, spend: noSpend } as const;
  return describeEnd({ ...end, ...(worktree && { worktree }) }, { text: 'Done.', deeds: '' });
}

const committed = { kind: 'committed', branch: 'perdure/x', files: 1, insertions: 3, deletions: 0 } as const;

test.each<[WorktreeEnd, string]>([
  [committed, 'Its changes are on branch perdure/x, and are not merged: 1 file changed, 3 lines added, 0 removed.'],
  [
    { ...committed, files: 2, left: '/t' },
    '2 files changed, 3 lines added, 0 removed. Its folder /t could not be removed.',
  ],
  [{ kind: 'unchanged' }, 'It changed no files: its branch is removed.'],
  [
    { kind: 'unchanged', branch: 'b' },
    'It changed no files. Its branch b stays: it could not be removed, or somebody has moved it.',
  ],
  [{ kind: 'kept', path: '/t', detail: 'a\nb' }, 'Its changes are not committed and stay in /t: a b.'],
  [{ kind: 'kept', detail: 'why' }, 'Its changes are not committed: why.'],
  [{ kind: 'gone', path: '/t' }, 'Its work tree /t is gone: someone removed it, with what was not committed.'],
])('what became of a work tree stands below an agent’s answer: %j (L67 L72)', (worktree, words) => {
  expect(said(worktree)).toContain(`Done.\n\n${said(worktree).split('\n\n')[1]}\n\n(agent session s-1: 2 turns, `);
  expect(said(worktree)).toContain(words);
  expect(said(worktree, 'max_turns')).toContain(words);
});

test('an agent without a work tree has no word about one (L67)', () => {
  expect(said(undefined)).toMatch(/^Done\.\n\n\(agent session s-1: 2 turns, 0 tokens/);
});

test('an agent that was cut short tells what it did, each line marked where it stands in a notice (L67 L71)', () => {
  const run = { run: 1, terminal: { reason: 'max_turns', limit: 2, turnNotTaken: 3 }, turns: 2, head: null } as const;
  const end = { kind: 'agent', session: 's-1' as SessionId, run, spend: noSpend } as const;
  const deeds = '- bash npm test (failed)\n- read a';
  expect(describeEnd(end, { text: '', deeds })).toContain(
    `The agent ended with max_turns.\n\nWhat it did:\n${deeds}\n\n(`,
  );
  expect(describeEnd(end, { text: '', deeds }, quoteLines)).toContain('> - read a');
  expect(describeEnd(end, { text: '', deeds: '' })).toContain('It had said and done nothing.');
});
