// Finds the sessions of a filter among the newest: `phase:NAME` and words that are in the title, the id or the folder. Bounded, and says so.
import type { SeenPhase, SessionInfo } from '../../sessions/info.ts';

/** A page of the sessions that a filter means. */
export type Found = {
  readonly sessions: readonly SessionInfo[];
  /** Where the next page begins; null on the last. */
  readonly next: string | null;
  readonly counts: Readonly<Partial<Record<SeenPhase, number>>>;
  readonly total: string;
  /** Why this is less, or slower, than it could be. */
  readonly note?: string;
};

/** Looked through; more are found by their address. */
const MOST = 2_000;
const PAGE = 100;

export async function findSessions(
  list: () => AsyncIterable<SessionInfo>,
  filter: string,
  after: string | null,
): Promise<Found> {
  const sessions: SessionInfo[] = [];
  let more = false;
  for await (const session of list()) {
    more = sessions.length >= MOST;
    if (more) break;
    sessions.push(session);
  }
  const counts: Partial<Record<SeenPhase, number>> = {};
  for (const { phase } of sessions) counts[phase] = (counts[phase] ?? 0) + 1;
  const found = sessions.filter(matcher(filter));
  const from = Math.max(0, found.findIndex(({ session }) => session === after) + 1);
  const page = found.slice(from, from + PAGE);
  const next = found.length > from + PAGE ? (page.at(-1)?.session ?? null) : null;
  const note = `Only the newest ${MOST.toLocaleString('en')} sessions are looked through.`;
  return { sessions: page, next, counts, total: `${sessions.length}${more ? '+' : ''}`, ...(more ? { note } : {}) };
}

function matcher(filter: string): (session: SessionInfo) => boolean {
  const words = filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  return ({ session, title, cwd, phase }) => {
    const text = `${session}\n${title}\n${cwd}`.toLowerCase();
    return words.every((word) => (word.startsWith('phase:') ? phase.startsWith(word.slice(6)) : text.includes(word)));
  };
}
