// Ends the processes of hooks when this process exits, for they would outlive it. SIGKILL leaves no
// time for that.
export type AtExit = {
  /**
   * `end` is called should the process exit, and may not wait; not any more once what is returned
   * is called.
   */
  add(end: () => void): () => void;
};

/** One listener, however many there are to be ended. */
export function atExit(process: Pick<NodeJS.Process, 'on' | 'off'>): AtExit {
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
