// The request and the result of a rewind (T6, T7): the conversation continues from an earlier head,
// the folders go back to earlier snapshots, or both.
import { isHash, type Hash } from './ids.ts';

/**
 * An update to a session at rest. Without `to` the conversation stays, without `files` the folders
 * do.
 */
export type RewindRequest = {
  /** The head that the session has, as its sender knows it. */
  readonly from: Hash;
  /** Null: the conversation is empty then. */
  readonly to?: Hash | null;
  /** Tokens in context at `to`, as its last reply counted them. */
  readonly contextTokens?: number;
  readonly files?: readonly FolderRewind[];
  /**
   * What lies in folders that do not go back, as what is left behind tells. The entry of the rewind
   * says it from then on.
   */
  readonly known?: readonly KnownFolder[];
  /** Overwrites what others have changed since the last snapshot, or have open for writing. */
  readonly force?: true;
};

/**
 * `root` is an absolute real path; `known` is the newest snapshot that the session knows of it, and
 * `nested` has those of folders that lie in it or around it.
 */
export type FolderRewind = {
  readonly root: string;
  readonly known: string;
  readonly to: string;
  readonly nested?: readonly { readonly root: string; readonly known: string }[];
};

/**
 * A folder and its newest snapshot. `first`: its first one, where the conversation that is kept
 * tells of none.
 */
export type KnownFolder = { readonly root: string; readonly id: string; readonly first?: string };

/** Which transcript entry says so: `before` has the files as they were right before. */
export type RewindRecord = {
  readonly from: Hash;
  readonly to?: Hash | null;
  readonly files?: readonly FolderRewindRecord[];
  readonly known?: readonly KnownFolder[];
};

export type FolderRewindRecord = {
  readonly root: string;
  readonly before: string;
  readonly to: string;
  /** What lies there now, where that is not `to`: some files stayed. */
  readonly after?: string;
  /** Files that were written or deleted. */
  readonly files: number;
  readonly untaken?: RemainingFiles;
  /** Programs that had files of the folder open, or worked in it, in words for people. */
  readonly inUse?: readonly string[];
  /** Values of a shared store: packs of git with what is new in `before` and `after`. */
  readonly packs?: readonly Hash[];
};

/**
 * Files that stay although the snapshot does not have them, and git's own folders that are not as
 * they were then: the first of them with the reason.
 */
export type RemainingFiles = {
  readonly count: number;
  readonly first: readonly { readonly path: string; readonly why: string }[];
};

/** Brings the folders of a session back to snapshots; safe to attempt again. */
export type RewindFiles = {
  readonly step: number;
  /** The head of the transcript that names the snapshots; absent in older histories. */
  readonly from?: Hash;
  readonly roots: readonly FolderRewind[];
  readonly force?: true;
};

/** `problem` is a sentence; nothing was changed, unless it names a folder that was. */
export type FilesRewound =
  | { readonly kind: 'done'; readonly roots: readonly FolderRewindRecord[] }
  | { readonly kind: 'refused'; readonly problem: string };

/** A preview of a rewind of files; `problem` is a sentence that says why there is none. */
export type FilesPreview =
  | { readonly kind: 'looked'; readonly roots: readonly RootPreview[] }
  | { readonly kind: 'refused'; readonly problem: string };

export type RootPreview = Pick<FolderRewindRecord, 'root' | 'untaken' | 'inUse'> & {
  /** Files that would be written or deleted. */
  readonly count: number;
  /** The first of them. */
  readonly changes: readonly PreviewedChange[];
  /** The sentences with which the rewind would be refused. */
  readonly problems?: readonly string[];
};

/** `path` is relative to the folder, for people. Lines are null for a file that is not text. */
type PreviewedChange = {
  readonly path: string;
  readonly kind: 'added' | 'changed' | 'deleted';
  readonly insertions: number | null;
  readonly deletions: number | null;
};

/** The most folders of one rewind: those of a run. */
const MOST_ROOTS = 21;
/** The most folders that a rewind tells of without taking them back. */
export const MOST_KNOWN = 100;
const LONGEST_PATH = 4_096;

/** Returns a sentence that says what is wrong with the shape of a rewind, or undefined. */
export function rewindProblem(request: unknown): string | undefined {
  const {
    from,
    to,
    contextTokens = 0,
    files,
    known,
  } = (request ?? {}) as Partial<Record<keyof RewindRequest, unknown>>;
  if (!isHash(from)) return 'the rewind does not name the head that the session has';
  if (to === undefined && files === undefined) return 'the rewind names neither a head nor folders to go back to';
  if (to !== undefined && to !== null && !isHash(to)) return 'the rewind names no head to go back to';
  if (!Number.isSafeInteger(contextTokens) || (contextTokens as number) < 0) return '`contextTokens` is no count';
  if (known !== undefined && !isListOf(known, MOST_KNOWN, isKnownFolder)) return '`known` is no list of folders';
  if (files === undefined) return undefined;
  if (!Array.isArray(files) || files.length === 0 || files.length > MOST_ROOTS)
    return `\`files\` is no list of 1 to ${MOST_ROOTS} folders`;
  return files.every(isRootRewind) ? undefined : 'a folder of the rewind has no path, or no snapshots';
}

function isListOf(value: unknown, most: number, isOne: (one: unknown) => boolean): boolean {
  return Array.isArray(value) && value.length <= most && value.every(isOne);
}

function isRootRewind(value: unknown): value is FolderRewind {
  const { root, known, to, nested = [] } = (value ?? {}) as Partial<Record<keyof FolderRewind, unknown>>;
  return isPath(root) && isSnapshotId(known) && isSnapshotId(to) && isListOf(nested, MOST_KNOWN, isNestedRoot);
}

function isNestedRoot(value: unknown): boolean {
  const { root, known } = (value ?? {}) as Partial<Record<keyof FolderRewind, unknown>>;
  return isPath(root) && isSnapshotId(known);
}

function isKnownFolder(value: unknown): value is KnownFolder {
  const { root, id, first = id } = (value ?? {}) as Partial<Record<keyof KnownFolder, unknown>>;
  return isPath(root) && isSnapshotId(id) && isSnapshotId(first);
}

function isPath(value: unknown): boolean {
  return typeof value === 'string' && value.startsWith('/') && value.length <= LONGEST_PATH;
}

/** Tells whether a value is the hash of a git tree. */
function isSnapshotId(value: unknown): boolean {
  return typeof value === 'string' && /^[0-9a-f]{40}$/.test(value);
}

/**
 * The transcript's entry of a capture of the run's folders (T1). `at` is in milliseconds since the
 * epoch. `host` is the machine whose disk was captured, where hosts share a store.
 */
export type FilesEntry = {
  readonly kind: 'files';
  readonly roots: readonly RootSnapshot[];
  readonly at: number;
  readonly host?: string;
};

/** One folder of the run. */
export type RootSnapshot = {
  /** The absolute real path of the folder. */
  readonly root: string;
  /** The hash of the snapshot, and that of the one before; null for the first of the session. */
  readonly id: string;
  readonly parent: string | null;
  /** The number of captured files. */
  readonly files: number;
  /** Bytes that were captured anew. */
  readonly bytes: number;
  readonly added: number;
  readonly changed: number;
  readonly deleted: number;
  /** Lines, of text files. */
  readonly insertions: number;
  readonly deletions: number;
  /** Names of changed files for people, the first of them. */
  readonly names: readonly string[];
  /** Values of a shared store: packs of git with what is new in it, for other hosts. */
  readonly packs?: readonly Hash[];
  /** Omissions; absent when everything is captured. */
  readonly leftOut?: { readonly count: number; readonly first: string };
};
