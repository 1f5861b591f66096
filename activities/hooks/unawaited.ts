// Hooks that nobody waits for (L21): they may outlive what told them, but not their worker.

export type Unawaited = {
  /** `tell` gets a signal that is also aborted by `end`. */
  run<Told>(signal: AbortSignal, tell: (signal: AbortSignal) => Promise<Told>): Promise<Told>;
  /** Resolves when none runs. Those that come later are stopped before they run. */
  end(): Promise<void>;
};

export function unawaited(): Unawaited {
  const running = new Map<AbortController, Promise<unknown>>();
  let ended = false;
  return {
    async run(signal, tell) {
      // One for each: what listens to a signal that lives as long as the worker would be kept as long.
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
      // How each ended is told to whoever runs it.
      await Promise.allSettled(running.values());
    },
  };
}
