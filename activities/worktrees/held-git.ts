// Runs git for the worker on a repository that is not trusted: held as an agent's command is,
// without a network, with none of the repository's hooks, and with its configuration only where
// refs and work trees are made.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { WorktreePlace, WorktreeRecord } from '../../store/worktree-record.ts';
import { gitEnvironment } from '../../system/process/environment.ts';
import { pipePlace, type PipePlace } from '../../system/process/pipes.ts';
import { realOf } from '../../system/process/places.ts';
import { runProgram } from '../../system/process/spawn-piped.ts';
import { clip, codeOf, describeExit, onOneLine, reasonOf } from '../../system/text.ts';
import type { Sandbox } from '../../tools/sandbox.ts';
import type { EndWorktree, WorktreeEnd } from '../../workflows/contract/delegation.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { type Attempt, createGivenUpError } from '../attempt.ts';

export type HeldGit = {
  /**
   * Makes and resolves refs and work trees: the repository's configuration is read for its format.
   */
  refs(place: WorktreePlace, args: readonly string[], gitDir?: string): Promise<string>;
  /** Resolves a revision; null for one that does not exist. */
  resolve(place: WorktreePlace, revision: string, gitDir?: string): Promise<string | null>;
  /**
   * Stores and checks out files: git reads no configuration but an empty one, so that no filter is
   * defined.
   */
  files(place: WorktreePlace, args: readonly string[]): Promise<string>;
  /** Runs a helper on files of the place. */
  run(place: WorktreePlace, argv: readonly string[]): Promise<string>;
};

/** One line that git, or a helper, said. */
export class GitProblem extends Error {
  override readonly name = 'GitProblem';
  /** The status of the program that said it; null when none did. */
  readonly status: number | null;

  constructor(message: string, status: number | null = null) {
    super(message);
    this.status = status;
  }
}

/** Milliseconds for one command: a large repository takes its time to check out. */
const LONGEST_MS = 300_000;
const MOST_OUTPUT = 64 * 1024 * 1024;

const SETTINGS = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.attributesFile=/dev/null',
  'gc.auto=0',
  'maintenance.auto=false',
].flatMap((setting) => ['-c', setting]);

export function createHeldGit(sandbox: Sandbox, dataDir: string, signal: AbortSignal): HeldGit {
  const git = sandbox.programs.at('git');
  const runHeld = (
    { holder }: WorktreePlace,
    argv: readonly string[],
    { folders, env = {} }: { readonly folders: readonly string[]; readonly env?: Readonly<Record<string, string>> },
  ): Promise<string> => {
    const wrapped = () => sandbox.wrap(argv, { cwd: holder, folders, dataDir, offline: true });
    const pipes = pipePlace(sandbox.programs, dataDir);
    return readOutput(wrapped, { env: { ...sandbox.programs.environment(), ...env }, cwd: holder, pipes, signal });
  };
  const refs: HeldGit['refs'] = (place, args, gitDir = place.common) => {
    if (!existsSync(git)) return Promise.reject(new GitProblem('git is not installed on this worker'));
    return runHeld(place, [git, `--git-dir=${gitDir}`, ...SETTINGS, ...args], {
      folders: [place.common],
      env: gitEnvironment(),
    });
  };
  return {
    refs,
    resolve: async (place, revision, gitDir) => {
      const found = await refs(place, ['rev-parse', '--verify', '--quiet', revision], gitDir).catch(
        (error: unknown) => {
          // Git says nothing about a revision that does not exist.
          if (error instanceof GitProblem && error.status === 1) return '';
          throw error;
        },
      );
      return found === '' ? null : found;
    },
    files: async (place, args) => {
      const { holder, tree, common } = place;
      const objects = join(common, 'objects');
      const env = { ...gitEnvironment(), GIT_OBJECT_DIRECTORY: objects, GIT_INDEX_FILE: join(holder, 'index') };
      const excludes = ['-c', `core.excludesFile=${join(common, 'info', 'exclude')}`, '-c', 'core.bare=false'];
      const own = [`--git-dir=${join(holder, 'blank')}`, `--work-tree=${tree}`, ...SETTINGS, ...excludes];
      return await runHeld(place, [git, ...own, ...args], { folders: [objects], env });
    },
    run: (place, [name = '', ...args]) =>
      runHeld(place, [sandbox.programs.at(name), ...args], { folders: [place.common] }),
  };
}

type RunOptionsOfGit = {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly pipes: PipePlace;
  readonly signal: AbortSignal;
};

/** Runs a program. Rejects with a GitProblem, or with the signal's reason. */
async function readOutput(argv: () => readonly string[], running: RunOptionsOfGit): Promise<string> {
  running.signal.throwIfAborted();
  const limits = { timeoutMs: LONGEST_MS, mostOutput: MOST_OUTPUT };
  const { cut, exit, stdout, stderr } = await runProgram(argv, { ...running, ...limits }).catch((error: unknown) => {
    throw gitProblem(reasonOf(error), null);
  });
  if (cut === undefined && exit.code === 0) return stdout.trimEnd();
  running.signal.throwIfAborted();
  const tooMuch = cut === 'output' && `it printed more than ${MOST_OUTPUT} bytes`;
  const tooLong = cut === 'time' && `it took more than ${LONGEST_MS / 1000} s`;
  const status = `it ended with ${describeExit(exit)}`;
  throw gitProblem(tooMuch || tooLong || stderr.trim() || status, exit.code);
}

const gitProblem = (why: string, status: number | null): GitProblem =>
  new GitProblem(clip(onOneLine(why), 300), status);

// Commits what an agent has left in its work tree, as one commit on its branch (L72), and names the
// places that both ends of a work tree use.
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
