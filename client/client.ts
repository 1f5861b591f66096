// The typed client: everything a program or a person does with sessions. It needs a server but
// never a worker.
import type { Client } from '@temporalio/client';
import type { SessionId } from '../workflows/contract/ids.ts';
import { UPDATES } from '../workflows/contract/session.ts';
import { type Abortable, abortWith } from './async.ts';
import type { WaitingApproval } from './sessions/waiting-approval.ts';
import { ClientMeans } from './sessions/client-means.ts';
import { entriesFrom } from './sessions/transcript-reader.ts';
import { withPorts } from './sessions/folder-ports.ts';
import { methodOf, type Wait } from './operations/operation.ts';
import { type OperationName, operationList } from './operations/operations.ts';
import { knownOptions, refuseUnknown } from './options.ts';
import type { PerdureClient } from './perdure-client.ts';
import type { Schedules } from './schedules/schedules.ts';
import { ClientProblem } from './problem.ts';
import { type ClientSettings, type CreateClient, startSession } from './sessions/start.ts';
import { parseSessionId } from './sessions/ids.ts';
import { countSessions } from './sessions/find/count-sessions.ts';
import { listSessions, listPage } from './sessions/find/list-sessions.ts';
import { observeHosts } from './sessions/watch-pollers.ts';

const LOOK_MS = 1_000;

// Loaded when they are used: a command that lists sessions needs none of them.
const loadSchedules = () => import('./schedules/schedules.ts');
const loadRepair = () => import('./sessions/repair.ts');
type Follow = typeof import('./follow/follow.ts');

/**
 * Creates a client. Like every method it throws ClientProblem for an unknown option; it throws
 * SetupProblem for a data folder that cannot be used.
 */
export function createClient(options: CreateClient): PerdureClient {
  return createFolderClient(options);
}

/** Creates a client that may also look at the live channel's end and at snapshots. */
export function createFolderClient(settings: ClientSettings): PerdureClient {
  refuseUnknown('createClient()', settings, knownOptions.client);
  const options = withPorts(settings);
  const means = new ClientMeans(options);
  const waits = createWaits(options.temporal);
  // Firings that are asked for at once get their names from one and the same place.
  let schedules: Promise<Schedules> | undefined;
  const openSchedules = (): Promise<Schedules> =>
    (schedules ??= loadSchedules().then(({ createSchedules }) => createSchedules(options)));
  return {
    start: (task, start = {}) =>
      waits.wait('start()', start, knownOptions.start, () => startSession(options, task, start)),
    ...createOperations(means, waits),
    ...createRepairs(means, waits),
    ...createSearch(means, waits),
    ...createReading(means, waits),
    ...createFiles(means, waits),
    schedules: guardSchedules(openSchedules, waits),
  };
}

function createOperations(means: ClientMeans, { wait }: MethodWaits): Pick<PerdureClient, OperationName> {
  const methods = operationList.map((operation) => [operation.name, methodOf(operation, means, wait)] as const);
  return Object.fromEntries(methods) as unknown as Pick<PerdureClient, OperationName>;
}

function createRepairs(means: ClientMeans, { wait }: MethodWaits): Pick<PerdureClient, 'damage' | 'repair'> {
  const { temporal, store } = means.options;
  return {
    damage: (id, waiting) =>
      wait('damage()', waiting, knownOptions.wait, async () => {
        const { examineDamage } = await loadRepair();
        return examineDamage({ temporal, store }, await means.look(parseSessionId(id)));
      }),
    repair: (id, acting) =>
      wait('repair()', acting, knownOptions.act, async () => {
        const { examineDamage } = await loadRepair();
        const described = await means.lookAtOpen(parseSessionId(id));
        const damage = await examineDamage({ temporal, store }, described);
        if (damage.kind !== 'repairable') return damage;
        const { from, to, lost: loss } = damage;
        await means.update(described.session, UPDATES.repair, { from, to, lost: loss }, { by: means.actor(acting) });
        return damage;
      }),
  };
}

function createSearch(
  means: ClientMeans,
  { wait, each }: MethodWaits,
): Pick<PerdureClient, 'approvals' | 'list' | 'page' | 'counts' | 'describe'> {
  const { finder, reader } = means;
  return {
    approvals: (id, waiting) =>
      wait('approvals()', waiting, knownOptions.wait, async () => {
        const sessions =
          id === undefined
            ? listSessions(finder, { open: true, waiting: true })
            : [await means.look(parseSessionId(id))];
        const found: WaitingApproval[] = [];
        for await (const { session, status, approvals = [], facts } of sessions)
          // The approvals of an agent are listed at the session that a person began.
          for (const pending of status === 'open' && (id !== undefined || !facts?.agent) ? approvals : [])
            found.push(await reader.waiting(session, pending));
        return found;
      }),
    list: (which = {}) => {
      refuseUnknown('list()', which, knownOptions.list);
      return each(which, () => listSessions(finder, which));
    },
    page: (which = {}) => wait('page()', which, knownOptions.page, () => listPage(finder, which)),
    counts: (which = {}) => wait('counts()', which, knownOptions.list, () => countSessions(finder, which)),
    describe: (id, waiting) =>
      wait('describe()', waiting, knownOptions.wait, async () =>
        finder.observePhase(await means.look(parseSessionId(id))),
      ),
  };
}

