// The port to captured files: capture the folders of a run (T1), bring them back (T7), check them
// out for a fork (T10).
import type { CheckOutFiles, FilesCheckedOut } from '../../workflows/contract/fork.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import type { FilesPreview, FilesRewound, RewindFiles } from '../../workflows/contract/rewind.ts';
import type { RunConfig } from '../../store/configuration.ts';
import type { FilesEntry } from '../../store/snapshots/files-entry.ts';
import type { ExtendedView } from '../../store/transcript/transcripts.ts';
import type { View } from '../../store/view/view.ts';
import type { Attempt } from '../attempt.ts';

export type Snapshots = {
  /** The configuration's word for all runs; undefined when it says nothing. */
  readonly setting: boolean | undefined;
  /** Tells whether the folders of a run are captured. */
  captures(config: RunConfig): boolean;
  /**
   * Returns what has changed since the last entry of its kind; null when nothing has, or nothing
   * can be captured. Never rejects.
   */
  capture(about: CaptureAbout): Promise<FilesEntry | null>;
  /**
   * Begins the next capture as soon as the calls of a reply have run. It is used if nothing happens
   * to the session before.
   */
  captureEarly(about: EarlyAbout): void;
  /**
   * Does the same as `capture` at the end of a run, which any worker may store: where hosts share a
   * store, null on every other host than the session's.
   */
  captureLast(about: CaptureLastAbout): Promise<FilesEntry | null>;
  /** Brings folders back to snapshots, all of them or none (T7). Throws what git said. */
  rewind(about: RewindAbout): Promise<FilesRewound>;
  /** Says what that would do. Throws what git said. */
  preview(about: RewindAbout): Promise<FilesPreview>;
  /** Captures all folders of a run as they are, whatever its calls have done. Never rejects. */
  captureAll(about: CaptureAbout): Promise<FilesEntry | null>;
  /**
   * Restores a folder for a session that moves to this host (T18): a new one, or the one that the
   * session had here before, whose files as they are now are captured first. Throws what git said.
   */
  bring(about: BringAbout): Promise<FilesRestored>;
  /** The folders of a run that are captured: absolute paths of which none lies in another. */
  rootsOf(config: Pick<RunConfig, 'cwd' | 'folders'>): readonly string[];
  /**
   * Captures a folder of a session that another host has now (T19), and returns the snapshot's id.
   * It stays on this machine. Null where the session was never captured here, or capturing failed.
   */
  captureLeft(session: SessionId, root: string): Promise<string | null>;
  /**
   * Names the calls that may have changed files since the last capture of those taken until `at`,
   * in milliseconds since the epoch.
   */
  uncapturedCalls(config: RunConfig, view: View, at: number): readonly string[];
  /** Checks the files of a fork out into a folder of its own (T10). Throws what git said. */
  checkOut(about: CheckOutAbout): Promise<FilesCheckedOut>;
  close(): Promise<void>;
};

export type CaptureAbout = {
  readonly config: RunConfig;
  /** The head of what is stored. */
  readonly head: Hash | null;
  readonly base: Pick<ExtendedView, 'view' | 'added'>;
  readonly signal: AbortSignal;
};

/** `host`: the id of the host that has the session; undefined where machines share no store. */
export type CaptureLastAbout = CaptureAbout & { readonly host: string | undefined };

/**
 * `view` is that before the reply whose calls have run, `files` the capture that is stored with it.
 */
export type EarlyAbout = Pick<CaptureAbout, 'config'> & {
  readonly head: Hash;
  readonly view: View;
  readonly files: FilesEntry | null;
};

export type RewindAbout = RewindFiles & { readonly attempt: Attempt };

/** `known`: captures that no entry tells of yet. */
export type BringAbout = {
  readonly attempt: Attempt;
  readonly root: string;
  readonly snapshot: string;
  readonly head: Hash;
  readonly step: number;
  readonly known: readonly FilesEntry[];
};

/** `problem` is a sentence; nothing was changed. */
export type FilesRestored = { readonly kind: 'done' } | { readonly kind: 'refused'; readonly problem: string };

export type CheckOutAbout = CheckOutFiles & { readonly attempt: Attempt };
