// Runs hooks that no caller waits for (L21): they may outlive the step that told them, but not
// their worker.

type UnawaitedHooks = {
  /** Runs `tell` with a signal that is also aborted by `end`. */
  run<Told>(signal: AbortSignal, tell: (signal: AbortSignal) => Promise<Told>): Promise<Told>;
  /** Resolves when none runs. Hooks that come later are stopped before they run. */
  end(): Promise<void>;
};

export function createUnawaitedHooks(): UnawaitedHooks {
  const running = new Map<AbortController, Promise<unknown>>();
  let ended = false;
  return {
    async run(signal, tell) {
      // Each has a controller of its own: a listener on a signal that lives as long as the worker
      // would be kept as long.
      const end = new AbortController();
      if (ended) end.abort();
      const told = tell(AbortSignal.any([signal, end.signal]));
      running.set(end, told);
      try {
        return await told;
      } finally {
        running.delete(end);
      }
    },
    async end() {
      ended = true;
      for (const end of running.keys()) end.abort();
      // The end of each is told to the caller of `run`.
      await Promise.allSettled(running.values());
    },
  };
}
