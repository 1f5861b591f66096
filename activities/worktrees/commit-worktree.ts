// Commits what an agent has left in its work tree, as one commit on its branch (L72), and names the
// places that both ends of a work tree use.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { EndWorktree, WorktreeEnd } from '../../workflows/contract/delegation.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { createGivenUpError, type Attempt } from '../attempt.ts';
import { realOf } from '../../system/process/places.ts';
import { clip, codeOf, onOneLine, reasonOf } from '../../system/text.ts';
import { GitProblem, type HeldGit } from './held-git.ts';
import type { WorktreeRecord } from '../../store/worktree-record.ts';

export const branchRef = ({ branch }: WorktreeRecord): string => `refs/heads/${branch}`;

/** Returns the path of the file that is written when the work tree is complete. */
export const readyPath = ({ holder }: WorktreeRecord): string => join(holder, 'ready');

export const keepTree = ({ tree }: WorktreeRecord, detail: string): WorktreeEnd => ({
  kind: 'kept',
  path: tree,
  detail,
});

/** Throws when another attempt counts now. */
export async function requireCurrent(attempt: Attempt): Promise<void> {
  if (!(await attempt.fence())) throw createGivenUpError(attempt);
}

/**
 * Makes the commit; `kept` for files that git will not commit. A second attempt finds the commit of
 * the first.
 */
export async function commitWorktree(
  { git, attempt }: { readonly git: HeldGit; readonly attempt: Attempt },
  record: WorktreeRecord,
  about: Pick<EndWorktree, 'title' | 'reason'>,
): Promise<WorktreeEnd> {
  // The agent has never begun.
  if (!existsSync(readyPath(record))) return { kind: 'unchanged' };
  if (realOf(record.tree) !== record.tree) return { kind: 'gone', path: record.tree };
  try {
    await git.run(record, ['rm', '-f', '--', join(record.holder, 'index.lock')]);
    await git.files(record, ['add', '--all']);
    const nested = await findNested(git, record);
    if (nested !== null)
      return keepTree(
        record,
        `${nested} in it is a repository of its own or a submodule, of whose files no commit holds any`,
      );
    const treeHash = await git.files(record, ['write-tree']);
    await requireCurrent(attempt);
    return await commitTree(git, record, treeHash, writeMessage(attempt.session, about));
  } catch (error) {
    return keepTree(record, describeGitError(error, attempt));
  }
}

/** Commits the tree, without a second commit where an earlier attempt has made it. */
async function commitTree(
  git: HeldGit,
  record: WorktreeRecord,
  treeHash: string,
  message: readonly string[],
): Promise<WorktreeEnd> {
  const { base, branch } = record;
  const tip = await git.resolve(record, branchRef(record));
  const parent = tip ?? base;
  if (treeHash !== (await git.resolve(record, `${parent}^{tree}`))) {
    const paragraphs = message.flatMap((paragraph) => ['-m', paragraph]);
    const commit = await git.files(record, ['commit-tree', treeHash, '-p', parent, ...paragraphs]);
    await git.refs(record, ['update-ref', branchRef(record), commit, tip ?? '0'.repeat(base.length)]);
  } else if (parent === base) return { kind: 'unchanged' };
  const stat = await git.files(record, ['diff-tree', '-r', '--shortstat', base, treeHash]);
  // Git prints `2 files changed, 3 insertions(+), 1 deletion(-)` and leaves out the counts that are
  // zero.
  const parts = stat.split(',').map((part) => part.trim().split(' '));
  const count = (what: string): number => Number(parts.find(([, word]) => word?.startsWith(what))?.[0] ?? 0);
  const [files, insertions, deletions] = [count('file'), count('insertion'), count('deletion')];
  return { kind: 'committed', branch, files, insertions, deletions };
}

/**
 * Finds the first repository or submodule that has files: git adds none of them, and of a
 * repository its last commit at most.
 */
async function findNested(git: HeldGit, record: WorktreeRecord): Promise<string | null> {
  const listed = (await git.files(record, ['ls-files', '--stage', '-z'])).split('\0');
  const linked = listed
    .filter((entry) => entry.startsWith('160000 '))
    .map((entry) => entry.slice(entry.indexOf('\t') + 1));
  return linked.find((path) => holdsFiles(join(record.tree, path))) ?? null;
}

function holdsFiles(folder: string): boolean {
  try {
    return readdirSync(folder).length > 0;
  } catch (error) {
    // A folder that cannot be looked into may hold some.
    return codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOTDIR';
  }
}

function writeMessage(session: SessionId, { title, reason }: Pick<EndWorktree, 'title' | 'reason'>): readonly string[] {
  const subject = clip(onOneLine(title.replaceAll('\0', ' ')).trim(), 72);
  const note = reason === 'completed' ? '' : `\n\nThe agent did not complete its task (${reason ?? 'stopped'}).`;
  return [subject || 'Work of an agent', `Made by an agent of Perdure, session ${session}.${note}`];
}

/** Returns what git, or the file system, said. Throws an error that came from neither. */
export function describeGitError(error: unknown, { signal }: Attempt): string {
  if (signal.aborted || !(error instanceof GitProblem || codeOf(error) !== undefined)) throw error;
  return reasonOf(error);
}
