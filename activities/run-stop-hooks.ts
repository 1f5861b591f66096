// Asks the stop hooks whether the run may end with its last reply (L30). Safe to attempt twice: hooks only answer.
import type { RunStopHooks, StopHooksRan } from '../workflows/contract/activities.ts';
import { type Attempt, givenUp, isGivenUp } from './attempt.ts';
import type { Deps } from './deps.ts';
import { hookContext } from './hooks/hook-context.ts';
import { refuseWithoutHooks } from './hooks/refuse-without-hooks.ts';
import { orDied } from './live/or-died.ts';
import { finalText } from './transcript/view/result.ts';

/** An attempt that was stopped answers `passed`: whoever stopped it decides what follows (L47). */
export function runStopHooks(deps: Deps): (attempt: Attempt, input: RunStopHooks) => Promise<StopHooksRan> {
  return async (attempt, { head, config: hash, step, iteration, active }) => {
    const { session, number, signal } = attempt;
    const config = await deps.config(hash);
    refuseWithoutHooks(deps, config);
    const live = deps.live.open({ session, step, attempt: number, activity: 'runStopHooks' });
    return orDied(live, async () => {
      const text = finalText(await deps.transcripts.view(session, head));
      const ran = await deps.hooks.stop(hookContext(config, { iteration, signal }, live), { text, active });
      // What the hooks would have said, another attempt finds out.
      if (isGivenUp(attempt)) throw givenUp(attempt);
      await live.end({ type: 'fate', fate: 'done' });
      return attempt.abortedBy() === 'stop' ? { verdict: { kind: 'passed' }, failed: [] } : ran;
    });
  };
}
