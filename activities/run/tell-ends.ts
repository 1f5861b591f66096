// Tells tools and hooks of ends, after they are stored: the end of a run, the end of a session.
import type { Attempt } from '../attempt.ts';
import type { Deps } from '../deps.ts';
import { runFields } from '../../system/log.ts';
import type { Entry } from '../../store/log/entries.ts';
import type { ExtendedView } from '../../store/transcript/transcripts.ts';

/**
 * Tells tools of the end of a run, after it is stored; a run that could not be opened held nothing.
 * Throws StoreError.
 */
export async function tellRunEnd(
  { config, tools, log }: Pick<Deps, 'config' | 'tools' | 'log'>,
  { session, signal, number }: Attempt,
  { view, added }: ExtendedView,
): Promise<void> {
  const ended = added.find((entry) => entry.kind === 'run_ended')?.ended;
  const started = ended && findRunStart(view.entries, added, ended.run);
  if (!started) return;
  const runConfig = await config(started.config);
  const { cwd, queryId, depth } = runConfig;
  const about = { session, run: ended.run, reason: ended.terminal.reason, cwd, queryId, depth };
  const fields = { ...runFields(runConfig), attempt: number };
  for (const { tool, detail } of await tools.closeRun(runConfig, { ...about, signal }))
    log('warn', `tool ${tool} failed to close at the end of the run: ${detail}`, fields);
}

export function findRunStart(entries: readonly Entry[], added: readonly Entry[], run: number) {
  const isStart = (entry: Entry) => entry.kind === 'run_started';
  const found = added.findLast(isStart) ?? entries.findLast(isStart);
  return found?.run === run ? found : undefined;
}

/**
 * Tells the hooks at the end of a session, after its end is stored; a second attempt may tell them
 * again. Failures are logged: the conversation that could hold them is over. Throws StoreError.
 */
export async function tellSessionEnd(
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
