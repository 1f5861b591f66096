// Tells people that a session waits for workers of a configuration, and how to start one.
import type { Configuration } from '../../workflows/contract/session.ts';
import { shellWord } from '../paint.ts';
import type { ForWorkers } from '../../workflows/contract/task-queue.ts';

/** Names a configuration for people. */
export function configurationName({ name, file }: Configuration): string {
  if (name !== undefined) return `the configuration "${name}"`;
  return file === undefined ? 'a configuration that its program gave' : `the configuration ${file}`;
}

/**
 * Says that no worker runs for `session`, or for any session of the queue, and how to start one.
 */
export function describeNoWorker({ taskQueue, configuration }: ForWorkers, session?: string): string {
  if (!configuration)
    return `no worker polls task queue ${taskQueue}: start one with \`perdure worker\` where the workspace is`;
  const { name, file } = configuration;
  const who = session === undefined ? 'the session' : `session ${session}`;
  const waits = `${who} waits for a worker with ${configurationName(configuration)}, and none runs`;
  if (name === undefined && file === undefined)
    return `${waits}: start that program again for it, or give a configuration with \`perdure watch ${session ?? 'ID'} --config FILE\``;
  return `${waits}: start one with \`perdure worker --config ${file === undefined ? 'FILE' : shellWord(file)}\``;
}
