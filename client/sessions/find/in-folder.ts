// Lists a folder's open sessions, newest first, for a person or program that comes back to it.
import type { SessionInfo } from '../info.ts';

/**
 * Leaves out sessions that agents began, since their parents talk to them. Looks through at most
 * `lookedAt` sessions.
 */
export async function* openSessionsIn(
  sessions: { list(which: { readonly open: true }): AsyncIterable<SessionInfo> },
  cwd: string,
  lookedAt: number = Number.POSITIVE_INFINITY,
): AsyncGenerator<SessionInfo> {
  let looked = 0;
  for await (const info of sessions.list({ open: true })) {
    if (info.cwd === cwd && info.unreadable === undefined && info.facts?.agent === undefined) yield info;
    looked += 1;
    if (looked === lookedAt) return;
  }
}
