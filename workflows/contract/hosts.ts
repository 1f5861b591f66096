// A session moves to another host, where hosts share a store: because its own went away (T18), or
// because somebody wants it to (T20). Its folders are restored there from their last snapshots.
import type { FilesEntry } from './rewind.ts';
import type { Hash, SessionId } from './ids.ts';

/**
 * A machine, or a group of workers that share a disk. `name` is for people. `graceMs`: a session
 * moves to another host when no worker has polled here for so long; absent: it waits (T18).
 */
export type SessionHost = { readonly id: string; readonly name: string; readonly graceMs?: number };

/**
 * A folder that a session works in, with links resolved: nothing else may take its place from one
 * run to the next. `file`: its boot, device and inode.
 */
export type WorkspacePlace = { readonly path: string; readonly file: string };

/**
 * Why a session leaves its host. `away`: nobody has polled its queue for its grace. `emptied`: its
 * workers run again without the session's folders. `moved`: somebody moved it, or the host drains.
 */
export type LeaveReason = 'away' | 'emptied' | 'moved';

/** Captures the folders of a session on the host that it leaves, and ends what runs there. */
export type LeaveHost = { readonly head: Hash; readonly step: number };

/** `files`: what has changed since the last capture; null when nothing has, or capturing failed. */
export type HostLeft = { readonly files: FilesEntry | null };

/**
 * Makes the host of the worker that takes this step the session's. `root`: the session of the
 * person, whose agents move together with it. `head`: null for an agent that has not begun, which
 * can only follow the others.
 */
export type TakeOver = {
  readonly from: SessionHost;
  /** The queue that workers of that host poll. */
  readonly queue: string;
  readonly because: LeaveReason;
  readonly root: SessionId;
  readonly head: Hash | null;
  readonly place: WorkspacePlace;
  /** The host that it is to be; absent: any other. */
  readonly to?: SessionHost;
  /** What leaving captured, which no entry tells of yet. */
  readonly files?: FilesEntry;
  readonly step: number;
};

/**
 * `there`: the host is at work after all. `refused`: no host can take the session over, and it
 * waits for its own; the sentence says why. `at`: when the restored files were captured, in
 * milliseconds since the epoch. `calls`: names of later calls whose changes to files are lost.
 */
export type TakenOver =
  | { readonly kind: 'there' }
  | {
      readonly kind: 'taken';
      readonly host: SessionHost;
      readonly place: WorkspacePlace;
      readonly at: number;
      readonly calls: readonly string[];
    }
  | { readonly kind: 'refused'; readonly problem: string };

/** The model is told that the session continues on another host, and what that lost. */
export type HostChanged = {
  readonly kind: 'host_changed';
  /** Names of hosts. */
  readonly from: string;
  readonly to: string;
  readonly because: LeaveReason;
  readonly at: number;
  readonly calls: readonly string[];
};

/** Moves a session; `to` absent: to any host that can take it. */
export type MoveRequest = { readonly to?: SessionHost };

/** `later`: the step under way ends first. */
export type Moved = { readonly kind: 'moved'; readonly host: SessionHost } | { readonly kind: 'later' };
