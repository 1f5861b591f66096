// Asks the stop hooks whether the run may end with its last reply (L30). Safe to attempt twice:
// hooks only answer.
import type { RunStopHooks, StopHooksRan } from '../workflows/contract/activities.ts';
import { agentName, type Hash, type SessionId } from '../workflows/contract/ids.ts';
import { type Attempt, createGivenUpError, isGivenUp } from './attempt.ts';
import type { RunConfig } from '../store/configuration.ts';
import type { Deps } from './deps.ts';
import { type HookContext, buildHookContext } from './hooks/hooks.ts';
import { refuseWithoutHooks } from './guards.ts';
import { endIfThrows } from '../store/live/tell.ts';
import { systemPartsOf } from '../store/system-prompt.ts';
import { createBodyReader } from '../store/log/bodies.ts';
import { renderEntries } from '../store/view/render-entries.ts';
import { finalText } from '../store/view/result.ts';

/**
 * Asks the hooks. An attempt that was stopped answers `passed`: the person who stopped it decides
 * what follows (L47).
 */
export function runStopHooks(deps: Deps): (attempt: Attempt, input: RunStopHooks) => Promise<StopHooksRan> {
  return async (attempt, { head, config: hash, step, iteration, active }) => {
    const { session, number, signal } = attempt;
    const config = await deps.config(hash);
    refuseWithoutHooks(deps, config);
    const live = deps.live.open({ session, step, attempt: number, activity: 'runStopHooks' });
    return endIfThrows(live, async () => {
      const text = finalText(await deps.transcripts.view(session, head));
      const transcript = (): Promise<string> => renderRun(deps, session, head);
      const context = buildHookContext(config, { iteration, signal }, live);
      const stopped = await deps.hooks.stop(context, { text, active, system: systemPartsOf(config) }, transcript);
      const ran = await askIdle(deps, config, context, { text, active, stopped });
      // Another attempt asks the hooks again.
      if (isGivenUp(attempt)) throw createGivenUpError(attempt);
      await live.end({ type: 'fate', fate: 'done' });
      return attempt.abortedBy() === 'stop' ? { verdict: { kind: 'passed' }, failed: [] } : ran;
    });
  };
}

/** Asks the `agentIdle` hooks about an agent that no stop hook keeps at work. */
async function askIdle(
  { hooks }: Deps,
  { agent, session }: RunConfig,
  context: HookContext,
  { stopped, ...reply }: { readonly text: string; readonly active: boolean; readonly stopped: StopHooksRan },
): Promise<StopHooksRan> {
  if (!agent || stopped.verdict.kind !== 'passed' || !hooks.has('agentIdle')) return stopped;
  const { verdict, failed } = await hooks.agentIdle(context, { ...reply, agent: { id: agentName(session), ...agent } });
  return { verdict, failed: [...stopped.failed, ...failed] };
}

async function renderRun({ transcripts, store }: Deps, session: SessionId, head: Hash): Promise<string> {
  const { entries } = await transcripts.whole(session, head);
  const from = Math.max(
    0,
    entries.findLastIndex(({ kind }) => kind === 'run_started'),
  );
  const ofRun = entries.slice(from);
  return renderEntries(ofRun, from, await createBodyReader(store)(ofRun)) ?? '';
}
