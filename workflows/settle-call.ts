// A call that was stopped, or failed for good, and did not say what had become of it: whoever takes its activity finds out, and
// nothing begins any more (L39, L40, L48).
import { CancellationScope } from '@temporalio/workflow';
import { activityProblem, type ActivityProblem } from './activity-problem.ts';
import type { Call, OutcomeItem, RunTool } from './contract/activities.ts';
import type { CallResult } from './machine/events.ts';
import type { Session } from './session.ts';

const CHECK = 'It may have taken effect; check before repeating it.';

/** What is the same for all calls of a reply. */
export type CallsOf = Pick<RunTool, 'head' | 'config' | 'iteration' | 'context'>;

/** Not cancelled by anything. */
export async function settleCall(
  session: Session,
  calls: CallsOf,
  item: OutcomeItem,
  { safe }: Pick<Call, 'safe'>,
): Promise<CallResult> {
  const { index } = item;
  const judged = safe ? { safe: true as const } : {};
  const look = () => session.ports.runTool({ ...calls, ...judged, step: session.nextStep(), index, stopped: true });
  try {
    const done = await CancellationScope.nonCancellable(look);
    if ('ask' in done) throw new Error(`call ${index} asks, and it was stopped`);
    return { item, facts: done };
  } catch (error) {
    const problem = activityProblem(error);
    if (problem === null) throw error;
    return unknownCall(index, problem);
  }
}

/** Without its key: the record of its outcome may be what is damaged, and nobody shall look for it again. */
export function unknownCall(index: number, { damaged, detail }: ActivityProblem): CallResult {
  const why = damaged ? 'what is stored of this call is damaged' : 'the call was given up';
  return {
    item: { index, note: `Outcome unknown: ${why}. ${CHECK} ${detail}`, unknown: true },
    facts: { error: true },
  };
}
