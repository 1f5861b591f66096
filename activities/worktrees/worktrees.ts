// A git work tree and branch of its own for an agent (L72): made before its first run, committed
// and removed when its session ends. Each may be attempted again: the store holds what was begun
// and what came of it.
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
import { worktreeRecordProblem, worktreesFolderOf, type WorktreeRecord } from '../../store/worktree-record.ts';
import { commitWorktree, fence, keptAt, readyIn, refOf, saidBy } from './commit-worktree.ts';
import { GitProblem, heldGit, type HeldGit, worktreeCommands } from './held-git.ts';
import { findRepository, type Repository } from './repository.ts';

type Options = {
  readonly store: Store;
  readonly sandbox: Sandbox;
  /** Work trees lie in a folder beside it. */
  readonly dataDir: string;
  readonly host: SessionHost | undefined;
};

type Bench = Options & {
  readonly attempt: Attempt;
  readonly git: HeldGit;
  readonly worktree: (begun: WorktreeRecord, ...args: readonly string[]) => Promise<string>;
};

export function createWorktrees(options: Options): Worktrees {
  const { store, sandbox, dataDir, host } = options;
  const command = worktreeCommands();
  const bench = (attempt: Attempt): Bench => {
    const { signal } = attempt;
    const git = heldGit(sandbox, dataDir, signal);
    return { ...options, attempt, git, worktree: (begun, ...args) => command(git, begun, args, signal) };
  };
  return {
    async open(attempt, workspace) {
      try {
        const known = await read<WorktreeRecord>(store, attempt.session, 'begun');
        if (!known && realOf(workspace) === null) return { kind: 'elsewhere', path: workspace };
        const begun = known ?? (await begin(bench(attempt), workspace));
        if (typeof begun === 'string') return { kind: 'problem', detail: begun };
        const path = join(begun.tree, begun.prefix);
        if (begun.host !== (host?.id ?? null)) return { kind: 'elsewhere', path, prefix: begun.prefix };
        const astray = worktreeRecordProblem(begun, attempt.session, dataDir);
        if (astray !== null) return { kind: 'problem', detail: astray };
        await prepare(bench(attempt), begun);
        return { kind: 'opened', path, prefix: begun.prefix };
      } catch (error) {
        return { kind: 'problem', detail: saidBy(error, attempt) };
      }
    },
    async end(attempt, about) {
      const begun = await read<WorktreeRecord>(store, attempt.session, 'begun');
      if (begun === null) return null;
      if (begun.host !== (host?.id ?? null)) return keptAt(begun, 'the host that has it is away');
      const astray = worktreeRecordProblem(begun, attempt.session, dataDir);
      if (astray !== null) return keptAt(begun, astray);
      const known = await read<WorktreeEnd>(store, attempt.session, 'ended');
      const end = known ?? (await recordEnd(bench(attempt), await commitWorktree(bench(attempt), begun, about)));
      return end.kind === 'kept' ? end : await cleared(bench(attempt), begun, end);
    },
  };
}

const keyOf = (session: SessionId, what: 'begun' | 'ended'): string => `worktrees/${keySegment(session)}/${what}`;

async function read<Value>(store: Store, session: SessionId, what: 'begun' | 'ended'): Promise<Value | null> {
  const bytes = await store.read(keyOf(session, what));
  return bytes && (parseStored(bytes) as Value);
}

/** Of all attempts ever, the first counts. */
async function record<Value>(
  { store, attempt: { session } }: Bench,
  what: 'begun' | 'ended',
  value: Value,
): Promise<Value> {
  const made = await store.create(keyOf(session, what), Buffer.from(JSON.stringify(value)));
  return made.kind === 'created' ? value : (parseStored(made.bytes) as Value);
}

async function begin(bench: Bench, workspace: string): Promise<WorktreeRecord | string> {
  const { dataDir, host, attempt, git } = bench;
  const repository = findRepository(workspace);
  if (typeof repository === 'string') return repository;
  const { gitDir, common, prefix } = repository;
  const name = agentName(attempt.session);
  const beside = worktreesFolderOf(dataDir);
  if (holds(repository, realOf(beside) ?? beside))
    return `${beside}, where its work trees would lie, is in it: ${ELSEWHERE}`;
  const wanted = join(beside, keySegment(name));
  await mkdir(wanted, { recursive: true, mode: 0o700 });
  const holder = await realpath(wanted);
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
  return await record<WorktreeRecord>(bench, 'begun', {
    v: 1,
    ...place,
    host: host?.id ?? null,
    base,
    branch: `perdure/${keySegment(name)}`,
    prefix,
  });
}

