// Gives an agent a git work tree and branch of its own (L72): made before its first run, committed
// and removed when its session ends. Each step may be attempted again: the store holds what was
// begun and how it ended.
import { existsSync, lstatSync } from 'node:fs';
import { mkdir, realpath, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { WorktreeEnd } from '../../workflows/contract/delegation.ts';
import { agentName, type SessionId } from '../../workflows/contract/ids.ts';
import type { SessionHost } from '../../workflows/contract/session.ts';
import type { Attempt } from '../attempt.ts';
import type { Worktrees } from '../deps.ts';
import { isInside, realOf } from '../../system/process/places.ts';
import type { Sandbox } from '../../tools/sandbox.ts';
import { keySegment, parseStored, type Store } from '../../store/values/store.ts';
import {
  type WorktreePlace,
  type WorktreeRecord,
  worktreeRecordProblem,
  worktreesFolderOf,
} from '../../store/worktree-record.ts';
import {
  branchRef,
  commitWorktree,
  createHeldGit,
  describeGitError,
  GitProblem,
  type HeldGit,
  keepTree,
  readyPath,
  requireCurrent,
} from './held-git.ts';
import { findRepository, type Repository } from './repository.ts';
import { createLimit, pause } from '../../system/async.ts';

type WorktreeOptions = {
  readonly store: Store;
  readonly sandbox: Sandbox;
  /** Work trees lie in a folder next to it. */
  readonly dataDir: string;
  readonly host: SessionHost | undefined;
};

type WorktreeMeans = WorktreeOptions & {
  readonly attempt: Attempt;
  readonly git: HeldGit;
  readonly worktree: (record: WorktreeRecord, ...args: readonly string[]) => Promise<string>;
};

export function createWorktrees(options: WorktreeOptions): Worktrees {
  const { store, sandbox, dataDir, host } = options;
  const command = createWorktreeCommand();
  const meansFor = (attempt: Attempt): WorktreeMeans => {
    const { signal } = attempt;
    const git = createHeldGit(sandbox, dataDir, signal);
    return { ...options, attempt, git, worktree: (record, ...args) => command(git, record, args, signal) };
  };
  return {
    async open(attempt, workspace) {
      try {
        const known = await readRecord<WorktreeRecord>(store, attempt.session, 'begun');
        if (!known && realOf(workspace) === null) return { kind: 'elsewhere', path: workspace };
        const record = known ?? (await recordBegin(meansFor(attempt), workspace));
        if (typeof record === 'string') return { kind: 'problem', detail: record };
        const path = join(record.tree, record.prefix);
        if (record.host !== (host?.id ?? null)) return { kind: 'elsewhere', path, prefix: record.prefix };
        const astray = worktreeRecordProblem(record, attempt.session, dataDir);
        if (astray !== null) return { kind: 'problem', detail: astray };
        await prepare(meansFor(attempt), record);
        return { kind: 'opened', path, prefix: record.prefix };
      } catch (error) {
        return { kind: 'problem', detail: describeGitError(error, attempt) };
      }
    },
    async end(attempt, about) {
      const record = await readRecord<WorktreeRecord>(store, attempt.session, 'begun');
      if (record === null) return null;
      if (record.host !== (host?.id ?? null)) return keepTree(record, 'the host that has it is away');
      const astray = worktreeRecordProblem(record, attempt.session, dataDir);
      if (astray !== null) return keepTree(record, astray);
      const known = await readRecord<WorktreeEnd>(store, attempt.session, 'ended');
      const end = known ?? (await recordEnd(meansFor(attempt), await commitWorktree(meansFor(attempt), record, about)));
      return end.kind === 'kept' ? end : await clearTree(meansFor(attempt), record, end);
    },
  };
}

const recordKey = (session: SessionId, what: 'begun' | 'ended'): string => `worktrees/${keySegment(session)}/${what}`;

async function readRecord<Value>(store: Store, session: SessionId, what: 'begun' | 'ended'): Promise<Value | null> {
  const bytes = await store.read(recordKey(session, what));
  return bytes && (parseStored(bytes) as Value);
}

/** Records a value. Of all attempts ever, the first counts. */
async function recordOnce<Value>(
  { store, attempt: { session } }: WorktreeMeans,
  what: 'begun' | 'ended',
  value: Value,
): Promise<Value> {
  const created = await store.create(recordKey(session, what), Buffer.from(JSON.stringify(value)));
  return created.kind === 'created' ? value : (parseStored(created.bytes) as Value);
}

async function recordBegin(means: WorktreeMeans, workspace: string): Promise<WorktreeRecord | string> {
  const { dataDir, host, attempt, git } = means;
  const repository = findRepository(workspace);
  if (typeof repository === 'string') return repository;
  const { gitDir, common, prefix } = repository;
  const name = agentName(attempt.session);
  const folder = worktreesFolderOf(dataDir);
  if (isInRepository(repository, realOf(folder) ?? folder))
    return `${folder}, where its work trees would lie, is in it: ${DATA_ELSEWHERE}`;
  const holderPath = join(folder, keySegment(name));
  await mkdir(holderPath, { recursive: true, mode: 0o700 });
  const holder = await realpath(holderPath);
  const place = { holder, tree: join(holder, keySegment(name)), common };
  const resolved = (revision: string): Promise<string | null> => git.resolve(place, revision, gitDir);
  const base = await resolved('HEAD^{commit}');
  const isThere = base !== null && (await resolved(`${base}:${prefix}`)) !== null;
  if (!isThere) {
    await rm(holder, { recursive: true });
    return base === null
      ? 'it has no commit yet, and a work tree begins at one'
      : 'this folder is not in the last commit';
  }
  return await recordOnce<WorktreeRecord>(means, 'begun', {
    v: 1,
    ...place,
    host: host?.id ?? null,
    base,
    branch: `perdure/${keySegment(name)}`,
    prefix,
  });
}

const DATA_ELSEWHERE = 'have the data folder of the worker (PERDURE_DATA) outside of the repository';

/**
 * Tells whether a folder lies in the repository. Another work tree may hold it, too: the first one
 * lies around what they share.
 */
function isInRepository({ top, common }: Repository, folder: string): boolean {
  return [top, ...(basename(common) === '.git' ? [dirname(common)] : [common])].some((own) => isInside(own, folder));
}

/**
 * Turns off the changes that git makes to files on their way between store and disk. An agent has
 * them as they are stored, and a file that it has not changed is the same when it comes back: where
 * attributes ask for other line ends, a file with CRLF would count as changed.
 */
const AS_STORED = '* -text -ident -filter !working-tree-encoding\n';

/** Makes the work tree, also when an earlier attempt has left it half done. */
async function prepare({ git, attempt, worktree }: WorktreeMeans, record: WorktreeRecord): Promise<void> {
  if (existsSync(readyPath(record))) return;
  const { holder, tree, common, base, branch } = record;
  await mkdir(holder, { recursive: true, mode: 0o700 });
  await requireCurrent(attempt);
  const tip = await git.resolve(record, branchRef(record));
  if (tip !== null && tip !== base) throw new GitProblem(`its branch ${branch} is there already, at another commit`);
  if (tip === null) await git.refs(record, ['update-ref', branchRef(record), base, '0'.repeat(base.length)]);
  await git.run(record, [
    'rm',
    '-rf',
    '--',
    tree,
    join(holder, 'blank'),
    join(holder, 'index'),
    join(holder, 'index.lock'),
  ]);
  await worktree(record, 'add', '--force', '--force', '--no-checkout', tree, branch);
  const repository = findRepository(tree);
  if (typeof repository === 'string' || repository.common !== common)
    throw new GitProblem('git has made no work tree of this repository');
  const format = base.length === 40 ? 'sha1' : 'sha256';
  await git.files(record, ['init', '--quiet', '--template=', `--object-format=${format}`]);
  await mkdir(join(holder, 'blank', 'info'), { recursive: true });
  await writeFile(join(holder, 'blank', 'info', 'attributes'), AS_STORED);
  await git.files(record, ['read-tree', '--reset', '-u', base]);
  // This copy is for the agent that looks at it in there: the worker's own index stays out of
  // reach.
  await git.run(record, ['cp', '--', join(holder, 'index'), join(repository.gitDir, 'index')]);
  await writeFile(readyPath(record), '');
}

async function recordEnd(means: WorktreeMeans, end: WorktreeEnd): Promise<WorktreeEnd> {
  await requireCurrent(means.attempt);
  return await recordOnce(means, 'ended', end);
}

type Clearable = Exclude<WorktreeEnd, { kind: 'kept' }>;

/**
 * Removes the work tree. The branch stays where it holds something, or someone has moved it. A tree
 * that cannot be removed is left, and named.
 */
async function clearTree(
  { git, attempt, worktree }: WorktreeMeans,
  record: WorktreeRecord,
  end: Clearable,
): Promise<WorktreeEnd> {
  const { holder, tree, branch } = record;
  try {
    if (existsSync(holder)) {
      // A folder that is not writable keeps what lies in it.
      if (isFolder(tree)) await git.run(record, ['chmod', '-R', 'u+rwX', '--', tree]);
      await git.run(record, ['rm', '-rf', '--', tree]);
      await worktree(record, 'remove', '--force', '--force', tree).catch(ignoreProblem);
      const stays = end.kind !== 'committed' && (await removeBranch(git, record));
      await rm(holder, { recursive: true, force: true });
      if (stays) return { ...end, branch };
    }
    return end;
  } catch (error) {
    describeGitError(error, attempt);
    return { ...end, left: tree };
  }
}

/** Removes the branch where it is as it began, and tells whether it stays. */
async function removeBranch(git: HeldGit, record: WorktreeRecord): Promise<boolean> {
  await git.refs(record, ['update-ref', '-d', branchRef(record), record.base]).catch(ignoreProblem);
  return typeof (await git.resolve(record, branchRef(record)).catch(ignoreProblem)) === 'string';
}

/** Tells whether the path itself is a folder, and no link to one. */
function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Ignores git's problem: someone removed it before, or has moved the branch, which is theirs. */
function ignoreProblem(error: unknown): void {
  if (!(error instanceof GitProblem)) throw error;
}

/**
 * Another worker, or a person, may make a work tree at the same time all the same: then it is tried
 * again this often, after this many milliseconds more each time.
 */
const MOST_TRIES = 8;
const REST_MS = 50;

type WorktreeCommand = (
  git: HeldGit,
  place: WorktreePlace,
  args: readonly string[],
  signal: AbortSignal,
) => Promise<string>;

/**
 * Runs `git worktree` one at a time for a repository: it reads all of its work trees, and fails at
 * one that is half made or half removed. The agents of one reply begin at once (L72).
 */
export function createWorktreeCommand(): WorktreeCommand {
  const turns = new Map<string, ReturnType<typeof createLimit>>();
  return (git, place, args, signal) => {
    const turn = turns.get(place.common) ?? createLimit(1);
    turns.set(place.common, turn);
    return turn(async () => {
      for (let tries = 1; ; tries += 1) {
        try {
          return await git.refs(place, ['worktree', ...args]);
        } catch (error) {
          if (!isHalfMade(error) || tries === MOST_TRIES || !(await pause(tries * REST_MS, signal))) throw error;
        }
      }
    });
  };
}

function isHalfMade(error: unknown): boolean {
  return error instanceof GitProblem && error.message.includes('failed to read');
}
