// Decides which workers a session is for, and whether a worker of this process may do the work. A
// worker works only for sessions of its own configuration, since it cannot guard what it does not
// know.
import { type DataFolder, type Env, openDataFolder } from '../../connection/data-folder.ts';
import { resolveConnection } from '../../connection/resolve-connection.ts';
import { livePollers } from '../../connection/worker-polls.ts';
import { openStore } from '../../store/values/open-store.ts';
import { isAlive, parseIdentity } from '../../system/process/identity.ts';
import type { PerdureConfig } from '../../worker/config/config.ts';
import { loadConfig } from '../../worker/config/load-config.ts';
import { type ConfigSource, forWorkersOf } from '../../worker/config/queue.ts';
import { workersOf } from '../../worker/embedded/members.ts';
import { TASK_QUEUE } from '../../workflows/contract/session.ts';
import { forAnyWorker, forItsProgram, type ForWorkers, isForItsProgram } from '../../workflows/contract/task-queue.ts';
import { ClientProblem } from '../problem.ts';
import { configurationName } from '../sessions/watch-pollers.ts';
import type { OpenedServer } from './open-server.ts';

/**
 * `explicit` configurations were given for this very call, by `--config` or to query(): they must
 * hold or be refused.
 */
export type ChosenConfig = {
  readonly config: PerdureConfig;
  readonly source: ConfigSource;
  readonly explicit: boolean;
};

/**
 * Loads the configuration of `--config`, PERDURE_CONFIG or the user's own file. Throws
 * ConfigProblem.
 */
export async function chooseConfig(file: string | undefined, env: Env): Promise<ChosenConfig> {
  const { path, config } = await loadConfig(file, env);
  const named = file !== undefined || Boolean(env['PERDURE_CONFIG']);
  const source = path !== null && named ? ({ kind: 'file', path } as const) : null;
  return { config, source, explicit: file !== undefined };
}

/** Returns the workers for a session that begins with the configuration. */
export async function workersFor(
  { config, source }: ChosenConfig,
  folder: DataFolder,
  session: string,
): Promise<ForWorkers> {
  const id = await openStore({ ...folder, dataDir: folder.root }).id();
  return forWorkersOf(config, source, id) ?? forItsProgram(session);
}

/**
 * `config` is the configuration for a worker of ours; null when none of ours may work for the
 * session.
 */
export type Staffing = { readonly workers: ForWorkers; readonly config: PerdureConfig | null };

/**
 * Finds the workers for a session. `mine` are the workers for a session that would begin now.
 * Throws ClientProblem when an explicit configuration could not hold.
 */
export async function staffFor(
  { sessions }: Pick<OpenedServer, 'sessions'>,
  chosen: ChosenConfig,
  { session, mine: own, env }: { readonly session: string; readonly mine: ForWorkers; readonly env: Env },
): Promise<Staffing> {
  const { config, explicit } = chosen;
  const workers = (await workersOfSession(sessions, session)) ?? own;
  if (workers.taskQueue === own.taskQueue) return { workers, config };
  if (explicit && isForItsProgram(workers, session)) return { workers, config };
  if (explicit) throw new ClientProblem('refused', otherConfiguration(session, workers));
  if (workers.taskQueue !== forAnyWorker.taskQueue) return { workers, config: null };
  // PERDURE_CONFIG is for other sessions: this one began without.
  return { workers, config: (await loadConfig(undefined, { ...env, PERDURE_CONFIG: undefined })).config };
}

/** Returns null when the session does not exist. */
async function workersOfSession(sessions: OpenedServer['sessions'], session: string): Promise<ForWorkers | null> {
  try {
    const { taskQueue, configuration } = await sessions.describe(session);
    return { taskQueue, configuration };
  } catch (error) {
    if (error instanceof ClientProblem && error.kind === 'no_session') return null;
    throw error;
  }
}

function otherConfiguration(session: string, { configuration }: ForWorkers): string {
  return configuration === null
    ? `session ${session} was begun without a configuration of its own, so that other workers may work on it, without what is given here: give none, or begin another session`
    : `session ${session} was begun with ${configurationName(configuration)}, and another one is given: give that one, or begin another session`;
}

type SharedConfig = { readonly config: PerdureConfig; workers: number };

/** Unnamed configurations that programs gave to workers of this process, by task queue. */
const sharedConfigs = new Map<string, SharedConfig>();

/**
 * Reserves a queue that belongs to one session, so that only workers with the same configuration
 * use it. Call it when this process counts as a worker. Throws ClientProblem; returns the function
 * that releases the queue.
 */
export async function workAlone(
  { embedded, temporal }: Pick<OpenedServer, 'embedded' | 'temporal'>,
  session: string,
  { workers: { taskQueue }, config }: Staffing,
): Promise<() => void> {
  if (config === null || !isForItsProgram({ taskQueue }, session)) return () => undefined;
  const shared = sharedConfigs.get(taskQueue) ?? { config, workers: 0 };
  const elsewhere =
    embedded === null
      ? (await livePollers({ temporal: temporal.client, taskQueue })).some(isElsewhere)
      : embedded.otherWorkers(taskQueue).some(({ pid }) => pid !== process.pid);
  if (elsewhere || shared.config !== config) {
    const other = `session ${session} is worked on with a configuration that another program, or another call, has given for it`;
    throw new ClientProblem('refused', `${other}: wait until that has ended, or give both configurations one name`);
  }
  shared.workers += 1;
  sharedConfigs.set(taskQueue, shared);
  return () => {
    shared.workers -= 1;
    if (shared.workers === 0) sharedConfigs.delete(taskQueue);
  };
}

function isElsewhere({ identity }: { readonly identity: string }): boolean {
  const known = parseIdentity(identity);
  return known === null || known.pid !== process.pid || isAlive(known) === 'unknown';
}

/**
 * Counts the queue's staying workers on the embedded server, without joining or starting anything.
 * Returns null when the server is not ours, since its workers are not known yet. Throws
 * SetupProblem.
 */
export function stayingWorkers(env: Env, taskQueue: string = TASK_QUEUE): number | null {
  if (resolveConnection(env).kind === 'external') return null;
  return workersOf(openDataFolder(env), taskQueue).filter(({ role }) => role !== 'command').length;
}
