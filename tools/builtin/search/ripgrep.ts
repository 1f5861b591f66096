// Runs ripgrep and hands out its records as they come. It is linear in its input whatever the
// pattern, and runs in a process of its own.
import { relative } from 'node:path';
import { childEnvironment } from '../../../system/process/environment.ts';
import { importApart } from '../../../system/process/import-apart.mjs';
import { killTree, ownProcessId } from '../../../system/process/kill-tree.ts';
import { spawnPiped } from '../../../system/process/spawn-piped.ts';
import { pipePlace } from '../../../system/process/pipes.ts';
import { ToolFailure, type ToolContext } from '../../tool.ts';
import { runBuilt } from '../../../system/process/bwrap.ts';
import { listDataFolders } from '../../../system/process/data-folders.ts';
import { isInside } from '../../../system/process/places.ts';
import type { BuiltinOptions } from '../files/options.ts';
import type { SearchPlace } from './search-place.ts';

const TIME_LIMIT_MS = 20_000;
const MAX_PROBLEMS = 4_000;

type RipgrepEnd = {
  /** The time was up: more may match. */
  readonly timedOut: boolean;
  /** The places that it could not search, in its words; '' when it searched all. */
  readonly problems: string;
};

/** Returns Perdure's own data and all other data folders that are known. */
export const listHiddenFolders = ({ dataDir, sandbox }: BuiltinOptions, root: string): readonly string[] => [
  ...(dataDir === undefined ? [] : [dataDir]),
  ...listDataFolders(sandbox.places, [root]),
];

/**
 * Builds the arguments of every search: no configuration; git's folder, dependencies and the
 * `hidden` folders left out. The first two are searched when the request names them.
 */
export function buildCommonArguments(
  hidden: readonly string[],
  { root, name, ignoring }: SearchPlace,
  requested: readonly string[],
): string[] {
  const names = (folder: string): boolean => [...requested, name].some((text) => text.split(/[/,{}]/).includes(folder));
  const ownData = hidden.filter((path) => path !== root && isInside(root, path)).map((path) => relative(root, path));
  return [
    '--no-config',
    ...ignoring,
    '--color=never',
    '--sort=path',
    ...(names('node_modules') ? ['--no-ignore-vcs'] : ['--glob=!node_modules']),
    ...(names('.git') ? [] : ['--glob=!.git']),
    ...ownData.map((path) => `--glob=!/${path.replaceAll(/[\\*?[\]{}!]/g, '\\$&')}`),
  ];
}

type RipgrepSearch = {
  readonly separator: number;
  readonly place: SearchPlace;
  readonly onRecord: (record: Buffer) => void;
};

/**
 * Calls `onRecord` for each record of standard output, without its `separator`. Throws ToolFailure
 * for what ripgrep refuses. It reads what an agent has written, so it is held, where that is
 * possible, as a command that only reads.
 */
export async function runRipgrep(
  args: readonly string[],
  searching: RipgrepSearch,
  context: ToolContext,
  options: BuiltinOptions,
): Promise<RipgrepEnd> {
  const { sandbox, dataDir } = options;
  const { cwd, folders } = context;
  const { rgPath } = await loadRipgrep();
  const { root } = searching.place;
  const argv = [rgPath, ...args];
  const build = (): readonly string[] =>
    sandbox.kind === 'bwrap' ? sandbox.wrap(argv, { cwd, folders, dir: root, dataDir, readOnly: true }) : argv;
  // Nothing was searched where a socket that was to be masked had gone: the next look finds none.
  return await runBuilt(
    build,
    (built) => searchOnce(built, searching, context, options),
    ({ problems }) => problems,
  );
}

async function searchOnce(
  argv: readonly string[],
  { separator, place: { root }, onRecord }: RipgrepSearch,
  context: ToolContext,
  { sandbox, dataDir }: BuiltinOptions,
): Promise<RipgrepEnd> {
  const { signal } = context;
  const env = childEnvironment(process.env, { cwd: root, callId: ownProcessId('helper') });
  const child = await spawnPiped(argv, { cwd: root, env, pipes: pipePlace(sandbox.programs, dataDir) });
  child.stdin.end();
  let timedOut = false;
  let problems = '';
  // The whole tree is ended: a process that is still in the set-up of its sandbox would outlive the
  // one that was started.
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

/** Loads the package apart, because a bundle would read its program. */
function loadRipgrep(): Promise<typeof import('@vscode/ripgrep')> {
  return importApart('@vscode/ripgrep');
}

/** Tells whether the problem is about the request, not about a file: nothing was searched. */
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

/** Writes notes for the end of an answer. */
export function writeSearchNotes(
  { timedOut, problems }: RipgrepEnd,
  { mayShow }: Pick<ToolContext, 'mayShow'>,
): string[] {
  const lines = timedOut ? [`(stopped after ${TIME_LIMIT_MS / 1_000} s: narrow the search to see the rest)`] : [];
  if (problems !== '') lines.push(`(not everything could be searched: ${problems.split('\n')[0]?.slice(0, 300)})`);
  // The note stands there whether or not a file was denied: else it would reveal that one exists.
  if (mayShow) lines.push('(without the files that permission rules deny)');
  return lines;
}
