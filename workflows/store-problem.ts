// Tells a damaged store from every other failure of an activity: the one that the loop can act on.
import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import { STORE_CORRUPT } from './contract/failures.ts';

/** The sentence of a STORE_CORRUPT failure, else null. */
export function storeProblem(error: unknown): string | null {
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  return cause instanceof ApplicationFailure && cause.type === STORE_CORRUPT ? cause.message : null;
}
