// What a capture of a run's folders has found, as the transcript has it (T1).
import type { Hash } from './ids.ts';

/**
 * `at` is in milliseconds since the epoch. `host` is the machine whose disk was captured, where
 * hosts share a store.
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
