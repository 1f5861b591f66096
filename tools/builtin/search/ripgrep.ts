// Runs ripgrep and hands out its records as they come. It is linear in its input whatever the
// pattern, and runs beside the worker, not in it.
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { stat } from 'node:fs/promises';
import { childEnvironment } from '../../../system/process/environment.ts';
import { importApart } from '../../../system/process/import-apart.mjs';
import { killTree } from '../../../system/process/kill-tree.ts';
import { ownProcessId } from '../../../system/process/orphans.ts';
import { spawnPiped } from '../../../system/process/spawn-piped.ts';
import { pipePlace } from '../../../system/process/pipes.ts';
import { ToolFailure, type ToolContext } from '../../tool.ts';
import { isNeverBuilt } from '../../../system/process/bwrap.ts';
import { foldersUp, isInside } from '../../../system/process/places.ts';
import { type Workspace, confine, fsFailure, quotePath, toDir } from '../files/confine.ts';
import type { BuiltinOptions } from '../files/options.ts';

const TIME_LIMIT_MS = 20_000;
const MAX_PROBLEMS = 4_000;

type RipgrepEnd = {
  /** The time was up: there may be more. */
  readonly timedOut: boolean;
  /** The places it could not search, in its words; '' when it searched all. */
  readonly problems: string;
};

/**
 * The arguments of every search: no configuration; git's folder, dependencies and Perdure's own
 * data left out. The first two can be had by naming them in what was asked for.
 */
export function commonArguments(
  { hidden }: Workspace,
  { root, name, ignoring }: SearchPlace,
  asked: readonly string[],
): string[] {
  const names = (folder: string): boolean => [...asked, name].some((text) => text.split(/[/,{}]/).includes(folder));
  const ownData =
    hidden !== undefined && hidden !== root && isInside(root, hidden) ? relative(root, hidden) : undefined;
  return [
    '--no-config',
    ...ignoring,
    '--color=never',
    '--sort=path',
    ...(names('node_modules') ? ['--no-ignore-vcs'] : ['--glob=!node_modules']),
    ...(names('.git') ? [] : ['--glob=!.git']),
    ...(ownData === undefined ? [] : [`--glob=!/${ownData.replaceAll(/[\\*?[\]{}!]/g, '\\$&')}`]),
  ];
}

type Searching = { readonly separator: number; readonly place: SearchPlace };

/**
 * Calls `onRecord` for each record of standard output, without its `separator`. Throws ToolFailure
 * for what ripgrep refuses. It reads what an agent has written, so where it can be held it is, as a
 * command that only reads.
 */
export async function ripgrep(
  args: readonly string[],
  searching: Searching,
  context: ToolContext,
  options: BuiltinOptions,
  onRecord: (record: Buffer) => void,
): Promise<RipgrepEnd> {
  const first = await searchOnce(args, searching, context, options, onRecord);
  // Nothing was searched: a socket that was to be masked had gone. The next look does not find it.
  return isNeverBuilt(first.problems) ? searchOnce(args, searching, context, options, onRecord) : first;
}

async function searchOnce(
  args: readonly string[],
  { separator, place: { root } }: Searching,
  context: ToolContext,
  { sandbox, dataDir }: BuiltinOptions,
  onRecord: (record: Buffer) => void,
): Promise<RipgrepEnd> {
  const { cwd, folders, signal } = context;
  const env = childEnvironment(process.env, { cwd: root, callId: ownProcessId('helper') });
  const { rgPath } = await ripgrepPackage();
  const argv = [rgPath, ...args];
  const held =
    sandbox.kind === 'bwrap' ? sandbox.wrap(argv, { cwd, folders, dir: root, dataDir, readOnly: true }) : argv;
  const child = await spawnPiped(held, { cwd: root, env, pipes: pipePlace(sandbox.programs, dataDir) });
  child.stdin.end();
  let timedOut = false;
  let problems = '';
  // All of it: what is still in the set-up of its sandbox would outlive the process that was
  // started.
  const stop = (): void => void killTree(child.tree, { graceMs: 0 });
  const timer = setTimeout(() => {
    timedOut = true;
    stop();
  }, TIME_LIMIT_MS);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    problems = (problems + text).slice(0, MAX_PROBLEMS);
  });
  splitRecords(child.stdout, separator, onRecord);
  try {
    const { code } = await child.closed();
    if (signal.aborted) throw new ToolFailure('Stopped while searching.');
    if (code === null && !timedOut) throw new ToolFailure('The search was ended by something else: try again.');
    if (code === 2 && isRefusal(problems)) throw new ToolFailure(problems.trim());
    return { timedOut, problems: problems.trim() };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}

/** Not for bundles, which would read its program. */
function ripgrepPackage(): Promise<typeof import('@vscode/ripgrep')> {
  return importApart('@vscode/ripgrep');
}

/** About the request, not about a file: nothing was searched. */
function isRefusal(problems: string): boolean {
  return /regex parse error|error parsing glob|regex exceeds|not allowed in a regex|invalid value/i.test(problems);
}

