// What this worker cannot take and another may: not a failure of the run. It is tried again after a while, until one takes it.
import { ApplicationFailure } from '@temporalio/common';

/** `message`: what this worker lacks, and what to do. */
export function forAnotherWorker(type: string, message: string, again: '5s' | '1 minute' = '5s'): ApplicationFailure {
  return ApplicationFailure.create({ type, message, nextRetryDelay: again });
}
