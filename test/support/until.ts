// Waiting for a state. The test's own timeout ends a wait that never comes true.
import { setTimeout as sleep } from 'node:timers/promises';

const TICK_MS = 10;
/**
 * A probe takes at most this share of the time: one that asks a server is made less often than one
 * that looks at an array.
 */
const SHARE = 0.1;
/**
 * And no rest is longer: a probe that a busy machine held up would be followed by one that holds up
 * the test.
 */
const LONGEST_REST_MS = 400;

const tick = (): Promise<void> => sleep(TICK_MS);

export async function until<T>(probe: () => T | Promise<T>): Promise<Exclude<T, false | null | undefined>> {
  for (;;) {
    const began = performance.now();
    const found = await probe();
    if (found !== false && found !== null && found !== undefined) return found as Exclude<T, false | null | undefined>;
    await sleep(Math.min(LONGEST_REST_MS, Math.max(TICK_MS, (performance.now() - began) / SHARE)));
  }
}

until.tick = tick;
