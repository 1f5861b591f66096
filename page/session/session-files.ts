// Joins what the snapshots of a session's files tell with the calls that asked for it: the files
// that differ from how they were at the beginning, whoever changed them (T11).
import { isAbsolute, join } from 'node:path';
import { ClientProblem } from '../../client/faces/start.ts';
import { callsText, listTouchedFiles } from '../../client/faces/turns.ts';
import type { FilesCapture, ChangedFile, DiffOptions, FileEdit, TouchedFile } from '../../client/faces/types.ts';
import { listCaptures } from '../../client/faces/files.ts';
import type { Standing } from '../feed/standing.tsx';
import type { PagePorts } from '../ports.ts';

export type SessionFile = {
  /** Relative to the session's folder where it lies there. */
  readonly path: string;
  /** Is null where the snapshots tell of no change. */
  readonly change: ChangedFile | null;
  /** The changes that calls asked for, the oldest first. */
  readonly edits: readonly FileEdit[];
  /** Names the calls behind the last capture in which it had changed; empty where none is known. */
  readonly cause: string;
};

export type SessionFiles = {
  readonly files: readonly SessionFile[];
  /** Says why the snapshots do not tell what has changed; null where they do. */
  readonly problem: string | null;
  /** One line for each file that stopped being captured, or began to be. */
  readonly uncaptured: readonly string[];
  /** The points between which files are compared. */
  readonly between: Between;
  /** The capture that is shown alone; null where all are. */
  readonly capture: FilesCapture | null;
};

type Between = Pick<DiffOptions, 'from' | 'to'>;
type FilePorts = Pick<PagePorts, 'diffOf'>;
type Shown = Pick<Standing, 'seen' | 'items'>;

/** `at` is the position of a capture that is shown alone. */
export async function readSessionFiles({ diffOf }: FilePorts, state: Shown, at?: number): Promise<SessionFiles> {
  const { seen: description, items } = state;
  const { cwd } = description;
  const changed = at === undefined ? listTouchedFiles(items.all) : [];
  try {
    const { entries } = items;
    const captures = listCaptures(entries);
    const capture = captures.find(({ position }) => position === at) ?? null;
    const between = at === undefined ? {} : { from: positionBefore(captures, at), to: at };
    const found = await diffOf(description, entries, { ...between, stat: true });
    const uncaptured = (found.uncaptured ?? []).map(({ path, why }) => `${path}: ${why}`);
    const files = joinFiles(cwd, { changed, found: found.files, captures });
    return { files, problem: null, uncaptured, between, capture };
  } catch (error) {
    if (!(error instanceof ClientProblem)) throw error;
    const known = joinFiles(cwd, { changed, found: [], captures: [] });
    return { files: known, problem: error.message, uncaptured: [], between: {}, capture: null };
  }
}

/** Throws ClientProblem. */
function positionBefore(captures: readonly FilesCapture[], at: number): number {
  const index = captures.findIndex(({ position }) => position === at);
  const before = captures[index - 1];
  if (before) return before.position;
  throw new ClientProblem('refused', `entry ${at} is no capture of files after another`);
}

/** Returns the patch of one file, as `git diff` prints it; null for one that is too large. */
export async function readPatch(
  { diffOf }: FilePorts,
  state: Shown,
  { root, path }: ChangedFile,
  between: Between,
): Promise<string | null> {
  return (await diffOf(state.seen, state.items.entries, { ...between, paths: [join(root, path)] })).patch;
}

type Told = {
  readonly changed: readonly TouchedFile[];
  readonly found: readonly ChangedFile[];
  readonly captures: readonly FilesCapture[];
};

/**
 * A file that calls changed, and of which no snapshot tells, comes last: it was changed back, or
 * lies elsewhere.
 */
export function joinFiles(cwd: string, { changed, found, captures }: Told): readonly SessionFile[] {
  const touched = new Map<string, { readonly path: string; readonly edits: readonly FileEdit[] }>();
  for (const { path, edits } of changed) {
    const place = absolutePath(cwd, path);
    touched.set(place, { path, edits: [...(touched.get(place)?.edits ?? []), ...edits] });
  }
  const captured = found.map((change): SessionFile => {
    const { root, path } = change;
    const place = join(root, path);
    const edits = touched.get(place)?.edits ?? [];
    touched.delete(place);
    return { path: root === cwd ? path : place, change, edits, cause: causeOf(captures, change) };
  });
  return [...captured, ...[...touched.values()].map((one) => ({ ...one, change: null, cause: '' }))];
}

const absolutePath = (cwd: string, path: string): string => (isAbsolute(path) ? join(path) : join(cwd, path));

function causeOf(captures: readonly FilesCapture[], { root, path }: ChangedFile): string {
  const behind = captures.findLast(({ roots }) =>
    roots.some((one) => one.root === root && one.parent !== null && one.names.includes(path)),
  );
  return behind && behind.calls.length > 0 ? callsText(behind.calls) : '';
}
