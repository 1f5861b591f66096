// Which files the agent knows of, and as what: those its file tools have read or written, and those it was told have changed
// (L43). Read from the transcript, so that it holds wherever the session goes on.
import type { SeenFile } from '../../../workflows/contract/activities.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import type { Entry } from '../log/entries.ts';
import type { View } from './shared-view.ts';

/** By absolute path; the one seen last comes last. */
export type SeenFiles = ReadonlyMap<string, SeenFile>;

/** Files remembered of a session. */
export const MOST_SEEN = 200;
/** Sessions remembered. */
const SESSIONS = 256;

type Known = { readonly length: number; readonly last: Entry | undefined; readonly seen: Map<string, SeenFile> };

/** Reads what is new of a session since it was asked last. */
export function seenFiles(): (view: View, added: readonly Entry[]) => SeenFiles {
  const sessions = new Map<SessionId, Known>();
  return (view, added) => {
    const known = sessions.get(view.session);
    // The entry itself, not an equal one: then what is before it has been read as well.
    const goesOn = known !== undefined && known.length > 0 && view.at(known.length - 1) === known.last;
    const seen = goesOn ? known.seen : new Map<string, SeenFile>();
    read(seen, view.from(goesOn ? known.length : 0));
    sessions.delete(view.session);
    sessions.set(view.session, { length: view.length, last: view.at(view.length - 1), seen });
    for (const oldest of sessions.keys()) {
      if (sessions.size <= SESSIONS) break;
      sessions.delete(oldest);
    }
    return read(new Map(seen), added);
  };
}

function read(seen: Map<string, SeenFile>, entries: readonly Entry[]): Map<string, SeenFile> {
  for (const file of entries.flatMap(filesSeenIn)) {
    seen.delete(file.path);
    seen.set(file.path, file);
  }
  for (const oldest of seen.keys()) {
    if (seen.size <= MOST_SEEN) break;
    seen.delete(oldest);
  }
  return seen;
}

export function filesSeenIn(entry: Entry): readonly SeenFile[] {
  if (entry.kind === 'outcomes') return entry.outcomes.flatMap((outcome) => outcome.seen ?? []);
  return entry.kind === 'notice' && entry.notice.kind === 'files_changed' ? (entry.notice.files ?? []) : [];
}
