// Settles a call that was stopped, or that failed for good, and did not say what had become of it:
// an activity finds out, and begins nothing (L39, L40, L48).
import { CancellationScope } from '@temporalio/workflow';
import type { Call } from '../contract/activities.ts';
import type { DelegatedEnd } from '../contract/delegation.ts';
import { present } from '../contract/present.ts';
import type { CallResult } from '../machine/events.ts';
import { activityProblem, type ActivityProblem } from '../activity-problem.ts';
import type { ReplyCalls, SharedInput } from './reply-calls.ts';

const CHECK = 'It may have taken effect; check before repeating it.';

/** `delegated`: the end of a call that the workflow carried out. Nothing cancels this. */
export async function settleCall(
  reply: ReplyCalls,
  shared: SharedInput,
  { index, safe, givenUp }: Call,
  delegated?: DelegatedEnd,
): Promise<CallResult> {
  const { ports, facts } = reply.session;
  const judged = { ...(safe && { safe: true as const }), ...present({ givenUp, delegated }) };
  const item = reply.itemOf(index);
  const findOut = () => ports.runTool({ ...shared, ...judged, step: facts.nextStep(), index, stopped: true });
  try {
    const result = await CancellationScope.nonCancellable(findOut);
    if ('ask' in result || 'delegate' in result) throw new Error(`call ${index} was stopped, and wants to begin`);
    return { item, facts: result };
  } catch (error) {
    const problem = activityProblem(error);
    if (problem === null) throw error;
    return unknownOutcome(index, problem);
  }
}

/**
 * Leaves out the call's key: the record of its outcome may be what is damaged, and looking for it
 * again would fail again.
 */
export function unknownOutcome(index: number, { damaged, detail }: ActivityProblem): CallResult {
  const why = damaged ? 'what is stored of this call is damaged' : 'the call was given up';
  return {
    item: { index, note: `Outcome unknown: ${why}. ${CHECK} ${detail}`, unknown: true },
    facts: { error: true },
  };
}