const ELSEWHERE = 'have the data folder of the worker (PERDURE_DATA) outside of the repository';

/**
 * Another work tree of the repository may hold it, too: the first one lies around what they share.
 */
function holds({ top, common }: Repository, folder: string): boolean {
  return [top, ...(basename(common) === '.git' ? [dirname(common)] : [common])].some((own) => isInside(own, folder));
}

/**
 * Of what git does to files on their way between store and disk. An agent has them as they are
 * stored, and what it has not changed is the same when it comes back: where attributes ask for
 * other line ends, a file with CRLF would count as changed.
 */
const AS_STORED = '* -text -ident -filter !working-tree-encoding\n';

/** Also what an attempt before has left half done. */
async function prepare({ git, attempt, worktree }: Bench, begun: WorktreeRecord): Promise<void> {
  if (existsSync(readyIn(begun))) return;
  const { holder, tree, common, base, branch } = begun;
  await mkdir(holder, { recursive: true, mode: 0o700 });
  await fence(attempt);
  const tip = await git.resolve(begun, refOf(begun));
  if (tip !== null && tip !== base) throw new GitProblem(`its branch ${branch} is there already, at another commit`);
  if (tip === null) await git.refs(begun, ['update-ref', refOf(begun), base, '0'.repeat(base.length)]);
  await git.run(begun, [
    'rm',
    '-rf',
    '--',
    tree,
    join(holder, 'blank'),
    join(holder, 'index'),
    join(holder, 'index.lock'),
  ]);
  await worktree(begun, 'add', '--force', '--force', '--no-checkout', tree, branch);
  const own = findRepository(tree);
  if (typeof own === 'string' || own.common !== common)
    throw new GitProblem('git has made no work tree of this repository');
  const format = base.length === 40 ? 'sha1' : 'sha256';
  await git.files(begun, ['init', '--quiet', '--template=', `--object-format=${format}`]);
  await mkdir(join(holder, 'blank', 'info'), { recursive: true });
  await writeFile(join(holder, 'blank', 'info', 'attributes'), AS_STORED);
  await git.files(begun, ['read-tree', '--reset', '-u', base]);
  // For whoever looks at it in there: the worker's own stays out of reach.
  await git.run(begun, ['cp', '--', join(holder, 'index'), join(own.gitDir, 'index')]);
  await writeFile(readyIn(begun), '');
}

async function recordEnd(bench: Bench, end: WorktreeEnd): Promise<WorktreeEnd> {
  await fence(bench.attempt);
  return await record(bench, 'ended', end);
}

type Clearable = Exclude<WorktreeEnd, { kind: 'kept' }>;

/**
 * The branch stays where it holds something, or somebody has moved it. What cannot be removed is
 * left, and told.
 */
async function cleared({ git, attempt, worktree }: Bench, begun: WorktreeRecord, end: Clearable): Promise<WorktreeEnd> {
  const { holder, tree, branch } = begun;
  try {
    if (existsSync(holder)) {
      // A folder that is not writable keeps what lies in it.
      if (isFolder(tree)) await git.run(begun, ['chmod', '-R', 'u+rwX', '--', tree]);
      await git.run(begun, ['rm', '-rf', '--', tree]);
      await worktree(begun, 'remove', '--force', '--force', tree).catch(ignoreProblem);
      const stays = end.kind !== 'committed' && (await branchStays(git, begun));
      await rm(holder, { recursive: true, force: true });
      if (stays) return { ...end, branch };
    }
    return end;
  } catch (error) {
    saidBy(error, attempt);
    return { ...end, left: tree };
  }
}

/** It is removed where it is as it began. */
async function branchStays(git: HeldGit, begun: WorktreeRecord): Promise<boolean> {
  await git.refs(begun, ['update-ref', '-d', refOf(begun), begun.base]).catch(ignoreProblem);
  return typeof (await git.resolve(begun, refOf(begun)).catch(ignoreProblem)) === 'string';
}

/** Not what a link in its place leads to. */
function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Someone removed it before, or has moved the branch: it is theirs. */
function ignoreProblem(error: unknown): void {
  if (!(error instanceof GitProblem)) throw error;
}
