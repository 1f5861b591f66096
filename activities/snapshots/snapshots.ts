// Captures the folders of a run beside its next model call (T1): after a call that may have changed
// files, and at the beginning of a run. It never fails a step: a folder that cannot be captured is
// told of once, and the session goes on.
import { existsSync } from 'node:fs';
import { clip, onOneLine, reasonOf } from '../../system/text.ts';
import { isInside } from '../../system/process/places.ts';
import { RecentMap } from '../../system/recent-map.ts';
import type { Log } from '../../system/log.ts';
import type { FilesCheckedOut } from '../../workflows/contract/fork.ts';
import type { FilesRewound } from '../../workflows/contract/rewind.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { SessionHost } from '../../workflows/contract/session.ts';
import type { RunConfig } from '../../store/configuration.ts';
import type { Entry } from '../../store/log/entries.ts';
import type { ExtendedView } from '../../store/transcript/transcripts.ts';
import type { View } from '../../store/view/view.ts';
import { describeSnapshot, type FilesEntry, type RootSnapshot } from '../../store/snapshots/files-entry.ts';
import { placeOfRoot } from '../../store/snapshots/shadow.ts';
import { takeSnapshot } from '../../store/snapshots/take-snapshot.ts';
import type { CallRunner } from '../calls/call-port.ts';
import { CapturePool } from './capture-pool.ts';
import { type CheckOutAbout, checkOutRoot } from './check-out.ts';
import { rewindRoots, type RewindAbout, type RewindOptions } from './rewind-roots.ts';
import { runGitHeld } from './run-git-held.ts';

export type Snapshots = {
  /** False where nothing is captured. */
  readonly captures: boolean;
  /**
   * Returns what has changed since the last entry of its kind; null when nothing has, or nothing
   * can be captured. Never rejects.
   */
  capture(about: CaptureAbout): Promise<FilesEntry | null>;
  /**
   * Does the same at the end of a run, which any worker may store: where hosts share a store, only
   * the host that has captured the session before has its folders.
   */
  captureLast(about: CaptureAbout): Promise<FilesEntry | null>;
  /** Brings folders back to snapshots, all of them or none (T7). Throws what git said. */
  rewind(about: RewindAbout): Promise<FilesRewound>;
  /** Checks the files of a fork out into a folder of its own (T10). Throws what git said. */
  checkOut(about: CheckOutAbout): Promise<FilesCheckedOut>;
  close(): Promise<void>;
};

export type CaptureAbout = {
  readonly config: RunConfig;
  readonly base: Pick<ExtendedView, 'view' | 'added'>;
  readonly signal: AbortSignal;
};

type SnapshotsOptions = Omit<RewindOptions, 'capture'> & {
  /** False takes no snapshots, and still goes back to those that are there. */
  readonly captures: boolean;
  readonly host: SessionHost | undefined;
  readonly tools: Pick<CallRunner, 'bind'>;
  readonly log: Log;
  readonly now: () => number;
};

/**
 * The sessions of which it is remembered how far they were looked at; a forgotten one costs a look.
 */
const SESSIONS = 1_000;

export function createSnapshots(options: SnapshotsOptions): Snapshots {
  const { now, log, host } = options;
  const pool = new CapturePool(options);
  const capture = pool.capture.bind(pool);
  /** By session, the last entry that was looked at, and its position. */
  const looked = new RecentMap<SessionId, { readonly position: number; readonly entry: Entry | undefined }>(SESSIONS);
  const givenUp = new RecentMap<string, true>(SESSIONS);
  const snapshots: Snapshots = {
    captures: options.captures,
    async capture({ config, base: { view, added }, signal }) {
      if (!options.captures) return null;
      const { session } = config;
      // After a rewind another entry may be at that position.
      const last = looked.get(session);
      const isSame = last !== undefined && view.at(last.position) === last.entry;
      const fresh = [...view.from(isSame ? last.position + 1 : 0), ...added];
      if (!mayHaveChanged(options, config, fresh)) return null;
      const roots: RootSnapshot[] = [];
      for (const root of rootsOf(config)) {
        const name = `${session} ${root}`;
        if (givenUp.has(name) || !existsSync(root)) continue;
        try {
          const before = lastSnapshotOf(view, root);
          const place = placeOfRoot(options.dataDir, session, root);
          const run = runGitHeld(options, signal);
          const git = options.sandbox.programs.at('git');
          const taken = await takeSnapshot({ ...options, place, git, run, capture }, before);
          signal.throwIfAborted();
          if (taken.id !== before) roots.push(describeSnapshot(root, taken));
        } catch (error) {
          if (signal.aborted) return null;
          givenUp.set(name, true);
          log('warn', `files of ${root} are not captured: ${clip(onOneLine(reasonOf(error)), 300)}`, { session });
        }
      }
      looked.set(session, { position: view.length - 1, entry: view.at(view.length - 1) });
      return roots.length === 0 ? null : { kind: 'files', roots, at: now(), ...(host && { host: host.id }) };
    },
    async captureLast(about) {
      const last = lastFilesOf(about.base.view);
      return host === undefined || last?.host === host.id ? await snapshots.capture(about) : null;
    },
    rewind: async (about) => {
      looked.delete(about.attempt.session);
      return await rewindRoots({ ...options, capture }, about);
    },
    checkOut: (about) => checkOutRoot(options, about),
    close: () => pool.close(),
  };
  return snapshots;
}

/** Returns the folders of a run of which none lies in another. */
function rootsOf({ cwd, folders = [] }: RunConfig): readonly string[] {
  const all = [...new Set([cwd, ...folders])];
  return all.filter((root) => !all.some((other) => other !== root && isInside(other, root)));
}

/** Tells whether a call may have changed files, or a run has begun. */
function mayHaveChanged(
  { tools }: Pick<SnapshotsOptions, 'tools'>,
  config: RunConfig,
  entries: readonly Entry[],
): boolean {
  return entries.some((entry) => {
    if (entry.kind === 'run_started') return true;
    if (entry.kind !== 'reply') return false;
    return entry.message.content.some((block, index) => {
      if (block.type !== 'tool_use') return false;
      const { id, name, input } = block;
      const { safe, plan } = tools.bind(config, { index, id, name, input }).traits();
      return !safe || plan === 'delegated';
    });
  });
}

/** Returns the id of the last snapshot of a folder; null without one. */
function lastSnapshotOf(view: View, root: string): string | null {
  let name = root;
  for (let position = view.length - 1; position >= 0; position -= 1) {
    const entry = view.at(position);
    const moved = entry?.kind === 'notice' && entry.notice.kind === 'forked' && entry.notice.moved;
    // Before a fork its folder was the origin's (T10).
    if (moved && moved.to === name) name = moved.from;
    const found = entry?.kind === 'files' && entry.roots.find((each) => each.root === name);
    if (found) return found.id;
  }
  return null;
}

/** Returns the newest entry of captured files; undefined without one. */
function lastFilesOf(view: View): FilesEntry | undefined {
  for (let position = view.length - 1; position >= 0; position -= 1) {
    const entry = view.at(position);
    if (entry?.kind === 'files') return entry;
  }
  return undefined;
}
