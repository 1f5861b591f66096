// Hooks at the end of a session, told after its end is stored. A second attempt may tell them again.
import type { Attempt } from '../attempt.ts';
import type { Deps } from '../deps.ts';
import { queryName } from '../query-name.ts';
import type { Extended } from '../transcript/transcripts.ts';

/** Failures go to `warn`: there is no conversation left to put them into. Throws StoreError. */
export async function sessionEnd(
  deps: Pick<Deps, 'hooks' | 'config' | 'warn'>,
  { session, signal }: Attempt,
  { view, added }: Extended,
): Promise<void> {
  if (!deps.hooks.has('sessionEnd') || !added.some(({ kind }) => kind === 'session_closed')) return;
  const last = [...view.entries, ...added].findLast((entry) => entry.kind === 'run_started');
  const run = last === undefined ? null : await deps.config(last.config);
  const about = {
    session,
    queryId: run?.queryId ?? session,
    depth: run?.depth ?? 0,
    iteration: 0,
    cwd: run?.cwd ?? null,
  };
  const { failed } = await deps.hooks.sessionEnd({ ...about, signal });
  for (const { hook, detail } of failed) deps.warn(`hook ${hook} at the end of ${queryName(about)}: ${detail}`);
}
