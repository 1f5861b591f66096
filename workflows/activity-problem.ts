// Returns why an activity failed for good. The loop continues with the reason as a value: a
// rethrown error would end the workflow, and the session with it.
import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import { HOST_AWAY, STORE_CORRUPT } from './contract/failures.ts';

export type ActivityProblem = { readonly damaged: boolean; readonly detail: string };

/**
 * Returns null for an error that no activity caused. `damaged`: a stored value is missing or
 * corrupt; any other failure that is not retried is a defect, or somebody failed the activity by
 * hand. Rule out a stop before the call: a cancelled activity fails as well.
 */
export function activityProblem(error: unknown): ActivityProblem | null {
  if (!(error instanceof ActivityFailure)) return null;
  const { cause, activityType: type } = error;
  if (cause instanceof ApplicationFailure && cause.type === STORE_CORRUPT)
    return { damaged: true, detail: cause.message };
  if (cause instanceof ApplicationFailure && cause.type === HOST_AWAY) return { damaged: false, detail: cause.message };
  const why = cause?.message ?? error.message;
  return { damaged: false, detail: `internal error: ${type} failed and is not tried again: ${why}` };
}
