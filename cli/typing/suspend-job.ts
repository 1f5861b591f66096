// Suspends what runs at the terminal as Ctrl-Z does, until the shell continues it.

type Job = Pick<NodeJS.Process, 'once' | 'off' | 'kill'>;

/** Milliseconds after which a process that still runs was not suspended. */
const RUNS_ON_MS = 500;

/**
 * Suspends the whole job, as the terminal would: a shell takes the terminal back only when npx, or
 * a shell between, has stopped too. Resolves when the job continues, and soon where nobody could
 * continue it, since the system then suspends nothing.
 */
export function suspendJob(job: Job): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => end(), RUNS_ON_MS);
    const end = (): void => {
      clearTimeout(timer);
      job.off('SIGCONT', end);
      resolve();
    };
    job.once('SIGCONT', end);
    job.kill(0, 'SIGTSTP');
  });
}
