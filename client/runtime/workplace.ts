// Opens a server, and a worker there for as long as it is needed: `run`, `watch` and query() wait
// in it.
import type { QuerySource } from '../../workflows/contract/facts.ts';
import type { Log } from '../../system/log.ts';
import {
  type ChosenConfig,
  staffFor,
  type Staffing,
  stayingWorkers,
  workAlone,
  workersFor,
} from './session-workers.ts';
import { type Env, openDataFolder } from '../../connection/data-folder.ts';
import { modelSettings } from '../../worker/model-settings.ts';
import { createSupervision, superviseServer } from '../../worker/embedded/supervise-server.ts';
import { isForItsProgram, type ForWorkers } from '../../workflows/contract/task-queue.ts';
import { readDeployment } from '../../worker/config/deployment.ts';
import type { RunningWorker } from '../../worker/start-worker.ts';
import type { ClientProblem } from '../problem.ts';
import { newSessionId } from '../sessions/ids.ts';
import { keepWorker, sayWhoseWork } from './keep-worker.ts';
import { prepareWorker, startOwnWorker } from './own-worker.ts';
import { openWholeServer, type OpenedServer } from './open-server.ts';
import { watchPollers } from '../sessions/watch-pollers.ts';

export type OpenWorkplace = {
  readonly env: Env;
  /**
   * Starts a worker of ours even on a server that is not ours, whose workers are otherwise its own
   * affair.
   */
  readonly anywhere: boolean;
  /** The configuration of a worker of ours, and of the session if it begins here. */
  readonly chosen: ChosenConfig;
  /** The session to wait for; absent: a new one. */
  readonly session?: string | undefined;
  /**
   * Called before a worker of ours starts. If it throws, no worker starts and the error is passed
   * on.
   */
  readonly beforeWork?: (opened: OpenedServer) => Promise<void>;
  /** Name of the person who acts by its client, for transcripts. */
  readonly by?: string;
  readonly querySource?: QuerySource;
  /** Receives progress for a person, one line each. */
  readonly say: (line: string, isDetail?: true) => void;
  /** Logs failures in our worker that are tried again. */
  readonly log: Log;
};

export type Workplace = OpenedServer & {
  /** Id of the session, which may not have begun yet, and the workers it is for. */
  readonly session: string;
  readonly workers: ForWorkers;
  /** Aborts when no worker will do the work; its reason says why. */
  readonly failed: AbortSignal;
  /** Tells whether our worker works here and would end with this process. */
  readonly isOurs: () => boolean;
  /**
   * Tells whether this process may end, as `isOver` finds it. First it tells others that our worker
   * takes no more: `isOver` then finds what was sent before, and a later sender hears that no
   * worker runs. When it is not over, our worker counts again.
   */
  mayEnd(isOver: () => Promise<boolean>): Promise<boolean>;
  /** Closes without letting our worker finish its work: another will repeat it. */
  leave(): Promise<void>;
};

/** A person who waits this long is told the reason. */
const NOTICE_MS = 2_000;
const FINISHING = 'this process ends when its worker has finished what it runs; that is cut off after `drainMs`';

/**
 * Throws SetupProblem, and ClientProblem for a configuration that cannot hold for the session. A
 * worker may still be starting when it resolves, but sessions can receive messages already.
 */
export async function openWorkplace(open: OpenWorkplace): Promise<Workplace> {
  const { env, chosen, say, log, by, querySource, session = newSessionId() } = open;
  const own = await workersFor(chosen, openDataFolder(env), session);
  const first = isOurs(open, session, own);
  // Check first: a session whose run cannot begin would wait for the next worker.
  if (first) modelSettings(env);
  const loading = first ? prepareWorker({ log }) : undefined;
  loading?.catch(() => undefined);
  const opened = await openWholeServer({
    env,
    role: 'command',
    worker: first,
    queues: [own.taskQueue],
    say,
    ...(by && { by }),
    ...(querySource && { querySource }),
  });
  let letGo = (): void => undefined;
  try {
    await loading;
    const began = open.session === undefined ? { workers: own, config: chosen.config } : null;
    const staffing = began ?? (await staffFor(opened, chosen, { session, mine: own, env }));
    const { workers } = staffing;
    const isOwn = staffing.config !== null && isOurs(open, session, workers);
    opened.embedded?.works(isOwn, [workers.taskQueue]);
    if (isOwn) letGo = await workAlone(opened, session, staffing);
    if (isOwn) await open.beforeWork?.(opened);
    const failure = new AbortController();
    const at = { session, staffing, isOwn, failure };
    const staff =
      staffing.config === null || (opened.embedded === null && !isOwn)
        ? useOtherWorkers(opened, open, at)
        : useOwnWorker(opened, open, at);
    const { mayEnd } = staff;
    const all = { ...opened, session, workers, failed: failure.signal, isOurs: staff.isOurs, mayEnd };
    return { ...all, ...createClosing(opened, staff, letGo) };
  } catch (error) {
    letGo();
    await opened.close();
    throw error;
  }
}

