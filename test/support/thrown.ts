// What an attempt of a model call threw for Temporal to retry.
import { ApplicationFailure } from '@temporalio/common';

export async function thrown(attempt: Promise<unknown>): Promise<ApplicationFailure> {
  const error: unknown = await attempt.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApplicationFailure)) throw new Error(`expected a failure for Temporal, got ${String(error)}`);
  return error;
}
