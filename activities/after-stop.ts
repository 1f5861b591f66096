// Tells the after-stop handlers that a run came to its natural end (L56): memory extraction,
// reports, a suggested prompt.
import type { Activities, AfterStop } from '../workflows/contract/activities.ts';
import { addSpend, noSpend } from '../workflows/contract/loop.ts';
import { type Attempt, createGivenUpError, isGivenUp } from './attempt.ts';
import type { Deps, AfterStopHandler, EndedRun } from './deps.ts';
import { suggestPrompt } from './memory/suggest-prompt.ts';
import { runFields } from '../system/log.ts';
import { TimedOut, runWithin } from '../system/async.ts';
import { reasonOf } from '../system/text.ts';

/**
 * Tells the after-stop handlers that a run came to its natural end (L56), and asks what the person
 * may write next. All handlers run in parallel, each once in an attempt; one whose attempt died
 * with its worker is run again by the next. Each gets its time and no more, so that the session can
 * close. A handler that throws or is out of time is logged; one that does not heed its signal is
 * not waited for.
 */
export function afterStop(deps: Deps): (attempt: Attempt, input: AfterStop) => ReturnType<Activities['afterStop']> {
  return async (attempt, { head, config: hash, run, step, until }) => {
    const { session } = attempt;
    const config = await deps.config(hash);
    const { queryId, depth, cwd, traceparent } = config;
    const memory = config.memory === true ? deps.memory : undefined;
    // A session that closes takes no further prompt.
    const suggests = config.suggestPrompts === true && !config.scripted && until !== 'run';
    if (deps.afterStop.length === 0 && !memory && !suggests) return null;
    const { entries } = await deps.transcripts.whole(session, head);
    const ended = { session, queryId, depth, run, cwd, entries, ...(traceparent && { traceparent }) };
    const [remembering, suggesting] = splitAttempt(attempt);
    const [spend, suggested] = await Promise.all([
      memory?.extract(remembering, { config, step }, ended) ?? null,
      suggests ? suggestPrompt(deps, suggesting, { config, step }, ended) : null,
      Promise.all(deps.afterStop.map((handler) => runHandler(handler, ended, attempt, deps.log))),
    ]);
    if (isGivenUp(attempt)) throw createGivenUpError(attempt);
    const ofMemory = memory && spend ? addSpend(spend, memory.takeSpend(session)) : null;
    if (ofMemory === null && suggested === null) return null;
    return {
      spend: addSpend(ofMemory ?? noSpend, suggested?.spend ?? noSpend),
      ...(suggested?.text ? { suggestion: suggested.text } : {}),
    };
  };
}

/**
 * Splits what an attempt remembers between two questions that run in parallel, so that each keeps
 * its bill.
 */
function splitAttempt(attempt: Attempt): readonly [Attempt, Attempt] {
  const { suggesting: second, ...first } = (attempt.remembered ?? {}) as { readonly suggesting?: unknown };
  const now: { first: object; second: unknown } = { first, second };
  const keep = (when?: 'now'): void => attempt.remember({ ...now.first, suggesting: now.second }, when);
  return [
    {
      ...attempt,
      remembered: attempt.remembered && first,
      remember: (details, when) => ((now.first = details as object), keep(when)),
    },
    { ...attempt, remembered: second, remember: (details, when) => ((now.second = details), keep(when)) },
  ];
}

async function runHandler(
  { name, timeoutMs, run }: AfterStopHandler,
  ended: Omit<EndedRun, 'signal'>,
  { signal: stopped, number }: Attempt,
  log: Deps['log'],
): Promise<void> {
  try {
    await runWithin(timeoutMs, stopped, (signal) => run({ ...ended, signal }));
  } catch (error) {
    const what = stopped.aborted && !(error instanceof TimedOut) ? 'was stopped' : reasonOf(error);
    log('warn', `after-stop handler ${name}: ${what}`, { ...runFields(ended), attempt: number });
  }
}
