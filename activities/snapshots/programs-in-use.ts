// Names the programs that going back would surprise (T7): those that have a file open which is to
// be written or deleted, a database with what lies beside it, those that work in the folder, and
// the session's own commands in the background.
import { backgroundRoot, openBackgroundFolder } from '../../system/process/background-files.ts';
import { findFolderUse, type FolderUse } from '../../system/process/programs.ts';
import { clip, onOneLine } from '../../system/text.ts';
import { type RawPath, showPath, type SnapshotChange } from '../../store/snapshots/listing.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';

type ProgramsInUse = {
  /** Words for people, as in `node (pid 1234) has data.db open`. */
  readonly named: readonly string[];
  /** The first of those that may write to a file while it is restored; null without one. */
  readonly writer: string | null;
};

type UseAbout = {
  readonly dataDir: string;
  readonly session: SessionId;
  readonly root: string;
  readonly changes: readonly SnapshotChange[];
};

const MOST_NAMED = 10;
const LONGEST_COMMAND = 60;

export async function findProgramsInUse({ dataDir, session, root, changes }: UseAbout): Promise<ProgramsInUse> {
  if (changes.length === 0) return { named: [], writer: null };
  const changed = new Set(changes.map(({ path }) => withoutCompanion(path)));
  const commands = listRunning(dataDir, session);
  const named: string[] = [];
  let writer: string | null = null;
  for (const use of await findFolderUse(root)) {
    const command = commands.get(use.mark ?? '');
    const who = command === undefined ? `${use.name} (pid ${use.pid})` : `the background command ${command}`;
    const files = use.files.filter(({ path }) => changed.has(withoutCompanion(path)));
    for (const { path, writes } of files) {
      const words = `${who} has ${showPath(path)} open${writes ? ' for writing' : ''}`;
      if (writes) writer ??= words;
      named.push(words);
    }
    if (files.length === 0 && use.worksThere && command === undefined && !isHelper(use))
      named.push(`${who} runs in ${root}`);
  }
  const running = [...commands.values()].map((command) => `the background command ${command} is still running`);
  const all = [...new Set([...running, ...named])];
  const more = all.length > MOST_NAMED ? [`${all.length - MOST_NAMED} more`] : [];
  return { named: [...all.slice(0, MOST_NAMED), ...more], writer };
}

/** Says how to go on where a program may write to a file while it is restored. */
export const describeWriter = (writer: string): string =>
  `${writer}: stop it first, or use force to go back all the same`;

/** Maps SQLite's companion files to the name of their database. */
const withoutCompanion = (path: RawPath): RawPath => path.replace(/-(?:wal|shm|journal)$/, '');

/** Servers and helpers of a worker work in the folder, too, and change nothing by themselves. */
const isHelper = ({ mark = '' }: FolderUse): boolean => /^(?:helper|hook|mcp)\//.test(mark);

/** Returns the commands of a session that run in the background, by their marks. */
function listRunning(dataDir: string, session: SessionId): ReadonlyMap<string, string> {
  const records = openBackgroundFolder(backgroundRoot(dataDir), session).list();
  const words = (command: string): string => `\`${clip(onOneLine(command), LONGEST_COMMAND)}\``;
  return new Map(records.filter(({ end }) => !end).map(({ mark, command }) => [mark, words(command)]));
}
