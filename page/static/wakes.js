// Tells that this machine slept, as listenForWakes in system/async.ts does for the server: a stream may have
// died meanwhile, and a browser does not always hear of it.

/** Milliseconds between two looks at the clocks, and those that must be missing; a busy tab looks late, too. */
const LOOK_MS = 2_000;
const LEAST_JUMP_MS = 30_000;

export function onWake(hear) {
  // One of the two goes on while the machine sleeps; which, depends on the system.
  let before = [Date.now(), performance.now()];
  setInterval(() => {
    const now = [Date.now(), performance.now()];
    const missing = Math.max(now[0] - before[0], now[1] - before[1]) - LOOK_MS;
    before = now;
    if (missing >= LEAST_JUMP_MS) hear();
  }, LOOK_MS);
}
