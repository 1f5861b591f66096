// Waiting for a state. The test's own timeout ends a wait that never comes true.
import { setTimeout as sleep } from 'node:timers/promises';

const tick = (): Promise<void> => sleep(10);

export async function until<T>(probe: () => T | Promise<T>): Promise<Exclude<T, false | null | undefined>> {
  for (;;) {
    const found = await probe();
    if (found !== false && found !== null && found !== undefined) return found as Exclude<T, false | null | undefined>;
    await tick();
  }
}

until.tick = tick;
