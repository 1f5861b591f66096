// Tells that this machine slept, or that its clock was set: the time passed on, and nothing here
// noticed. Node's timers stand still while a machine sleeps, and connections die meanwhile.

/** Milliseconds between two looks at the clocks. */
const LOOK_MS = 2_000;
/** Milliseconds that must be missing; a busy process looks late, too. */
const LEAST_JUMP_MS = 30_000;

/** Calls `onWake` after each jump, with the milliseconds that are missing, until it is stopped. */
export function listenForWakes(onWake: (ms: number) => void): { readonly stop: () => void } {
  // One of the two goes on while the machine sleeps; which, depends on the system.
  let before = [Date.now(), performance.now()] as const;
  const look = (): void => {
    const now = [Date.now(), performance.now()] as const;
    const missing = Math.max(now[0] - before[0], now[1] - before[1]) - LOOK_MS;
    before = now;
    if (missing >= LEAST_JUMP_MS) onWake(missing);
  };
  const timer = setInterval(look, LOOK_MS).unref();
  return { stop: () => clearInterval(timer) };
}
