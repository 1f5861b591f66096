// How people are told that a session waits for workers of a configuration, and how to bring one.
import type { Configuration } from '../../workflows/contract/session.ts';
import type { ForWorkers } from '../../worker/config/queue.ts';

export function configurationName({ name, file }: Configuration): string {
  if (name !== undefined) return `the configuration "${name}"`;
  return file === undefined ? 'a configuration that its program gave' : `the configuration ${file}`;
}

/** Nobody works on `session`, or on any of its queue when it is not said. */
export function nobodyWorks({ taskQueue, configuration }: ForWorkers, session?: string): string {
  if (!configuration)
    return `no worker polls task queue ${taskQueue}: start one with \`perdure worker\` where the workspace is`;
  const { name, file } = configuration;
  const who = session === undefined ? 'the session' : `session ${session}`;
  const waits = `${who} waits for a worker with ${configurationName(configuration)}, and none runs`;
  if (name === undefined && file === undefined)
    return `${waits}: start that program again for it, or give a configuration with \`perdure watch ${session ?? 'ID'} --config FILE\``;
  return `${waits}: start one with \`perdure worker --config ${file === undefined ? 'FILE' : shellWord(file)}\``;
}

/** Whoever pastes it means the path, whatever it holds. */
function shellWord(text: string): string {
  return /^[\w./@:+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
