// Tells the after-stop handlers that a run came to its natural end (L56): memory extraction, reports. Each gets its time and no
// more, so that the session can close.
import type { AfterStop } from '../workflows/contract/activities.ts';
import type { Attempt } from './attempt.ts';
import type { AfterStopHandler, Deps, EndedRun } from './deps.ts';

/**
 * All handlers side by side, each once in an attempt; one whose attempt died with its worker is run again by the next. A handler
 * that throws or is out of time is reported to `warn`; one that does not heed its signal is no longer waited for.
 */
export function afterStop(deps: Deps): (attempt: Attempt, input: AfterStop) => Promise<void> {
  return async (attempt, { head, config: hash, run }) => {
    const { session, signal } = attempt;
    const { queryId, cwd } = await deps.config(hash);
    const { entries } = await deps.transcripts.view(session, head);
    const ended = { session, queryId, run, cwd, entries };
    await Promise.all(deps.afterStop.map((handler) => runHandler(handler, ended, signal, deps.warn)));
    const by = attempt.abortedBy();
    if (by !== null && by !== 'stop') throw new Error(`the attempt was given up: ${by}`);
  };
}

async function runHandler(
  { name, timeoutMs, run }: AfterStopHandler,
  ended: Omit<EndedRun, 'signal'>,
  stopped: AbortSignal,
  warn: Deps['warn'],
): Promise<void> {
  const time = new AbortController();
  const timer = setTimeout(() => time.abort(), timeoutMs);
  const signal = AbortSignal.any([stopped, time.signal]);
  try {
    const givenUp = new Promise<never>((_, reject) => {
      const give = (): void => reject(new Error('given up'));
      if (signal.aborted) give();
      signal.addEventListener('abort', give, { once: true });
    });
    await Promise.race([Promise.resolve().then(() => run({ ...ended, signal })), givenUp]);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const what = time.signal.aborted ? `timed out after ${timeoutMs} ms` : stopped.aborted ? 'was stopped' : why;
    warn(`after-stop handler ${name} of session ${ended.session}, run ${ended.run}: ${what}`);
  } finally {
    clearTimeout(timer);
  }
}
