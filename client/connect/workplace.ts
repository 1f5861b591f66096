// A server, and somebody who works there for as long as it is needed: what `run`, `watch` and query() wait in.
import { stayingWorkers } from './staying-workers.ts';
import type { Env } from '../../worker/embedded/data-folder.ts';
import { modelSettings } from '../../worker/model-settings.ts';
import { superviseServer } from '../../worker/embedded/supervise-server.ts';
import type { PerdureConfig } from '../../worker/config.ts';
import type { RunningWorker } from '../../worker/start-worker.ts';
import { keepWorker } from './keep-worker.ts';
import { openServer, type Opened } from './open-server.ts';
import { prepareWorker, startOwnWorker } from './own-worker.ts';
import { watchPollers } from './watch-pollers.ts';

export type OpenWorkplace = {
  readonly env: Env;
  /** A worker of ours also on a server that is not: else its workers are its own affair. */
  readonly anywhere: boolean;
  /** Of a worker of ours. */
  readonly config?: PerdureConfig | undefined;
  /** Called before a worker of ours is started; what it throws is thrown, and none is. */
  readonly beforeWork?: (opened: Opened) => Promise<void>;
  /** Progress for a person, one line each. */
  readonly say: (line: string) => void;
  /** What goes wrong in our worker and is tried again. */
  readonly warn: (line: string) => void;
};

export type Workplace = Opened & {
  /** Aborted when nobody will do the work; its reason says why. */
  readonly failed: AbortSignal;
  /** As `close`, without letting our worker finish what it does: another will do it again. */
  leave(): Promise<void>;
};

/** Whoever waits is told what for. */
const NOTICE_MS = 2_000;
const FINISHING = 'this process ends when its worker has finished what it runs; that is cut off after `drainMs`';

/** Throws SetupProblem. A worker may still be starting when it resolves: sessions can be sent to already. */
export async function openWorkplace(open: OpenWorkplace): Promise<Workplace> {
  const { env, anywhere, say, warn } = open;
  const staying = stayingWorkers(env);
  const ours = staying === null ? anywhere : staying === 0;
  // Before anything is started or sent: a session of a run that cannot begin would wait for the next worker.
  if (ours) modelSettings(env);
  const loading = ours ? prepareWorker({ warn }) : undefined;
  loading?.catch(() => undefined);
  const opened = await openServer({ env, role: 'command', worker: ours, say });
  try {
    await loading;
    if (ours) await open.beforeWork?.(opened);
  } catch (error) {
    await opened.close();
    throw error;
  }
  const failure = new AbortController();
  const staff =
    opened.embedded === null && !anywhere ? theirs(opened, open, failure) : own(opened, open, ours, failure);
  return { ...opened, failed: failure.signal, ...closing(opened, staff) };
}

/** Who works, and how that is ended. */
type Staff = { readonly end: () => Promise<void>; readonly leave: () => Promise<void> };

function theirs({ temporal }: Opened, { say }: OpenWorkplace, failure: AbortController): Staff {
  const { stop } = watchPollers({ temporal: temporal.client, say, onNobody: (why) => failure.abort(why) });
  return { end: stop, leave: stop };
}

function own(opened: Opened, open: OpenWorkplace, ours: boolean, failure: AbortController): Staff {
  const { env, say, warn, config } = open;
  const { embedded } = opened;
  const others = embedded === null ? () => 0 : embedded.liveWorkers;
  let ending = false;
  const start = async (): Promise<RunningWorker> => {
    if (!ours) await open.beforeWork?.(opened);
    if (!ours) say('the worker has ended, or finishes and takes no more: this process goes on with its work');
    if (!ending) embedded?.works(true);
    return startOwnWorker(opened, { env, warn, config });
  };
  const kept = keepWorker({ others, start });
  kept.ended.catch((error: unknown) => failure.abort(error));
  const leave = (embedded && superviseServer(embedded, supervision(say))) ?? (() => Promise.resolve());
  const end = async (): Promise<void> => {
    ending = true;
    embedded?.works(false);
    const notice = setTimeout(() => say(FINISHING), NOTICE_MS);
    try {
      await kept.stop();
    } finally {
      clearTimeout(notice);
    }
    await leave();
  };
  return { end, leave };
}

function closing(opened: Opened, { end, leave }: Staff): Pick<Workplace, 'close' | 'leave'> {
  let closed: Promise<void> | undefined;
  const after = async (before: () => Promise<void>): Promise<void> => {
    try {
      await before();
    } finally {
      await opened.close();
    }
  };
  return { close: () => (closed ??= after(end)), leave: () => after(leave) };
}

/** What is said of the embedded server while a process stays joined. */
export function supervision(say: (line: string) => void) {
  return {
    onRestart: ({ here }: { readonly here: boolean }) => {
      if (here) say('the Temporal server had ended: it was started again, nothing is lost');
    },
    onProblem: (why: string) => say(`the Temporal server has ended and cannot be started again: ${why}; trying on`),
  };
}
