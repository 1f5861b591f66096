// Stores what no model call will carry: the end of a run, the end of a session (L39, L47–L49). It
// cannot be cancelled, and depends only on its input, so a second attempt makes the same hash.
import type { Commit, CommitResult } from '../workflows/contract/activities.ts';
import { isOfWorker } from '../workflows/contract/delegation.ts';
import type { Attempt } from './attempt.ts';
import type { Deps } from './deps.ts';
import type { FilesEntry } from '../store/snapshots/files-entry.ts';
import type { ExtendedView } from '../store/transcript/transcripts.ts';
import { recordEnds } from './calls/record-ends.ts';
import { announceEntries, endIfThrows } from '../store/live/tell.ts';
import { runFields } from '../system/log.ts';
import type { Entry } from '../store/log/entries.ts';

export function commit(deps: Deps): (attempt: Attempt, input: Commit) => Promise<CommitResult> {
  return async (attempt, input) => {
    const { session, number } = attempt;
    const { head, step } = input;
    const append = await recordEnds(deps, attempt, input);
    const live = deps.live.open({ session, step, attempt: number, activity: 'commit' });
    return endIfThrows(live, async () => {
      const base = await deps.transcripts.extend(session, head, append);
      const files = await captureLast(deps, attempt, input, base);
      const next = deps.transcripts.next(base, files ? [files] : []);
      const stored = await deps.store.put(next.bytes);
      deps.transcripts.keep(next);
      announceEntries(live, base.added);
      for (const entry of base.added) {
        if (entry.kind === 'run_ended') live.write({ type: 'run_end', ended: entry.ended, head: stored });
      }
      await live.end({ type: 'fate', fate: 'stored', head: stored });
      await queueWork(deps, attempt, base);
      await tellRunEnd(deps, attempt, base);
      await tellSessionEnd(deps, attempt, base);
      return { head: stored };
    });
  };
}

/**
 * Queues an item where a call waits for a worker of its environment (G74). The workflow has the
 * call open by then: who ends an item after this sees it.
 */
async function queueWork(
  { config, work }: Pick<Deps, 'config' | 'work'>,
  { session }: Attempt,
  { view, added }: ExtendedView,
): Promise<void> {
  const isSandboxed = (entry: Entry): boolean =>
    entry.kind === 'wait' && entry.calls.some(({ why }) => isOfWorker(why));
  if (!added.some(isSandboxed)) return;
  const started = [...view.entries, ...added].findLast((entry) => entry.kind === 'run_started');
  const { environment } = started ? await config(started.config) : {};
  if (environment !== undefined) await work.of(environment).ensure(session, `session ${session}`);
}

/**
 * Captures what the last calls of a run have changed, where no model call came after them (T1). A
 * second attempt finds the same files, or captures them anew under another hash.
 */
async function captureLast(
  deps: Deps,
  { signal }: Attempt,
  { head, host }: Commit,
  base: ExtendedView,
): Promise<FilesEntry | null> {
  const { snapshots } = deps;
  const end = base.added.find((entry) => entry.kind === 'run_ended')?.ended;
  // Looking for the start copies all entries, which is for nothing where nothing is captured.
  if (!end || !snapshots) return null;
  const started = findRunStart(base.view.entries, base.added, end.run);
  return started
    ? await snapshots.captureLast({ config: await deps.config(started.config), head, base, host, signal })
    : null;
}

/**
 * Tells tools and hooks of ends, after they are stored: the end of a run, the end of a session.
 * Tells tools of the end of a run, after it is stored; a run that could not be opened held nothing.
 * Throws StoreError.
 */
async function tellRunEnd(
  { config, tools, log }: Pick<Deps, 'config' | 'tools' | 'log'>,
  { session, signal, number }: Attempt,
  { view, added }: ExtendedView,
): Promise<void> {
  const end = added.find((entry) => entry.kind === 'run_ended')?.ended;
  const started = end && findRunStart(view.entries, added, end.run);
  if (!started) return;
  const runConfig = await config(started.config);
  const { cwd, queryId, depth } = runConfig;
  const about = { session, run: end.run, reason: end.terminal.reason, cwd, queryId, depth };
  const fields = { ...runFields(runConfig), attempt: number };
  for (const { tool, detail } of await tools.closeRun(runConfig, { ...about, signal }))
    log('warn', `tool ${tool} failed to close at the end of the run: ${detail}`, fields);
}

function findRunStart(entries: readonly Entry[], added: readonly Entry[], run: number) {
  const isStart = (entry: Entry) => entry.kind === 'run_started';
  const found = added.findLast(isStart) ?? entries.findLast(isStart);
  return found?.run === run ? found : undefined;
}

/**
 * Tells the hooks at the end of a session, after its end is stored; a second attempt may tell them
 * again. Failures are logged: the conversation that could hold them is over. Throws StoreError.
 */
async function tellSessionEnd(
  deps: Pick<Deps, 'hooks' | 'config' | 'log'>,
  { session, signal, number }: Attempt,
  { view, added }: ExtendedView,
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
    folders: run?.folders,
    querySource: run?.querySource,
  };
  const { failed } = await deps.hooks.sessionEnd({ ...about, signal });
  const fields = { ...runFields(run ?? about), attempt: number };
  for (const { hook, detail } of failed) deps.log('warn', `hook ${hook} at the end of the session: ${detail}`, fields);
}