function createReading(
  means: ClientMeans,
  { wait, each }: MethodWaits,
): Pick<PerdureClient, 'follow' | 'result' | 'transcript'> {
  const {
    options: { temporal, store, live, lookMs = LOOK_MS },
    reader,
  } = means;
  const observeHost = observeHosts(temporal);
  return {
    follow: (id, followed) => {
      refuseUnknown('follow()', followed, knownOptions.follow);
      const look = async (session: SessionId) => observeHost(await means.look(session));
      const ports = { ...reader, live, look, head: means.head, everyMs: lookMs };
      const session = parseSessionId(id);
      return following(ports, session, followed);
    },
    result: (id, run, waiting) =>
      wait('result()', waiting, knownOptions.wait, async () => {
        const session = parseSessionId(id);
        const { last } = await means.look(session);
        return last ? reader.outcome(session, last.head, run ?? last.run) : null;
      }),
    transcript: (id, read = {}) => {
      refuseUnknown('transcript()', read, knownOptions.transcript);
      const { from = 0 } = read;
      if (!Number.isSafeInteger(from) || from < 0)
        throw new ClientProblem('refused', `${from} is no position of an entry: give a whole number from 0`);
      return each(read, async function* () {
        const session = parseSessionId(id);
        await means.look(session);
        yield* entriesFrom(store, session, await means.head(session), from);
      });
    },
  };
}

function createFiles(means: ClientMeans, { wait }: MethodWaits): Pick<PerdureClient, 'files' | 'diff'> {
  const { options } = means;
  return {
    files: (id, waiting) =>
      wait('files()', waiting, knownOptions.wait, async () => {
        const { listCaptures } = await import('./sessions/files/calls-behind.ts');
        const { session } = await means.look(parseSessionId(id));
        return listCaptures(await means.readTranscript(session));
      }),
    diff: (id, range = {}) =>
      wait('diff()', range, knownOptions.diff, async () => {
        const [{ diffSession }, { hasPacks }] = await Promise.all([
          import('./sessions/files/diff-session.ts'),
          import('../store/snapshots/packs.ts'),
        ]);
        const { session, cwd } = await means.look(parseSessionId(id));
        const entries = await means.readTranscript(session);
        if (!options.snapshots) throw new ClientProblem('refused', 'this client has no data folder with snapshots');
        const reading = options.snapshots(hasPacks(entries));
        const loss = options.lostSnapshots?.(session) ?? null;
        return diffSession({ session, cwd, reading, store: options.store, lost: loss }, { entries, first: 0 }, range);
      }),
  };
}

async function* following(...args: Parameters<Follow['follow']>): ReturnType<Follow['follow']> {
  const { follow } = await import('./follow/follow.ts');
  yield* follow(...args);
}

function guardSchedules(load: () => Promise<Schedules>, { wait, each }: MethodWaits): Schedules {
  const named = <T>(
    name: string,
    options: Abortable | undefined,
    work: (schedules: Schedules) => Promise<T>,
  ): Promise<T> => wait(`schedules.${name}()`, options, knownOptions.wait, async () => work(await load()));
  return {
    create: (cron, task, options = {}) =>
      wait('schedules.create()', options, knownOptions.schedule, async () =>
        (await load()).create(cron, task, options),
      ),
    list: (options = {}) => {
      refuseUnknown('schedules.list()', options, knownOptions.wait);
      return each(options, async function* () {
        yield* (await load()).list();
      });
    },
    describe: (name, options) => named('describe', options, (schedules) => schedules.describe(name)),
    settings: (name, options) => named('settings', options, (schedules) => schedules.settings(name)),
    update: (name, changes) =>
      wait('schedules.update()', changes, knownOptions.scheduleChanges, async () =>
        (await load()).update(name, changes),
      ),
    pause: (name, options) => named('pause', options, (schedules) => schedules.pause(name)),
    resume: (name, options) => named('resume', options, (schedules) => schedules.resume(name)),
    delete: (name, options) => named('delete', options, (schedules) => schedules.delete(name)),
    trigger: (name, options) => named('trigger', options, (schedules) => schedules.trigger(name, options)),
  };
}

type MethodWaits = {
  readonly wait: Wait;
  /** Does the same for each item of an iteration. */
  each<T>(options: Abortable, items: () => AsyncIterable<T>): AsyncIterable<T>;
};

function createWaits(temporal: Client): MethodWaits {
  return {
    wait: async (method, options, keys, work) => {
      refuseUnknown(method, options, keys);
      return abortWith(temporal, options?.signal, work);
    },
    each: async function* ({ signal }, items) {
      const iterator = items()[Symbol.asyncIterator]();
      for (;;) {
        const next = await abortWith(temporal, signal, () => iterator.next());
        if (next.done) return;
        yield next.value;
      }
    },
  };
}
