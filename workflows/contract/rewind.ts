// What a rewind asks of a session, and what became of it (T6, T7): the conversation goes on from an
// earlier head, the folders go back to earlier snapshots, or both.
import { isHash, type Hash } from './ids.ts';

/**
 * An update to a session at rest. Without `to` the conversation stays, without `files` the folders
 * do.
 */
export type Rewind = {
  /** The head that the session has, as its sender knows it. */
  readonly from: Hash;
  readonly to?: Hash;
  /** Tokens in context at `to`, as its last reply counted them. */
  readonly contextTokens?: number;
  readonly files?: readonly RootRewind[];
  /** Overwrites what others have changed since the last snapshot. */
  readonly force?: true;
};

/** `root` is an absolute real path; `known` is its last snapshot in the transcript. */
export type RootRewind = { readonly root: string; readonly known: string; readonly to: string };

/** Which transcript entry says so: `before` has the files as they were right before. */
export type Rewound = {
  readonly from: Hash;
  readonly to?: Hash;
  readonly files?: readonly RootRewound[];
};

export type RootRewound = {
  readonly root: string;
  readonly before: string;
  readonly to: string;
  /** Files that were written or deleted. */
  readonly files: number;
};

/** Brings the folders of a session back to snapshots; safe to attempt again. */
export type RewindFiles = {
  readonly step: number;
  /** The head of the transcript that names the snapshots; absent in older histories. */
  readonly from?: Hash;
  readonly roots: readonly RootRewind[];
  readonly force?: true;
};

/** `problem` is a sentence; nothing was changed, unless it names a folder that was. */
export type FilesRewound =
  | { readonly kind: 'done'; readonly roots: readonly RootRewound[] }
  | { readonly kind: 'refused'; readonly problem: string };

/** The most folders of one rewind: those of a run. */
const MOST_ROOTS = 21;
const LONGEST_PATH = 4_096;

/** Returns a sentence that says what is wrong with the shape of a rewind, or undefined. */
export function rewindProblem(asked: unknown): string | undefined {
  const { from, to, contextTokens = 0, files } = (asked ?? {}) as Partial<Record<keyof Rewind, unknown>>;
  if (!isHash(from)) return 'the rewind does not name the head that the session has';
  if (to === undefined && files === undefined) return 'the rewind names neither a head nor folders to go back to';
  if (to !== undefined && !isHash(to)) return 'the rewind names no head to go back to';
  if (!Number.isSafeInteger(contextTokens) || (contextTokens as number) < 0) return '`contextTokens` is no count';
  if (files === undefined) return undefined;
  if (!Array.isArray(files) || files.length === 0 || files.length > MOST_ROOTS)
    return `\`files\` is no list of 1 to ${MOST_ROOTS} folders`;
  return files.every(isRootRewind) ? undefined : 'a folder of the rewind has no path, or no snapshots';
}

function isRootRewind(value: unknown): value is RootRewind {
  const { root, known, to } = (value ?? {}) as Partial<Record<keyof RootRewind, unknown>>;
  const isPath = typeof root === 'string' && root.startsWith('/') && root.length <= LONGEST_PATH;
  return isPath && isSnapshotId(known) && isSnapshotId(to);
}

/** Tells whether a value is the hash of a git tree. */
function isSnapshotId(value: unknown): boolean {
  return typeof value === 'string' && /^[0-9a-f]{40}$/.test(value);
}
