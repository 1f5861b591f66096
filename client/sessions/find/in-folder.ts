// A folder's open sessions, newest first: what a program that comes back to the folder, or a
// person, goes on with.
import type { SessionInfo } from '../info.ts';

/**
 * Sessions that agents began are not among them: their parents talk to them. `lookedAt`: sessions
 * that are looked through at most.
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
