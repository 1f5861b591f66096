// The typed client: everything a program or a person does with sessions. It needs a server but
// never a worker.
import type { Client } from '@temporalio/client';
import type { SessionId } from '../workflows/contract/ids.ts';
import { SIGNALS, UPDATES } from '../workflows/contract/session.ts';
import { type Abortable, abortWith } from './async.ts';
import { answerQuestion, approveCall, sendDenial } from './sessions/decide.ts';
import type { WaitingApproval } from './sessions/waiting-approval.ts';
import { ClientMeans } from './sessions/client-means.ts';
import { entriesFrom } from './sessions/entries-from.ts';
import type { ForkPorts } from './sessions/fork/fork-session.ts';
import type { RewindPorts } from './sessions/files/rewind-session.ts';
import { withPorts } from './sessions/folder-ports.ts';
import { knownOptions, refuseUnknown } from './options.ts';
import { present } from '../workflows/contract/present.ts';
import type { PerdureClient } from './perdure-client.ts';
import type { Schedules } from './schedules/schedules.ts';
import { ClientProblem } from './problem.ts';
import { type ClientSettings, type CreateClient, startSession } from './sessions/start.ts';
import { sessionClosedProblem, sendSignal } from './sessions/send.ts';
import { messageOf } from './sessions/message.ts';
import { parseSessionId } from './sessions/session-id.ts';
import { countSessions } from './sessions/find/count-sessions.ts';
import { listSessions, listPage } from './sessions/find/list-sessions.ts';
import { observeHosts } from './sessions/observed-phase.ts';
import { cancel, changeRules, setOptions, topUp } from './sessions/steer.ts';

const LOOK_MS = 1_000;

// Loaded when they are used: a command that lists sessions needs none of them.
const loadSchedules = () => import('./schedules/schedules.ts');
const loadRepair = () => import('./sessions/repair.ts');
const loadRewind = () => import('./sessions/files/rewind-session.ts');
type Follow = typeof import('./follow/follow.ts');

/**
 * Creates a client. Like every method it throws ClientProblem for an unknown option; it throws
 * SetupProblem for a data folder that cannot be used.
 */
export function createClient(given: CreateClient): PerdureClient {
  return createFolderClient(given);
}

/** Creates a client that may also look at the live channel's end and at snapshots. */
export function createFolderClient(given: ClientSettings): PerdureClient {
  refuseUnknown('createClient()', given, knownOptions.client);
  const options = withPorts(given);
  const means = new ClientMeans(options);
  const waits = createWaits(options.temporal);
  // Firings that are asked for at once get their names from one and the same place.
  let schedules: Promise<Schedules> | undefined;
  const openSchedules = (): Promise<Schedules> =>
    (schedules ??= loadSchedules().then(({ createSchedules }) => createSchedules(options)));
  return {
    ...createMessages(means, waits),
    ...createSteering(means, waits),
    ...createDecisions(means, waits),
    ...createRepairs(means, waits),
    ...createSearch(means, waits),
    ...createReading(means, waits),
    ...createFiles(means, waits),
    schedules: guardSchedules(openSchedules, waits),
  };
}

/** Durable when they resolve, without a worker. */
function createMessages(
  means: ClientMeans,
  { wait }: MethodWaits,
): Pick<PerdureClient, 'start' | 'send' | 'interrupt' | 'cancel' | 'resume'> {
  const { options } = means;
  const { temporal } = options;
  return {
    start: (task, start = {}) => wait('start()', start, knownOptions.start, () => startSession(options, task, start)),
    send: (id, text, sent = {}) =>
      wait('send()', sent, knownOptions.send, async () => {
        const { now, messageId: asId, options: changed, signal: _, ...how } = sent;
        const session = await means.reach(id);
        const message = await messageOf(options, text, { id: asId, options: changed, ...how });
        await sendSignal(temporal, session, SIGNALS.message, [present({ ...message, now: now || undefined })]);
        return { session, messageId: message.id };
      }),
    interrupt: (id, asked) =>
      wait('interrupt()', asked, knownOptions.once, () => means.sendOnce(id, 'interrupt', asked)),
    cancel: (id, asked) =>
      wait('cancel()', asked, knownOptions.act, () => cancel(temporal, parseSessionId(id), means.actor(asked))),
    resume: (id, asked) => wait('resume()', asked, knownOptions.once, () => means.sendOnce(id, 'resume', asked)),
  };
}

