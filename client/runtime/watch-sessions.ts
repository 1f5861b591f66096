// Looks at sessions again and again, for whoever tells what happened to them: those under way and
// the newest, as visibility has them.
import { pause } from '../../system/async.ts';
import { reasonOf } from '../../system/text.ts';
import { untilAborted } from '../async.ts';
import type { PerdureClient } from '../perdure-client.ts';
import { ClientProblem } from '../problem.ts';
import { isLookedFor, type Look } from '../render/session-news.ts';
import type { SessionInfo } from '../sessions/info.ts';

export type WatchSessions = {
  readonly sessions: Pick<PerdureClient, 'page' | 'describe'>;
  /** `before` is null at the first look. */
  readonly tell: (before: Look | null, now: Look) => void;
  /** A line when the server no longer answers, and one when it does again. */
  readonly say: (line: string) => void;
  /** Milliseconds between looks; absent: two seconds. */
  readonly everyMs?: number;
};

const LOOK_MS = 2_000;
/** Sessions under way, and newest ones, that a look reads. */
const MOST = 300;
const NEWEST = 100;
/** That were under way and are in neither: asked for one by one. */
const SOUGHT = 20;
/** That are remembered. */
const KNOWN = 2_000;

/**
 * One look at a time. The returned function ends it, and resolves when nothing of it runs any more.
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
  const look = looker(sessions);
  let before: Look | null = null;
  let away = false;
  do {
    try {
      // Not given to the client: Temporal's would keep a listener at it for each of its calls, for
      // as long as this goes on.
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

function looker(sessions: WatchSessions['sessions']): (before: Look | null) => Promise<Look> {
  // Where the server lacks the attributes, a filter has every session read.
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
    const missed = [...(before?.values() ?? [])].filter((each) => isLookedFor(each) && !found.has(each.session));
    const sought = await Promise.all(missed.slice(0, SOUGHT).map(({ session }) => seek(sessions, session)));
    const known = new Map(before);
    for (const [id, session] of [...sought, ...found]) {
      // Seen last is forgotten last.
      known.delete(id);
      if (session !== null) known.set(id, session);
    }
    for (const id of [...known.keys()].slice(0, Math.max(0, known.size - KNOWN))) known.delete(id);
    return known;
  };
}

/** Null: it is no longer there. */
async function seek(sessions: WatchSessions['sessions'], id: string): Promise<readonly [string, SessionInfo | null]> {
  try {
    return [id, await sessions.describe(id)];
  } catch (error) {
    if (error instanceof ClientProblem && error.kind === 'no_session') return [id, null];
    throw error;
  }
}
