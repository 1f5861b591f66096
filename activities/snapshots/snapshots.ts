// Captures the folders of a run beside its next model call (T1): after a call that may have changed
// files, and at the beginning of a run. It never fails a step: a folder that cannot be captured is
// told of once, and the session goes on.
import { existsSync } from 'node:fs';
import { clip, onOneLine, reasonOf } from '../../system/text.ts';
import { isInside } from '../../system/process/places.ts';
import { pipePlace } from '../../system/process/pipes.ts';
import { runProgram } from '../../system/process/spawn-piped.ts';
import { RecentMap } from '../../system/recent-map.ts';
import type { Log } from '../../system/log.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { RunConfig } from '../../store/configuration.ts';
import type { Entry } from '../../store/log/entries.ts';
import type { Extended } from '../../store/transcript/transcripts.ts';
import type { View } from '../../store/view/view.ts';
import { describeSnapshot, type FilesEntry, type RootSnapshot } from '../../store/snapshots/files-entry.ts';
import { placeOfRoot, snapshotsFolderOf } from '../../store/snapshots/shadow.ts';
import { takeSnapshot, type RunHeld, type SnapshotCaps } from '../../store/snapshots/take-snapshot.ts';
import type { Sandbox } from '../../tools/sandbox.ts';
import type { CallRunner } from '../calls/call-port.ts';

export type Snapshots = {
  /**
   * Returns what has changed since the last entry of its kind; null when nothing has, or nothing
   * can be captured. Never rejects.
   */
  capture(about: CaptureAbout): Promise<FilesEntry | null>;
};

export type CaptureAbout = {
  readonly config: RunConfig;
  readonly base: Pick<Extended, 'view' | 'added'>;
  readonly signal: AbortSignal;
};

type SnapshotsOptions = {
  readonly sandbox: Sandbox;
  readonly dataDir: string;
  readonly caps: SnapshotCaps;
  readonly tools: Pick<CallRunner, 'traits'>;
  readonly log: Log;
  readonly now: () => number;
};

/** The sessions of which it is remembered how far they were looked at; a forgotten one costs a look. */
const SESSIONS = 1_000;
/** A folder that takes longer than that is not captured. */
const LONGEST_MS = 120_000;
const MOST_PRINTED = 64 * 1024 * 1024;

export function createSnapshots(options: SnapshotsOptions): Snapshots {
  const { now, log } = options;
  /** By session, the number of entries that were looked at; folders that were given up. */
  const looked = new RecentMap<SessionId, number>(SESSIONS);
  const givenUp = new RecentMap<string, true>(SESSIONS);
  return {
    async capture({ config, base: { view, added }, signal }) {
      const { session } = config;
      const fresh = [...view.from(looked.get(session) ?? 0), ...added];
      if (!mayHaveChanged(options, config, fresh)) return null;
      const roots: RootSnapshot[] = [];
      for (const root of rootsOf(config)) {
        const name = `${session} ${root}`;
        if (givenUp.has(name) || !existsSync(root)) continue;
        try {
          const before = lastSnapshotOf(view, root);
          const place = placeOfRoot(options.dataDir, session, root);
          const run = runHeld(options, signal);
          const git = options.sandbox.programs.at('git');
          const taken = await takeSnapshot({ place, git, run, caps: options.caps }, before);
          if (taken.id !== before) roots.push(describeSnapshot(root, before, taken));
        } catch (error) {
          if (signal.aborted) return null;
          givenUp.set(name, true);
          log('warn', `files of ${root} are not captured: ${clip(onOneLine(reasonOf(error)), 300)}`, { session });
        }
      }
      looked.set(session, view.length + added.length);
      return roots.length === 0 ? null : { kind: 'files', roots, at: now() };
    },
  };
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
      const { safe, plan } = tools.traits(config, { index, id, name, input });
      return !safe || plan === 'delegated';
    });
  });
}

/** Returns the id of the last snapshot of a folder; null without one. */
function lastSnapshotOf(view: View, root: string): string | null {
  for (let position = view.length - 1; position >= 0; position -= 1) {
    const entry = view.at(position);
    const found = entry?.kind === 'files' && entry.roots.find((each) => each.root === root);
    if (found) return found.id;
  }
  return null;
}

/**
 * Runs git as an agent's command is run: it reads what the agent may read, and writes nothing but
 * the shadow repository.
 */
function runHeld({ sandbox, dataDir }: Pick<SnapshotsOptions, 'sandbox' | 'dataDir'>, signal: AbortSignal): RunHeld {
  return async (argv, { env, cwd }) => {
    const wrapped = sandbox.wrap(argv, { cwd: snapshotsFolderOf(dataDir), dir: cwd, dataDir, offline: true });
    const { cut, exit, stdout, stderr } = await runProgram(wrapped, {
      env: { ...sandbox.programs.environment(), ...env },
      cwd,
      pipes: pipePlace(sandbox.programs, dataDir),
      signal,
      timeoutMs: LONGEST_MS,
      mostOutput: MOST_PRINTED,
      encoding: 'latin1',
    });
    signal.throwIfAborted();
    if (cut === undefined && exit.code === 0) return stdout;
    if (cut === 'time') throw new Error(`it took longer than ${LONGEST_MS / 1000} s`);
    if (cut === 'output') throw new Error(`git printed more than ${MOST_PRINTED} bytes`);
    throw new Error(stderr.trim() || `git ended with ${exit.signal ?? `status ${exit.code}`}`);
  };
}