/** Changes of a run or of the options of the next one, which a worker takes. */
function createSteering(
  means: ClientMeans,
  { wait }: MethodWaits,
): Pick<PerdureClient, 'topUp' | 'changeRules' | 'setOptions' | 'askAside'> {
  const { options, decisions } = means;
  return {
    topUp: (id, limits, asked) =>
      wait('topUp()', asked, knownOptions.act, () => {
        refuseUnknown('topUp()', limits, knownOptions.topUp);
        return topUp(decisions, parseSessionId(id), limits, means.actor(asked));
      }),
    changeRules: (id, rules, asked) =>
      wait('changeRules()', asked, knownOptions.act, () => {
        refuseUnknown('changeRules()', rules, knownOptions.changeRules);
        return changeRules(decisions, parseSessionId(id), rules, means.actor(asked));
      }),
    setOptions: (id, changes, asked) =>
      wait('setOptions()', asked, knownOptions.act, () => {
        refuseUnknown('setOptions()', changes, knownOptions.setOptions);
        return setOptions(decisions, parseSessionId(id), changes, means.actor(asked));
      }),
    askAside: (id, question, asked) =>
      wait('askAside()', asked, knownOptions.act, async () => {
        const { askAside } = await import('./sessions/updates/ask-aside.ts');
        return askAside(options, decisions, { session: parseSessionId(id), question, by: means.actor(asked) });
      }),
  };
}

function createDecisions(
  means: ClientMeans,
  { wait }: MethodWaits,
): Pick<PerdureClient, 'approvals' | 'approve' | 'deny' | 'answer'> {
  const { decisions, reader, finder } = means;
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
    approve: (id, call, approved = {}) =>
      wait('approve()', approved, knownOptions.approve, () =>
        approveCall(decisions, parseSessionId(id), call, approved),
      ),
    deny: (id, call, reason, denied = {}) =>
      wait('deny()', denied, knownOptions.deny, () =>
        sendDenial(decisions, parseSessionId(id), { ...denied, call, reason }),
      ),
    answer: (id, call, text, answered = {}) =>
      wait('answer()', answered, knownOptions.act, () =>
        answerQuestion(decisions, parseSessionId(id), { ...answered, call, text }),
      ),
  };
}

function createRepairs(means: ClientMeans, { wait }: MethodWaits): Pick<PerdureClient, 'snip' | 'damage' | 'repair'> {
  const {
    options: { temporal, store },
    decisions,
    reader,
  } = means;
  return {
    snip: (id, entries, asked) =>
      wait('snip()', asked, knownOptions.act, async () => {
        const { snipEntries } = await import('./sessions/snip.ts');
        const by = means.actor(asked);
        const send = (session: SessionId) => sendSignal(temporal, session, SIGNALS.snip, [{ entries, by }]);
        const now = async (session: SessionId) => reader.entries(session, await means.head(session));
        return snipEntries({ look: means.look, entries: now, send }, parseSessionId(id), entries);
      }),
    damage: (id, waiting) =>
      wait('damage()', waiting, knownOptions.wait, async () => {
        const { examineDamage } = await loadRepair();
        return examineDamage({ temporal, store }, await means.look(parseSessionId(id)));
      }),
    repair: (id, asked) =>
      wait('repair()', asked, knownOptions.act, async () => {
        const { examineDamage } = await loadRepair();
        const described = await means.look(parseSessionId(id));
        if (described.status !== 'open') throw sessionClosedProblem(described);
        const damage = await examineDamage({ temporal, store }, described);
        if (damage.kind !== 'repairable') return damage;
        const { from, to, lost } = damage;
        await decisions.update(described.session, UPDATES.repair, { from, to, lost }, { by: means.actor(asked) });
        return damage;
      }),
  };
}

