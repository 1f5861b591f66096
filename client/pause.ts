// A wait that can be cut short.
import { setTimeout as sleep } from 'node:timers/promises';

/** False when the signal came first. */
export async function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await sleep(ms, undefined, { signal });
    return true;
  } catch {
    // Only the signal ends it early.
    return false;
  }
}
