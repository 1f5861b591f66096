// Waits for the end of what an activation does.
import { condition } from '@temporalio/workflow';

/**
 * Resolves once nothing else of the activation is left to run: a condition is looked at when it is
 * made, and again then.
 */
export function nextRound(): Promise<void> {
  let looks = 0;
  return condition(() => (looks += 1) > 1);
}