function createSearch(
  means: ClientMeans,
  { wait, each }: MethodWaits,
): Pick<PerdureClient, 'list' | 'page' | 'counts' | 'describe'> {
  const { finder } = means;
  return {
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

function createFiles(
  means: ClientMeans,
  { wait }: MethodWaits,
): Pick<PerdureClient, 'files' | 'rewind' | 'undoRewind' | 'fork' | 'diff'> {
  const { options, look, head } = means;
  const { temporal, store, snapshots } = options;
  const ports: RewindPorts = { temporal, store, look, head, snapshots };
  const forking: ForkPorts = { ...options, look, step: means.newestStep };
  return {
    files: (id, waiting) =>
      wait('files()', waiting, knownOptions.wait, async () => {
        const { listCaptures } = await import('./sessions/files/calls-behind.ts');
        const { session } = await means.look(parseSessionId(id));
        return listCaptures(await means.readTranscript(session));
      }),
    rewind: (id, asked = {}) =>
      wait('rewind()', asked, knownOptions.rewind, async () => {
        const { rewindSession } = await loadRewind();
        return rewindSession(ports, parseSessionId(id), { ...asked, by: means.actor(asked) });
      }),
    undoRewind: (id, asked = {}) =>
      wait('undoRewind()', asked, knownOptions.undoRewind, async () => {
        const { undoRewind } = await loadRewind();
        return undoRewind(ports, parseSessionId(id), { ...asked, by: means.actor(asked) });
      }),
    fork: (id, asked = {}) =>
      wait('fork()', asked, knownOptions.fork, async () => {
        const { startFork } = await import('./sessions/fork/fork-session.ts');
        return startFork(forking, parseSessionId(id), { ...asked, by: means.actor(asked) });
      }),
    diff: (id, asked = {}) =>
      wait('diff()', asked, knownOptions.diff, async () => {
        const [{ diffSession }, { hasPacks }] = await Promise.all([
          import('./sessions/files/diff-session.ts'),
          import('../store/snapshots/packs.ts'),
        ]);
        const { session, cwd } = await means.look(parseSessionId(id));
        const entries = await means.readTranscript(session);
        if (!options.snapshots) throw new ClientProblem('refused', 'this client has no data folder with snapshots');
        const reading = options.snapshots(hasPacks(entries));
        return diffSession({ session, cwd, reading, store }, { entries, first: 0 }, asked);
      }),
  };
}

async function* following(...asked: Parameters<Follow['follow']>): ReturnType<Follow['follow']> {
  const { follow } = await import('./follow/follow.ts');
  yield* follow(...asked);
}

function guardSchedules(load: () => Promise<Schedules>, { wait, each }: MethodWaits): Schedules {
  const named = <T>(
    name: string,
    options: Abortable | undefined,
    work: (schedules: Schedules) => Promise<T>,
  ): Promise<T> => wait(`schedules.${name}()`, options, knownOptions.wait, async () => work(await load()));
  return {
    create: (cron, task, given = {}) =>
      wait('schedules.create()', given, knownOptions.schedule, async () => (await load()).create(cron, task, given)),
    list: (asked = {}) => {
      refuseUnknown('schedules.list()', asked, knownOptions.wait);
      return each(asked, async function* () {
        yield* (await load()).list();
      });
    },
    describe: (name, asked) => named('describe', asked, (schedules) => schedules.describe(name)),
    settings: (name, asked) => named('settings', asked, (schedules) => schedules.settings(name)),
    update: (name, changes) =>
      wait('schedules.update()', changes, knownOptions.scheduleChanges, async () =>
        (await load()).update(name, changes),
      ),
    pause: (name, asked) => named('pause', asked, (schedules) => schedules.pause(name)),
    resume: (name, asked) => named('resume', asked, (schedules) => schedules.resume(name)),
    delete: (name, asked) => named('delete', asked, (schedules) => schedules.delete(name)),
    trigger: (name, asked) => named('trigger', asked, (schedules) => schedules.trigger(name, asked)),
  };
}

type MethodWaits = {
  /** Checks the options of a method and runs it until its signal aborts. */
  wait<T>(method: string, options: Abortable | undefined, keys: object, work: () => Promise<T>): Promise<T>;
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
