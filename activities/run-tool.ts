// Runs one call the regular way (L33): found in the stored reply, run under its claim, its outcome
// recorded under its key. It runs nothing when someone must be asked first (L55).
import type { RunTool, RunToolResult } from '../workflows/contract/activities.ts';
import { callKey } from '../workflows/contract/ids.ts';
import { type Attempt, stopAttempt } from './attempt.ts';
import type { Deps } from './deps.ts';
import { findStoredCall } from './calls/record-ends.ts';
import { refuseWithoutHooks } from './guards.ts';
import { endIfThrows } from '../store/live/tell.ts';

export function runTool(deps: Deps): (attempt: Attempt, input: RunTool) => Promise<RunToolResult> {
  return async (
    attempt,
    {
      head,
      reply = head,
      config: hash,
      step,
      iteration,
      index,
      safe,
      context,
      decision,
      stopped: isStopped,
      mayHaveBegun,
      givenUp,
      delegated,
      left,
    },
  ) => {
    const { session, number } = attempt;
    const config = await deps.config(hash);
    if (!isStopped) refuseWithoutHooks(deps, config);
    const { call } = findStoredCall(await deps.transcripts.view(session, head), index);
    const live = deps.live.open({ session, step, attempt: number, activity: 'runTool' });
    return endIfThrows(live, async () => {
      const effective = isStopped ? stopAttempt(attempt) : attempt;
      const done = await deps.tools.bind(config, call, context).runClaimed(effective, {
        key: callKey(config.chain, reply, index),
        iteration,
        say: live.write,
        safe: safe === true,
        decision,
        mayHaveBegun: isStopped === true || mayHaveBegun === true,
        givenUp,
        delegated,
        asking: { step, left },
      });
      await live.end({ type: 'fate', fate: 'done' });
      return 'ask' in done || 'delegate' in done ? done : done.facts;
    });
  };
}
