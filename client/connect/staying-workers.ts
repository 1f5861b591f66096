// How many workers there are that stay, without joining or starting anything.
import { dataFolder, type Env } from '../../worker/embedded/data-folder.ts';
import { TASK_QUEUE } from '../../workflows/contract/session.ts';
import { workersOf } from '../../worker/embedded/members.ts';
import { resolveConnection } from '../../worker/embedded/resolve-connection.ts';

/** Of the queue, on the embedded server; null when the server is not ours: its workers are not known yet. Throws SetupProblem. */
export function stayingWorkers(env: Env, taskQueue: string = TASK_QUEUE): number | null {
  if (resolveConnection(env).kind === 'external') return null;
  return workersOf(dataFolder(env), taskQueue).filter(({ role }) => role !== 'command').length;
}