/**
 * Tells whether a worker of this process has to do the work. A worker for one session alone never
 * comes from elsewhere.
 */
function isOurs({ env, anywhere }: OpenWorkplace, session: string, workers: ForWorkers): boolean {
  if (isForItsProgram(workers, session)) return true;
  const staying = stayingWorkers(env, workers.taskQueue);
  return staying === null ? anywhere : staying === 0;
}

type Placement = {
  readonly session: string;
  readonly staffing: Staffing;
  readonly isOwn: boolean;
  readonly failure: AbortController;
};

/** The side that works, and how to end it. */
type Staff = Pick<Workplace, 'isOurs' | 'mayEnd'> & {
  readonly end: () => Promise<void>;
  readonly leave: () => Promise<void>;
};

function useOtherWorkers(
  { temporal, embedded }: OpenedServer,
  { say }: OpenWorkplace,
  { session, staffing, failure }: Placement,
): Staff {
  const { workers } = staffing;
  const onNobody = (why: ClientProblem): void => failure.abort(why);
  const { stop } = watchPollers({ temporal: temporal.client, workers, session, say, onNobody });
  const leave = (embedded && superviseServer(embedded, createSupervision(say))) ?? (() => Promise.resolve());
  const end = async (): Promise<void> => {
    await stop();
    await leave();
  };
  return { end, leave: end, isOurs: () => false, mayEnd: (isOver) => isOver() };
}

function useOwnWorker(
  opened: OpenedServer,
  open: OpenWorkplace,
  { session, staffing, isOwn, failure }: Placement,
): Staff {
  const { env, say, log } = open;
  const { embedded } = opened;
  const { taskQueue } = staffing.workers;
  const config = staffing.config ?? {};
  const alone = embedded === null || isForItsProgram(staffing.workers, session);
  const others = alone ? () => 0 : () => embedded.liveWorkers(taskQueue);
  let ending = false;
  let started = false;
  // Staying workers of a build poll the same queue, unless it is a program's own.
  const buildFor = () => (embedded || isForItsProgram(staffing.workers, session) ? undefined : readDeployment(env));
  const start = async (): Promise<RunningWorker> => {
    if (!isOwn) await open.beforeWork?.(opened);
    if (!isOwn) say('the worker has ended, or finishes and takes no more: this process goes on with its work');
    started = true;
    await sayWhoseWork({ sessions: opened.sessions, queues: [taskQueue], session, say });
    if (!ending) embedded?.works(true, [taskQueue]);
    const worker = await startOwnWorker(opened, { env, log, config, taskQueue, deployment: buildFor() });
    if (worker.unconfined !== null) sayOnce(say, worker.unconfined);
    return worker;
  };
  const available = keepWorker({ others, start });
  available.ended.catch((error: unknown) => failure.abort(error));
  const leave = (embedded && superviseServer(embedded, createSupervision(say))) ?? (() => Promise.resolve());
  const end = async (): Promise<void> => {
    ending = true;
    embedded?.works(false);
    const notice = setTimeout(() => say(FINISHING), NOTICE_MS);
    try {
      await available.stop();
    } finally {
      clearTimeout(notice);
    }
    await leave();
  };
  const mayEnd: Staff['mayEnd'] = async (isOver) => {
    embedded?.works(false);
    if (await isOver()) return true;
    if (started) embedded?.works(true, [taskQueue]);
    return false;
  };
  return { end, leave, isOurs: () => started, mayEnd };
}

const saidOnce = new Set<string>();

/** A program may open many workplaces: what holds for all of them is said once. */
function sayOnce(say: (line: string) => void, line: string): void {
  if (saidOnce.has(line)) return;
  saidOnce.add(line);
  say(line);
}

function createClosing(
  opened: OpenedServer,
  { end, leave }: Staff,
  letGo: () => void,
): Pick<Workplace, 'close' | 'leave'> {
  let closed: Promise<void> | undefined;
  const after = async (before: () => Promise<void>): Promise<void> => {
    try {
      await before();
    } finally {
      letGo();
      await opened.close();
    }
  };
  return { close: () => (closed ??= after(end)), leave: () => after(leave) };
}
