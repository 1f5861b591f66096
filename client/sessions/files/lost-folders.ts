// The folders that this machine was left with when their sessions moved to other hosts (T19): what
// lies in them, and how that differs from what the sessions have now.
import { HostedSessions, type LostSession } from '../../../store/hosted-sessions.ts';
import type { SnapshotsAt } from '../../../store/snapshots/snapshot-points.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { ClientProblem } from '../../problem.ts';
import type { SessionInfo } from '../info.ts';
import type { FilesCapture } from './calls-behind.ts';
import type { DiffOptions, SessionDiff } from './diff-session.ts';

export type LostFolder = {
  readonly session: SessionId;
  /** Absolute paths. */
  readonly folders: readonly string[];
  /** Milliseconds since the epoch at which this machine found out. */
  readonly at: number;
  /** The name of the host that has the session, as far as is known. */
  readonly host: string;
  /** The session has come back: the snapshots alone have what lay in its folders. */
  readonly isBack: boolean;
  /** Differences from the session's newest files; null where they cannot be read here. */
  readonly changes: { readonly files: number; readonly insertions: number; readonly deletions: number } | null;
  /**
   * Whether the session has captured these very files at some time, so that nothing is lost with
   * the folder; null where that is not known.
   */
  readonly isStored: boolean | null;
};

/** The methods of a client that are needed here. */
type Sessions = {
  describe(session: string): Promise<SessionInfo>;
  files(session: string): Promise<readonly FilesCapture[]>;
  diff(session: string, options: DiffOptions): Promise<SessionDiff>;
};

export function findLostSnapshots(dataDir: string, session: SessionId): SnapshotsAt | null {
  const { lost } = new HostedSessions(dataDir).read(session) ?? {};
  const captured = (lost?.snapshots ?? []).flatMap(({ root, id }) => (id === null ? [] : [[root, id] as const]));
  return captured.length === 0 ? null : new Map(captured);
}

/** Lists the newest first. */
export async function listLostFolders(dataDir: string, sessions: Sessions): Promise<readonly LostFolder[]> {
  const found = new HostedSessions(dataDir).listLost().toSorted((one, other) => other.lost.at - one.lost.at);
  const listed: LostFolder[] = [];
  for (const each of found) listed.push(await describeLost(each, sessions));
  return listed;
}

async function describeLost({ session, folders, lost }: LostSession, sessions: Sessions): Promise<LostFolder> {
  const [info, captures, diff] = [
    await unlessRefused(sessions.describe(session)),
    await unlessRefused(sessions.files(session)),
    await unlessRefused(sessions.diff(session, { lost: true, stat: true })),
  ];
  const sum = (of: 'insertions' | 'deletions'): number =>
    (diff?.files ?? []).reduce((all, file) => all + (file[of] ?? 0), 0);
  const isWhole = lost.snapshots.every(({ id }) => id !== null);
  const known = new Set(captures?.flatMap(({ roots }) => roots.map(({ id }) => id)));
  return {
    session,
    folders,
    at: lost.at,
    host: info?.host?.name ?? lost.to,
    isBack: lost.isBack === true,
    changes:
      diff && isWhole ? { files: diff.files.length, insertions: sum('insertions'), deletions: sum('deletions') } : null,
    isStored: captures && isWhole ? lost.snapshots.every(({ id }) => known.has(id ?? '')) : null,
  };
}

/** A session that is gone, or snapshots that are elsewhere, keep no other from being listed. */
async function unlessRefused<T>(found: Promise<T>): Promise<T | null> {
  return found.catch((error: unknown) => {
    if (error instanceof ClientProblem) return null;
    throw error;
  });
}
