// Decides which workers a session is for. A configuration guards its sessions (hooks, rules) and
// extends them (tools): a session that is begun with one has a task queue that only workers of this
// configuration poll. The code of a hook cannot be compared, so a configuration is known by its
// name, else by its file. One that a program gives without a name is known to that program alone,
// and its session's queue is the session's own.
import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { TASK_QUEUE } from '../../workflows/contract/session.ts';
import { forAnyWorker, type ForWorkers } from '../../workflows/contract/task-queue.ts';
import type { KeysFor, PerdureConfig } from './config.ts';

/**
 * Where a configuration is from: a named file, or a program's value (`given`). Null for the user's
 * own file, or none.
 */
export type ConfigSource = { readonly kind: 'file'; readonly path: string } | { readonly kind: 'given' } | null;

/**
 * The keys of CONFIG_KEYS whose use is `process`; the compiler holds this copy to them. Commands
 * load this file without the schemas.
 */
const OF_THE_PROCESS: Readonly<Record<KeysFor<'process'>, true>> = {
  drainMs: true,
  maxConcurrentActivities: true,
  profile: true,
};

/**
 * Returns the workers of a configuration. `place` is the id of the store, which sets apart equal
 * paths of different machines. Returns null for a configuration that is a program's alone: its
 * session has a queue of its own.
 */
export function forWorkersOf(config: PerdureConfig, source: ConfigSource, place: string): ForWorkers | null {
  const { name } = config;
  const file = source?.kind === 'file' ? realpathSync(source.path) : undefined;
  if (name !== undefined)
    return { taskQueue: `${TASK_QUEUE}.${name}.named`, configuration: { name, ...(file && { file }) } };
  if (source === null || isAboutTheProcess(config)) return forAnyWorker;
  if (file === undefined) return null;
  const hash = createHash('sha256').update(`${place}\0${file}`).digest('hex').slice(0, 24);
  return { taskQueue: `${TASK_QUEUE}.${hash}.file`, configuration: { file } };
}

function isAboutTheProcess(config: PerdureConfig): boolean {
  return Object.entries(config).every(([key, value]) => value === undefined || Object.hasOwn(OF_THE_PROCESS, key));
}
