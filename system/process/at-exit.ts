// Ends the processes of hooks when this process exits, because they would outlive it. SIGKILL
// leaves no time for that.
export type ExitHandlers = {
  /** Runs `end` synchronously when the process exits. Call the returned function to unregister. */
  add(end: () => void): () => void;
};

/** Adds one exit listener to `process`, however many functions it is to run. */
export function createExitHandlers(process: Pick<NodeJS.Process, 'on' | 'off'>): ExitHandlers {
  const ends = new Set<() => void>();
  const endAll = (): void => ends.forEach((end) => end());
  return {
    add(end) {
      if (ends.size === 0) process.on('exit', endAll);
      ends.add(end);
      return () => {
        ends.delete(end);
        if (ends.size === 0) process.off('exit', endAll);
      };
    },
  };
}
