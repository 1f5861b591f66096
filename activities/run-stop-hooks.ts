// Asks the stop hooks whether the run may end with its last reply (L30). Safe to attempt twice: hooks only answer.
import type { RunStopHooks, StopHooksRan } from '../workflows/contract/activities.ts';
import type { Attempt } from './attempt.ts';
import type { Deps } from './deps.ts';
import { watchHooks } from './hooks/watch-hooks.ts';
import { orDied } from './live/or-died.ts';
import { lastReply, type View } from './transcript/view.ts';

/** An attempt that was stopped answers `passed`: whoever stopped it decides what follows (L47). */
export function runStopHooks(deps: Deps): (attempt: Attempt, input: RunStopHooks) => Promise<StopHooksRan> {
  return async (attempt, { head, config: hash, step, iteration, active }) => {
    const { session, number, signal } = attempt;
    const config = await deps.config(hash);
    const live = deps.live.open({ session, step, attempt: number, activity: 'runStopHooks' });
    return orDied(live, async () => {
      const text = replyText(await deps.transcripts.view(session, head));
      const { queryId, depth, cwd } = config;
      const context = { session, queryId, depth, iteration, cwd, signal, watch: watchHooks(live, iteration) };
      const ran = await deps.hooks.stop(context, { text, active });
      const by = attempt.abortedBy();
      // Not a stop (L50): what the hooks would have said, another attempt finds out.
      if (by !== null && by !== 'stop') throw new Error(`the attempt was given up: ${by}`);
      await live.end({ type: 'fate', fate: 'done' });
      return by === 'stop' ? { verdict: { kind: 'passed' }, failed: [] } : ran;
    });
  };
}

function replyText(view: View): string {
  const content = lastReply(view)?.reply.message.content ?? [];
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('');
}
