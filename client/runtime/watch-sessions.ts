// Polls sessions, those in progress and the newest in visibility, and passes each result on to be
// reported.
import { pause } from '../../system/async.ts';
import { reasonOf } from '../../system/text.ts';
import { untilAborted } from '../async.ts';
import type { PerdureClient } from '../perdure-client.ts';
import { ClientProblem } from '../problem.ts';
import { mustBeFound, type NewsLook } from '../render/session-news.ts';
import type { SessionInfo } from '../sessions/info.ts';

export type WatchSessions = {
  readonly sessions: Pick<PerdureClient, 'page' | 'describe'>;
  /** Called after each look; `before` is null at the first. */
  readonly tell: (before: NewsLook | null, now: NewsLook) => void;
  /** Gets a line when the server no longer answers, and one when it does again. */
  readonly say: (line: string) => void;
  /** Milliseconds between looks; absent: two seconds. */
  readonly everyMs?: number;
};

const LOOK_MS = 2_000;
/** Most sessions under way, and most of the newest, that a look reads. */
const MOST = 300;
const NEWEST = 100;
/** Most sessions to ask for one by one because they were under way and are in neither list. */
const MOST_MISSED = 20;
/** Most sessions to remember. */
const MOST_KNOWN = 2_000;

/**
 * Looks at sessions, one look at a time. The returned function ends it and resolves when nothing of
 * it runs.
 */
export function watchSessions(watch: WatchSessions): () => Promise<void> {
  const stop = new AbortController();
  const watching = lookOn(watch, stop.signal);
  return () => {
    stop.abort();
    return watching;
  };
}

async function lookOn({ sessions, tell, say, everyMs = LOOK_MS }: WatchSessions, signal: AbortSignal): Promise<void> {
  const look = createLooker(sessions);
  let before: NewsLook | null = null;
  let away = false;
  do {
    try {
      // The client does not get the signal: Temporal's client would add a listener to it for each
      // of its calls and keep it until the end.
      const now = await untilAborted(signal, () => look(before));
      if (away) say('sessions are looked at again');
      away = false;
      tell(before, now);
      before = now;
    } catch (error) {
      if (signal.aborted) return;
      if (!away) say(`sessions cannot be looked at, nothing is said about them until they can: ${reasonOf(error)}`);
      away = true;
    }
  } while (await pause(everyMs, signal));
}

function createLooker(sessions: WatchSessions['sessions']): (before: NewsLook | null) => Promise<NewsLook> {
  // Without the attributes on the server a filter would read every session.
  let filters = true;
  const underWay = async (): Promise<readonly SessionInfo[]> => {
    if (!filters) return [];
    const page = await sessions.page({ open: true, filter: '-phase:idle', size: MOST });
    filters = page.note === undefined;
    return page.sessions;
  };
  return async (before) => {
    const [newest, running] = await Promise.all([sessions.page({ size: NEWEST }), underWay()]);
    const found = new Map([...newest.sessions, ...running].map((session) => [session.session as string, session]));
    const missed = [...(before?.values() ?? [])].filter((each) => mustBeFound(each) && !found.has(each.session));
    const sought = await Promise.all(missed.slice(0, MOST_MISSED).map(({ session }) => findSession(sessions, session)));
    const known = new Map(before);
    for (const [id, session] of [...sought, ...found]) {
      // The session seen last is forgotten last.
      known.delete(id);
      if (session !== null) known.set(id, session);
    }
    for (const id of [...known.keys()].slice(0, Math.max(0, known.size - MOST_KNOWN))) known.delete(id);
    return known;
  };
}

/** Returns null when the session no longer exists. */
async function findSession(
  sessions: WatchSessions['sessions'],
  id: string,
): Promise<readonly [string, SessionInfo | null]> {
  try {
    return [id, await sessions.describe(id)];
  } catch (error) {
    if (error instanceof ClientProblem && error.kind === 'no_session') return [id, null];
    throw error;
  }
}
