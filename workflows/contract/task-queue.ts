// Chooses the workers of a session. A configuration guards its sessions (hooks, rules) and extends
// them (tools), so a session that starts with one gets a task queue that only workers with this
// configuration poll.
import { TASK_QUEUE, type Configuration } from './session.ts';

export type ForWorkers = {
  readonly taskQueue: string;
  /** Shown to people with the session. Null for the queue that every staying worker polls. */
  readonly configuration: Configuration | null;
};

export const forAnyWorker: ForWorkers = { taskQueue: TASK_QUEUE, configuration: null };

/** Names the session's own queue, which only the program that begins the session polls. */
export function forItsProgram(session: string): ForWorkers {
  return { taskQueue: `${TASK_QUEUE}.${session}.session`, configuration: {} };
}

export function isForItsProgram({ taskQueue }: Pick<ForWorkers, 'taskQueue'>, session: string): boolean {
  return taskQueue === forItsProgram(session).taskQueue;
}
