// Takes a snapshot of a folder into the shadow repository (T1, T2): what is not ignored, as it
// lies, nested repositories as files, empty folders too. A snapshot is one tree: `files`, and
// `folders` with the names of the empty ones. It costs a stat for each file, and what has changed.
import { pathOfBuiltFile } from '../../system/process/places.ts';
import type { CommitAbout, CaptureRequest, Snapshot, SnapshotCaps } from './capture-folder.ts';
import type { CaptureAnswer } from './capture-process.ts';
import type { RootSnapshot } from './files-entry.ts';
import { type OmittedWhy, OutOfBounds } from './folder-index.ts';
import { listChanges } from './compare.ts';
import { showPath, type SnapshotChange } from './listing.ts';
import { clearLeft } from './restore/run-restore.ts';
import { openShadow, type RunHeld, shadowEnvironment, type ShadowPlace } from './shadow.ts';
import { NO_PERSONAL, type PersonalSettings } from './repository-rules.ts';
import type { Omitted } from './snapshot-notes.ts';

export type { RunHeld } from './shadow.ts';

export const DEFAULT_CAPS: SnapshotCaps = { files: 50_000, bytes: 1024 ** 3, fileBytes: 50 * 1024 ** 2 };

/** Whether, and how much, is captured (T2). */
export type SnapshotSettings =
  | boolean
  | (Partial<SnapshotCaps> & {
      /** Ignored files that are captured all the same, as lines of `.gitignore`. */
      readonly include?: readonly string[];
      /** Bytes of the disk that the snapshots of the machine take before no more are taken. */
      readonly diskBytes?: number;
    });

export type SnapshotMeans = {
  readonly place: ShadowPlace;
  /** The path of git. */
  readonly git: string;
  readonly run: RunHeld;
  readonly caps: SnapshotCaps;
  /** The subject of the snapshot, for people who read the history with git. */
  readonly about?: CommitAbout;
  readonly include?: readonly string[];
  /** Snapshots whose files count as captured, whatever rule matches them since. */
  readonly held?: readonly string[];
  /** Reads what the person has set for all repositories. */
  readonly personal?: () => Promise<PersonalSettings>;
  /** Leaves packs of what is new beside the index, where hosts share a store. */
  readonly packs?: boolean;
  /** Takes what the system told of changes for all that has changed, where it can be told. */
  readonly trustsWatch?: boolean;
  /** Captures by a process that stays; absent: by one of its own. */
  readonly capture?: ((request: CaptureRequest) => Promise<Snapshot>) | undefined;
};

/** The program that captures folders. */
export const captureProgram = (): readonly string[] => [
  process.execPath,
  pathOfBuiltFile('store/snapshots/capture-process.js'),
];

/**
 * Takes a snapshot. `before` is the id of the one to compare with. Rejects with what git or the
 * file system said.
 */
export async function takeSnapshot(means: SnapshotMeans, before: string | null): Promise<Snapshot> {
  const { place, git, caps, run, about, include = [], packs = false, trustsWatch = false, capture } = means;
  const personal = (await means.personal?.()) ?? NO_PERSONAL;
  await clearLeft(means);
  const optional = { ...(about && { about }), ...(means.held && { held: means.held }) };
  const request: CaptureRequest = { place, git, caps, include, personal, before, packs, trustsWatch, ...optional };
  if (capture) return await capture(request);
  await openShadow(place);
  const argv = [...captureProgram(), JSON.stringify(request)];
  return readCapture(await run(argv, { env: shadowEnvironment(), cwd: place.own }));
}

/** Throws what went wrong. `note` gets a line for the log. */
export function readCapture(line: string, note: (line: string) => void = () => undefined): Snapshot {
  const answer = JSON.parse(line) as CaptureAnswer;
  if (answer.kind === 'done') {
    if (answer.notice !== undefined) note(answer.notice);
    return answer.snapshot;
  }
  throw answer.isOutOfBounds ? new OutOfBounds(answer.problem) : new Error(answer.problem);
}

/** Compares two snapshots. */
export async function compareSnapshots(
  { place: { gitDir }, git, run }: Pick<SnapshotMeans, 'place' | 'git' | 'run'>,
  from: string | null,
  to: string,
): Promise<readonly SnapshotChange[]> {
  return await listChanges({ gitDir, git, run }, { from, to, paths: [] });
}

const MOST_NAMES = 50;

/** Describes a snapshot for the transcript. */
export function describeSnapshot(root: string, snapshot: Snapshot): RootSnapshot {
  const { id, before, files, bytes, changes, leftOut, leftOutCount } = snapshot;
  const count = (kind: SnapshotChange['kind']): number => changes.filter((change) => change.kind === kind).length;
  const [first] = leftOut;
  return {
    root,
    id,
    parent: before,
    files,
    bytes,
    added: count('added'),
    changed: count('changed'),
    deleted: count('deleted'),
    insertions: changes.reduce((sum, change) => sum + (change.insertions ?? 0), 0),
    deletions: changes.reduce((sum, change) => sum + (change.deletions ?? 0), 0),
    names: changes.slice(0, MOST_NAMES).map(({ path }) => showPath(path)),
    ...(first && { leftOut: { count: leftOutCount, first: describeLeftOut(first) } }),
  };
}

const REASONS: Readonly<Record<OmittedWhy, string>> = {
  large: 'it is larger than one file may be',
  unreadable: 'it cannot be read',
  files: 'there are more files than are captured',
  bytes: 'there are more bytes than are captured',
  no_file: 'it is neither a file nor a link',
  repository: 'it is a repository too deep within others, or there are too many',
  git: "it is git's own",
  data: "it is Perdure's own data",
};

function describeLeftOut({ path, why }: Omitted): string {
  return `${showPath(path)}: ${REASONS[why]}`;
}
