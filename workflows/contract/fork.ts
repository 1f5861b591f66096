// A fork: a new session that continues from a point of another one (T10). It shares the transcript
// before that point; its workflow checks out its files.
import type { Hash, SessionId } from './ids.ts';

/**
 * Links a fork to its origin: `head` is the segment of the origin that comes before the one that
 * has this notice, null where none does. `position`: the first entry of the origin that the fork
 * does not have.
 */
export type ForkNotice = {
  readonly kind: 'forked';
  readonly session: SessionId;
  readonly head: Hash | null;
  readonly position: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly by?: string;
  /** The folder that the fork has in place of the origin's. */
  readonly moved?: { readonly from: string; readonly to: string };
  /** Commands or agents of the origin were started in the background. The model is told. */
  readonly background?: true;
};

/** Memo key of a ForkedFrom, set at the start of a fork and inherited. */
export const FORK_KEY = 'perdureFork';
export type ForkedFrom = Pick<ForkNotice, 'session' | 'position'>;

/** Files that a fork begins with: a snapshot of the folder `from`, checked out as `to`. */
export type CheckOut = {
  readonly from: string;
  /** The hash of the snapshot. */
  readonly snapshot: string;
  /** An absolute path. Nothing is there yet, or an empty folder. */
  readonly to: string;
  /** It becomes a git work tree of the origin's repository, on a branch of its own. */
  readonly worktree?: true;
  /** The transcript that names the snapshot; absent in older histories. */
  readonly origin?: { readonly session: SessionId; readonly head: Hash };
};

export type CheckOutFiles = CheckOut & { readonly step: number };

/** `problem` is a sentence; nothing was left behind. */
export type FilesCheckedOut =
  | { readonly kind: 'done'; readonly folder: string; readonly branch?: string }
  | { readonly kind: 'refused'; readonly problem: string };

/** Memo key of a ForkFiles, set at the start of a fork that has files of its own. */
export const FORK_FILES_KEY = 'perdureForkFiles';
export type ForkFiles = { readonly state: 'pending' | 'done' | 'refused'; readonly folder: string } & {
  readonly branch?: string;
  readonly problem?: string;
};
