// Finds which files the agent knows, and in which state: those its file tools have read or written,
// and those whose changes it was told (L43). They are read from the transcript, so this holds
// wherever the session continues.
import { RecentMap } from '../../system/recent-map.ts';
import type { SeenFile } from '../../workflows/contract/activities.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import type { Entry } from '../log/entries.ts';
import type { View } from './shared-view.ts';

/** Files by absolute path; the one seen last comes last. */
export type SeenFiles = ReadonlyMap<string, KnownFile>;

/**
 * `told` says that no tool has seen the file in this state: the agent was told that it has changed.
 */
type KnownFile = SeenFile & { readonly told?: true };

/** The most files that are remembered of a session. */
export const MOST_SEEN = 200;
/** The most sessions that are remembered. */
const SESSIONS = 256;

type ReadSession = { readonly length: number; readonly last: Entry | undefined; readonly files: KnownFiles };
type KnownFiles = RecentMap<string, KnownFile>;

/** Returns a reader that reads the entries of a session since it was called last. */
export function createSeenFilesReader(): (view: View, added: readonly Entry[]) => SeenFiles {
  const sessions = new RecentMap<SessionId, ReadSession>(SESSIONS);
  return (view, added) => {
    const known = sessions.get(view.session);
    // The same object, not an equal one, shows that everything before it has been read as well.
    const goesOn = known !== undefined && known.length > 0 && view.at(known.length - 1) === known.last;
    const files = goesOn ? known.files : createSeen();
    addSeen(files, view.from(goesOn ? known.length : 0));
    sessions.set(view.session, { length: view.length, last: view.at(view.length - 1), files });
    return added.length === 0 ? files : addSeen(copyOf(files), added);
  };
}

const createSeen = (): KnownFiles => new RecentMap(MOST_SEEN);

function addSeen(known: KnownFiles, entries: readonly Entry[]): KnownFiles {
  for (const file of entries.flatMap(filesSeenIn)) known.set(file.path, file);
  return known;
}

function copyOf(known: KnownFiles): KnownFiles {
  const copy = createSeen();
  for (const [path, file] of known) copy.set(path, file);
  return copy;
}

export function filesSeenIn(entry: Entry): readonly KnownFile[] {
  if (entry.kind === 'outcomes') return entry.outcomes.flatMap((outcome) => outcome.seen ?? []);
  if (entry.kind !== 'notice' || entry.notice.kind !== 'files_changed') return [];
  return (entry.notice.files ?? []).map((file) => ({ ...file, told: true as const }));
}

/**
 * The files that tools of sessions saw: up to a reply by its transcript, since then by the calls of
 * this worker.
 */
export type SeenByTools = {
  readonly of: (session: SessionId, head: Hash | null, path: string) => Promise<readonly KnownFile[]>;
  readonly add: (session: SessionId, files: readonly SeenFile[]) => void;
};

export function createSeenByTools(viewOf: (session: SessionId, head: Hash | null) => Promise<View>): SeenByTools {
  const readSeen = createSeenFilesReader();
  const recent = new RecentMap<SessionId, RecentMap<string, SeenFile>>(SESSIONS);
  return {
    async of(session, head, path) {
      const before = readSeen(await viewOf(session, head), []).get(path);
      const since = recent.get(session)?.get(path);
      return [before, since].filter((file) => file !== undefined);
    },
    add(session, files) {
      const known = recent.get(session) ?? new RecentMap<string, SeenFile>(MOST_SEEN);
      for (const file of files) known.set(file.path, file);
      if (files.length > 0) recent.set(session, known);
    },
  };
}
