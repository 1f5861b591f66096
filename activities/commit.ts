// Stores what no model call will carry: the end of a run, the end of a session (L39, L47–L49). It
// cannot be cancelled, and is built from its input only, so that a second attempt makes the same
// hash.
import type { Commit, CommitResult } from '../workflows/contract/activities.ts';
import type { Attempt } from './attempt.ts';
import type { Deps } from './deps.ts';
import type { FilesEntry } from '../store/snapshots/files-entry.ts';
import type { ExtendedView } from '../store/transcript/transcripts.ts';
import { recordEnds } from './calls/record-ends.ts';
import { findRunStart, tellRunEnd, tellSessionEnd } from './run/tell-ends.ts';
import { announceEntries, endIfThrows } from '../store/live/tell.ts';

export function commit(deps: Deps): (attempt: Attempt, input: Commit) => Promise<CommitResult> {
  return async (attempt, input) => {
    const { session, number } = attempt;
    const { head, step } = input;
    const append = await recordEnds(deps, attempt, input);
    const live = deps.live.open({ session, step, attempt: number, activity: 'commit' });
    return endIfThrows(live, async () => {
      const base = await deps.transcripts.extend(session, head, append);
      const files = await captureLast(deps, attempt, head, base);
      const next = deps.transcripts.next(base, files ? [files] : []);
      const stored = await deps.store.put(next.bytes);
      deps.transcripts.keep(next);
      announceEntries(live, base.added);
      for (const entry of base.added) {
        if (entry.kind === 'run_ended') live.write({ type: 'run_end', ended: entry.ended, head: stored });
      }
      await live.end({ type: 'fate', fate: 'stored', head: stored });
      await tellRunEnd(deps, attempt, base);
      await tellSessionEnd(deps, attempt, base);
      return { head: stored };
    });
  };
}

/**
 * Captures what the last calls of a run have changed, where no model call came after them (T1). A
 * second attempt finds the same files, or captures them anew under another hash.
 */
async function captureLast(
  deps: Deps,
  { signal }: Attempt,
  head: Commit['head'],
  base: ExtendedView,
): Promise<FilesEntry | null> {
  const { snapshots } = deps;
  const ended = base.added.find((entry) => entry.kind === 'run_ended')?.ended;
  // Looking for the start copies all entries, which is for nothing where nothing is captured.
  if (!ended || !snapshots) return null;
  const started = findRunStart(base.view.entries, base.added, ended.run);
  return started
    ? await snapshots.captureLast({ config: await deps.config(started.config), head, base, signal })
    : null;
}
