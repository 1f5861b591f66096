// Why an activity failed for good. The loop goes on with it as a value: thrown on, it would end the workflow, and the session with it.
import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import { STORE_CORRUPT } from './contract/failures.ts';

export type ActivityProblem = { readonly damaged: boolean; readonly detail: string };

/**
 * `damaged`: what is stored. Every other failure that is not retried is a defect, of ours or of who failed it by hand. Null when it is
 * no activity's; to be asked when nothing was stopped, for what was cancelled fails as well.
 */
export function activityProblem(error: unknown): ActivityProblem | null {
  if (!(error instanceof ActivityFailure)) return null;
  const { cause, activityType } = error;
  if (cause instanceof ApplicationFailure && cause.type === STORE_CORRUPT)
    return { damaged: true, detail: cause.message };
  const why = cause?.message ?? error.message;
  return { damaged: false, detail: `internal error: ${activityType} failed and is not tried again: ${why}` };
}
