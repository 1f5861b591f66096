// Interrupts and cancels: the server takes the request and a worker carries it out. If none runs,
// one that does nothing else is brought up.
import type {
  StopOrder,
  RunningWorker,
  AvailableWorker,
  OpenedServer,
  SessionDescription,
  SessionId,
  ForWorkers,
} from '../client/faces/types.ts';
import { isKeyless, actWithWorker, keepWorker } from '../client/faces/processes.ts';
import { ClientProblem } from '../client/faces/start.ts';
import type { Env } from '../connection/data-folder.ts';
import { pause } from '../system/async.ts';
import type { Cli } from './cli.ts';
import { STATUS } from './errors.ts';
import { withSession } from './with-server.ts';
import { placeConfig, workerConfig, workersOfNew } from './worker-config.ts';

export type Stop = {
  /** The session's id, or the beginning of it. */
  readonly id: string;
  /** Waits until it is done, even if no worker runs. */
  readonly wait: boolean;
  /** A participle for people: "interrupted", "cancelled". */
  readonly done: string;
  /** Returns the words to end with when there is nothing to do, else null. */
  readonly already: (before: SessionDescription) => string | null;
  readonly ask: (opened: OpenedServer, session: SessionId) => Promise<void>;
  readonly isDone: (now: SessionDescription, before: SessionDescription) => boolean;
};

const LOOK_MS = 100;
/**
 * A tool's process tree is dead within 5 s; a draining worker needs its `drainMs`, 10 s by default.
 */
const PATIENCE_MS = 30_000;

export async function stopSession(cli: Cli, stop: Stop): Promise<number> {
  return withSession(cli, stop.id, async (opened, session) => {
    const before = await opened.sessions.describe(session);
    const already = stop.already(before);
    if (already !== null) {
      cli.say(already);
      return STATUS.ok;
    }
    await stop.ask(opened, session);
    if (!stop.wait && (await isLeftAlone(opened, before))) {
      cli.say(`${notYet(stop, session)}; --wait waits for one`);
      return STATUS.failed;
    }
    const done = await untilDone(cli, opened, stop, before);
    if (done) cli.say(`session ${session} is ${stop.done}`);
    return done ? STATUS.ok : STATUS.failed;
  });
}

const notYet = ({ done }: Stop, session: SessionId): string =>
  `session ${session} is not ${done} yet: the server keeps the request until a worker runs`;

/** Tells whether the server is not ours and no worker polls there; none is brought up then. */
async function isLeftAlone({ embedded, temporal }: OpenedServer, { taskQueue }: SessionDescription): Promise<boolean> {
  if (embedded !== null) return false;
  const { isQueuePolled } = await import('../connection/worker-polls.ts');
  return !(await isQueuePolled({ temporal: temporal.client, taskQueue }));
}

async function untilDone(cli: Cli, opened: OpenedServer, stop: Stop, before: SessionDescription): Promise<boolean> {
  const { session } = before;
  const enough = new AbortController();
  const timer = stop.wait ? undefined : setTimeout(() => enough.abort(), PATIENCE_MS);
  const staff = await arrangeStop(cli, opened, stop, before);
  const wait = AbortSignal.any([enough.signal, staff.failed]);
  try {
    for (let { runs } = before; !wait.aborted; await pause(LOOK_MS, wait)) {
      const now = await opened.sessions.describe(session);
      if (stop.isDone(now, before)) return true;
      // A run that was only waiting to begin could not be stopped before.
      if (now.runs > runs) await stop.ask(opened, session);
      runs = now.runs;
    }
    if (staff.failed.aborted) throw staff.failed.reason;
    cli.say(notYet(stop, session));
    return false;
  } finally {
    clearTimeout(timer);
    enough.abort();
    await staff.end();
  }
}

/**
 * Runs `act` while a worker takes what it asks of a session, brought up for it where none runs on
 * our own server. That worker begins nothing: it ends what runs, and takes the session back.
 */
export async function withEndingWorker<T>(
  cli: Cli,
  opened: OpenedServer,
  session: SessionDescription,
  act: (by: { readonly ownWorker: boolean }) => Promise<T>,
): Promise<T> {
  const staff = await arrangeStop(cli, opened, { wait: false, does: 'does that' }, session);
  try {
    const failure = new Promise<never>((_resolve, reject) => {
      const fail = (): void => reject(staff.failed.reason as Error);
      if (staff.failed.aborted) fail();
      else staff.failed.addEventListener('abort', fail, { once: true });
    });
    return await actWithWorker({ ready: staff.ready, ended: failure }, () => act({ ownWorker: staff.isOwn }));
  } finally {
    await staff.end();
  }
}

/** `does`: what a worker that is brought up does, for people. */
type Arranged = Pick<Stop, 'wait'> & { readonly does?: string };

/** The reason of `failed` says why no worker stops the session. */
type Staff = Pick<AvailableWorker, 'ready' | 'isOwn'> & {
  readonly end: () => Promise<void>;
  readonly failed: AbortSignal;
};

/** Brings up a worker on our own server. On another server it only reports that no worker polls. */
async function arrangeStop(
  cli: Cli,
  opened: OpenedServer,
  { wait, does = 'stops the session' }: Arranged,
  before: SessionDescription,
): Promise<Staff> {
  const workers: ForWorkers = before;
  const stops: StopOrder = { session: before.session, run: (before.last?.run ?? 0) + 1 };
  const failure = new AbortController();
  const fail = (error: unknown): void => failure.abort(error);
  if (opened.embedded === null) {
    const { watchPollers } = await import('../client/faces/servers.ts');
    const onNobody = ({ kind, message }: ClientProblem): void => {
      const text = `${message}; the server keeps the request`;
      if (wait) cli.say(text);
      else fail(new ClientProblem(kind, text));
    };
    const { stop } = watchPollers({
      temporal: opened.temporal.client,
      workers,
      session: stops.session,
      say: cli.say,
      onNobody,
    });
    return { ready: Promise.resolve(), isOwn: false, end: stop, failed: failure.signal };
  }
  const { workersOf } = await import('../client/faces/servers.ts');
  const others = (): number => workersOf(opened.folder, workers.taskQueue).length;
  const worker = keepWorker({ others, start: () => startStopper(cli, opened, stops, does) });
  worker.ended.catch(fail);
  return { ready: worker.ready, isOwn: worker.isOwn, end: worker.stop, failed: failure.signal };
}

async function startStopper(cli: Cli, opened: OpenedServer, stops: StopOrder, does: string): Promise<RunningWorker> {
  const chosen = await workerConfig(cli);
  const newWorkers = await workersOfNew(cli, chosen, stops.session);
  // It begins nothing, so a worker without the session's configuration may do it as well.
  const { workers, config } = await placeConfig(cli, opened, chosen, { session: stops.session, mine: newWorkers });
  cli.say(`no worker runs: this process ${does} itself`);
  const { startOwnWorker } = await import('../client/faces/processes.ts');
  // Do not wait for work that is cut off when the session stops.
  const brief = { ...config, drainMs: 1 };
  const { taskQueue } = workers;
  return startOwnWorker(opened, { env: stopperEnv(cli.env), log: () => undefined, config: brief, taskQueue, stops });
}

/** Keeps a keyless worker from answering with the scripted model what a real one began. */
function stopperEnv(env: Env): Env {
  return isKeyless(env) ? { ...env, ANTHROPIC_BASE_URL: 'http://127.0.0.1:9' } : env;
}
