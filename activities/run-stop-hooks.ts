// Asks the stop hooks whether the run may end with its last reply (L30). Safe to attempt twice:
// hooks only answer.
import type { Activities, RunStopHooks, StopHooksRan, AfterStop } from '../workflows/contract/activities.ts';
import { agentName, type Hash, type SessionId } from '../workflows/contract/ids.ts';
import { addSpend, noSpend } from '../workflows/contract/loop.ts';
import { type Attempt, describeGivenUp, isGivenUp } from './attempt.ts';
import type { RunConfig } from '../store/configuration.ts';
import type { Deps, AfterStopHandler, EndedRun } from './deps.ts';
import { hookContext } from './hooks/hook-context.ts';
import type { HookContext } from './hooks/hooks.ts';
import { refuseWithoutHooks } from './guards.ts';
import { endIfThrows } from '../store/live/tell.ts';
import { createBodyReader } from '../store/log/bodies.ts';
import { renderEntries } from '../store/view/render-entries.ts';
import { suggestPrompt } from './memory/suggest-prompt.ts';
import { finalText } from '../store/view/final-text.ts';
import { runFields } from '../system/log.ts';
import { TimedOut, runWithin } from '../system/async.ts';
import { reasonOf } from '../system/text.ts';

/** An attempt that was stopped answers `passed`: whoever stopped it decides what follows (L47). */
export function runStopHooks(deps: Deps): (attempt: Attempt, input: RunStopHooks) => Promise<StopHooksRan> {
  return async (attempt, { head, config: hash, step, iteration, active }) => {
    const { session, number, signal } = attempt;
    const config = await deps.config(hash);
    refuseWithoutHooks(deps, config);
    const live = deps.live.open({ session, step, attempt: number, activity: 'runStopHooks' });
    return endIfThrows(live, async () => {
      const text = finalText(await deps.transcripts.view(session, head));
      const transcript = (): Promise<string> => runText(deps, session, head);
      const context = hookContext(config, { iteration, signal }, live);
      const stopped = await deps.hooks.stop(context, { text, active }, transcript);
      const ran = await askIdle(deps, config, context, { text, active }, stopped);
      // Another attempt finds out what the hooks would have said.
      if (isGivenUp(attempt)) throw describeGivenUp(attempt);
      await live.end({ type: 'fate', fate: 'done' });
      return attempt.abortedBy() === 'stop' ? { verdict: { kind: 'passed' }, failed: [] } : ran;
    });
  };
}

/**
 * An agent that no stop hook keeps at work has nothing left to do, unless an `agentIdle` hook knows
 * of something.
 */
async function askIdle(
  { hooks }: Deps,
  { agent, session }: RunConfig,
  context: HookContext,
  reply: { readonly text: string; readonly active: boolean },
  stopped: StopHooksRan,
): Promise<StopHooksRan> {
  if (!agent || stopped.verdict.kind !== 'passed' || !hooks.has('agentIdle')) return stopped;
  const { verdict, failed } = await hooks.agentIdle(context, { ...reply, agent: { id: agentName(session), ...agent } });
  return { verdict, failed: [...stopped.failed, ...failed] };
}

async function runText({ transcripts, store }: Deps, session: SessionId, head: Hash): Promise<string> {
  const { entries } = await transcripts.whole(session, head);
  const from = Math.max(
    0,
    entries.findLastIndex(({ kind }) => kind === 'run_started'),
  );
  const ofRun = entries.slice(from);
  return renderEntries(ofRun, from, await createBodyReader(store)(ofRun)) ?? '';
}

// Tells the after-stop handlers that a run came to its natural end (L56): memory extraction,
// reports; and asks what the person may write next. Each gets its time and no more, so that the
// session can close.

/**
 * All handlers side by side, each once in an attempt; one whose attempt died with its worker is run
 * again by the next. A handler that throws or is out of time is logged; one that does not heed its
 * signal is no longer waited for.
 */
export function afterStop(deps: Deps): (attempt: Attempt, input: AfterStop) => ReturnType<Activities['afterStop']> {
  return async (attempt, { head, config: hash, run, step, until }) => {
    const { session } = attempt;
    const config = await deps.config(hash);
    const { queryId, depth, cwd, traceparent } = config;
    const memory = config.memory === true ? deps.memory : undefined;
    // Nobody writes to a session that closes.
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
    if (isGivenUp(attempt)) throw describeGivenUp(attempt);
    const ofMemory = memory && spend ? addSpend(spend, memory.takeSpend(session)) : null;
    if (ofMemory === null && suggested === null) return null;
    return {
      spend: addSpend(ofMemory ?? noSpend, suggested?.spend ?? noSpend),
      ...(suggested?.text ? { suggestion: suggested.text } : {}),
    };
  };
}

/** Each of two that ask side by side remembers what it was billed, beside the other. */
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