function splitRecords(stream: NodeJS.ReadableStream, separator: number, onRecord: (record: Buffer) => void): void {
  let carry: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => {
    let from = 0;
    for (let at = chunk.indexOf(separator); at !== -1; at = chunk.indexOf(separator, from)) {
      const record = chunk.subarray(from, at);
      onRecord(carry.length === 0 ? record : Buffer.concat([...carry, record]));
      carry = [];
      from = at + 1;
    }
    if (from < chunk.length) carry.push(chunk.subarray(from));
  });
}

/** Notes for the end of an answer. */
export function searchNotes({ timedOut, problems }: RipgrepEnd, { mayShow }: Pick<ToolContext, 'mayShow'>): string[] {
  const said = timedOut ? [`(stopped after ${TIME_LIMIT_MS / 1_000} s: narrow the search to see the rest)`] : [];
  if (problems !== '') said.push(`(not everything could be searched: ${problems.split('\n')[0]?.slice(0, 300)})`);
  // Whether or not there was any: that there is would say something of it.
  if (mayShow) said.push('(without the files that permission rules deny)');
  return said;
}

// Where a search begins: a folder or file of the workspace, as an argument that cannot be taken for
// an option.

export type SearchPlace = {
  /** The workspace, or the other folder of the run that it lies in. */
  readonly root: string;
  /** Relative to the root; '' is the root. */
  readonly name: string;
  /** What ripgrep is given to search: perhaps more than was asked for. */
  readonly argument: string;
  readonly isFolder: boolean;
  /** Which ignore files count, in ripgrep's words. */
  readonly ignoring: readonly string[];
  /**
   * From a name relative to the root to one relative to the place; null for what lies elsewhere. Of
   * a file that is the place, as it is.
   */
  readonly within: (name: string) => string | null;
};

export async function searchPlace(workspace: Workspace, path = '.'): Promise<SearchPlace> {
  const { path: real, root } = await confine(workspace, path);
  const stats = await stat(real).catch((error: unknown) => {
    throw fsFailure(error, path, 'searched');
  });
  if (!stats.isDirectory() && !stats.isFile())
    throw new ToolFailure(`${quotePath(path)} is neither a folder nor a file.`);
  const name = relative(root, real);
  const isFolder = stats.isDirectory();
  const above = ignoredAbove(root);
  // Ignore files between the root and the place count, and with those above the root ripgrep would
  // leave them out as well.
  const argument = isFolder && above === 'must_not' ? './' : `./${name}`;
  const within = (file: string): string | null => {
    if (name === '' || (!isFolder && file === name)) return file;
    return isFolder && file.startsWith(`${name}/`) ? file.slice(name.length + 1) : null;
  };
  return { root, name, argument, isFolder, ignoring: IGNORING[above], within };
}

const IGNORING: Readonly<Record<ReturnType<typeof ignoredAbove>, readonly string[]>> = {
  as_git: [],
  nothing: ['--no-require-git'],
  must_not: ['--no-require-git', '--no-ignore-parent'],
};

/**
 * Whether ignore files above a workspace may hide what lies in it: within a repository git's own
 * rules count, up to its root; a `.gitignore` in somebody's home is about nothing below it.
 */
function ignoredAbove(root: string): 'as_git' | 'nothing' | 'must_not' {
  const [, ...above] = foldersUp(root);
  if ([root, ...above].some((folder) => existsSync(join(folder, '.git')))) return 'as_git';
  const isAbove = above.some((folder) => IGNORE_FILES.some((name) => existsSync(join(folder, name))));
  return isAbove ? 'must_not' : 'nothing';
}

const IGNORE_FILES = ['.gitignore', '.ignore', '.rgignore'];

/**
 * From a name relative to the root of a search to one that the model can give back: in other
 * folders than the workspace, absolute.
 */
export function namesFrom(context: ToolContext, { root }: SearchPlace): (name: string) => string {
  return root === context.cwd ? toDir(context) : (name) => join(root, name);
}

/**
 * Whether a name relative to the root of a search may be told of. Of one file many come after each
 * other.
 */
export function shownIn({ mayShow }: Pick<ToolContext, 'mayShow'>, { root }: SearchPlace): (name: string) => boolean {
  if (!mayShow) return () => true;
  let [last, shown]: [string | null, boolean] = [null, true];
  return (name) => {
    if (name !== last) [last, shown] = [name, mayShow(join(root, name))];
    return shown;
  };
}

/** Each line that ripgrep prints begins with the argument it was given. */
export function withoutDot(path: string): string {
  return path.startsWith('./') ? path.slice(2) : path;
}

// The first few of many in order, in bounded memory, and how many there were.

type Top = {
  add(line: string): void;
  count(): number;
  /** Sorted by code unit. */
  first(): readonly string[];
};

export function topOf(most: number): Top {
  let kept: string[] = [];
  let count = 0;
  const first = (): readonly string[] => {
    kept = kept.sort().slice(0, most);
    return kept;
  };
  return {
    add(line) {
      kept.push(line);
      count++;
      if (kept.length >= 4 * most + 1_000) first();
    },
    count: () => count,
    first,
  };
}
