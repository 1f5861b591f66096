// The typed client: everything a program or a person does with sessions. It needs a server but
// never a worker.
import type { Client } from '@temporalio/client';
import type { Hash, SessionId } from '../workflows/contract/ids.ts';
import { SIGNALS, UPDATES } from '../workflows/contract/session.ts';
import type { SignalOnce } from '../workflows/contract/steered.ts';
import type { Entry } from '../store/log/entries.ts';
import { createLimit } from '../system/async.ts';
import { type Abortable, untilAborted } from './async.ts';
import { type ActOptions, answerQuestion, approveCall, type DecidePorts, sendDenial } from './sessions/decide.ts';
import type { WaitingApproval } from './sessions/waiting-approval.ts';
import { follow } from './follow/follow.ts';
import { entriesFrom } from './sessions/entries-from.ts';
import { headOf } from './sessions/newest-head.ts';
import { listCaptures } from './sessions/files/calls-behind.ts';
import { diffSession } from './sessions/files/diff-session.ts';
import { rewindSession, undoRewind, type RewindPorts } from './sessions/files/rewind-session.ts';
import { transcriptReader } from './sessions/transcript-reader.ts';
import { withPorts } from './sessions/folder-ports.ts';
import { knownOptions, refuseUnknown } from './options.ts';
import { present } from '../workflows/contract/present.ts';
import type { PerdureClient } from './perdure-client.ts';
import { createSchedules, type Schedules } from './schedules/schedules.ts';
import { ClientProblem } from './problem.ts';
import {
  type ClientOptions,
  type CreateClient,
  describeOwnSession,
  startSession,
  type OnceOptions,
} from './sessions/start.ts';
import { askAside } from './sessions/updates/ask-aside.ts';
import { MOST_UPDATES, update } from './sessions/updates/update.ts';
import { parseMessageId, newMessageId } from './sessions/message-id.ts';
import { sessionClosedProblem, sendSignal } from './sessions/send.ts';
import { messageOf, nameProblem } from './sessions/message.ts';
import { patience, callUntilAnswered } from './sessions/persist.ts';
import { examineDamage } from './sessions/repair.ts';
import { parseSessionId } from './sessions/session-id.ts';
import { countSessions, listSessions, listPage } from './sessions/find/list-sessions.ts';
import { snipEntries } from './sessions/snip.ts';
import { runningReader } from './sessions/running/read-running.ts';
import { observeHosts, observePhases } from './sessions/observed-phase.ts';
import { cancel, changeRules, setOptions, topUp } from './sessions/steer.ts';

const LOOK_MS = 1_000;
/** Milliseconds that a list waits for looks at running sessions. */
const RUNNING_WAIT_MS = 2_000;

/**
 * Creates a client. Like every method it throws ClientProblem for an unknown option; it throws
 * SetupProblem for a data folder that cannot be used.
 */
export function createClient(given: CreateClient): PerdureClient {
  refuseUnknown('createClient()', given, knownOptions.client);
  const options = withPorts(given);
  const { temporal, store, live, lookMs = LOOK_MS } = options;
  const reader = transcriptReader(store);
  const impatient = { ...patience, total: patience.oneCall };
  const look = (session: SessionId) =>
    callUntilAnswered(temporal, `look at session ${session}`, () => describeOwnSession(options, session), impatient);
  /**
   * Other stores may share the server. Looking first keeps a message from being lost in a session
   * of another store.
   */
  const reach = async (id: string): Promise<SessionId> => {
    const session = parseSessionId(id);
    if (options.storeId) await look(session);
    return session;
  };
  const headNow = (session: SessionId): Promise<Hash | null> =>
    callUntilAnswered(temporal, `read session ${session}`, () => headOf(temporal, session), impatient);
  const wholeTranscript = async (session: SessionId): Promise<readonly Entry[]> => {
    const entries: Entry[] = [];
    for await (const { entry } of entriesFrom(store, session, await headNow(session), 0)) entries.push(entry);
    return entries;
  };
  const rewinding = (): RewindPorts => ({ temporal, store, look, head: headNow, snapshots: options.snapshots });
  const decisions = decidePorts(options, look);
  const actor = ({ by }: ActOptions = {}): string => {
    const problem = by === undefined ? undefined : nameProblem(by);
    if (problem !== undefined) throw new ClientProblem('refused', problem);
    return by ?? decisions.name;
  };
  const once = async (id: string, name: SignalOnce['signal'], asked: OnceOptions = {}): Promise<void> => {
    const { messageId = newMessageId() } = asked;
    const sent: SignalOnce = { signal: name, id: parseMessageId(messageId), by: actor(asked) };
    await sendSignal(temporal, await reach(id), SIGNALS[name], [sent]);
  };
  const { wait, each } = createWaits(temporal);
  const observePhase = observePhases(temporal);
  const observeHost = observeHosts(temporal);
  const readRunning = runningReader(options, { waitMs: RUNNING_WAIT_MS });
  const finder = { ...options, observePhase, readRunning };
  return {
    start: (task, start = {}) => wait('start()', start, knownOptions.start, () => startSession(options, task, start)),
    send: (id, text, sent = {}) =>
      wait('send()', sent, knownOptions.send, async () => {
        const { now, messageId: asId, options: changed, signal: _, ...how } = sent;
        const session = await reach(id);
        const message = await messageOf(options, text, { id: asId, options: changed, ...how });
        await sendSignal(temporal, session, SIGNALS.message, [present({ ...message, now: now || undefined })]);
        return { session, messageId: message.id };
      }),
    interrupt: (id, asked) => wait('interrupt()', asked, knownOptions.once, () => once(id, 'interrupt', asked)),
    cancel: (id, asked) =>
      wait('cancel()', asked, knownOptions.act, () => cancel(temporal, parseSessionId(id), actor(asked))),
    resume: (id, asked) => wait('resume()', asked, knownOptions.once, () => once(id, 'resume', asked)),
    topUp: (id, limits, asked) =>
      wait('topUp()', asked, knownOptions.act, () => {
        refuseUnknown('topUp()', limits, knownOptions.topUp);
        return topUp(decisions, parseSessionId(id), limits, actor(asked));
      }),
    changeRules: (id, rules, asked) =>
      wait('changeRules()', asked, knownOptions.act, () => {
        refuseUnknown('changeRules()', rules, knownOptions.changeRules);
        return changeRules(decisions, parseSessionId(id), rules, actor(asked));
      }),
    setOptions: (id, changes, asked) =>
      wait('setOptions()', asked, knownOptions.act, () => {
        refuseUnknown('setOptions()', changes, knownOptions.setOptions);
        return setOptions(decisions, parseSessionId(id), changes, actor(asked));
      }),
    askAside: (id, question, asked) =>
      wait('askAside()', asked, knownOptions.act, () =>
        askAside(options, decisions, { session: parseSessionId(id), question, by: actor(asked) }),
      ),
    approvals: (id, waiting) =>
      wait('approvals()', waiting, knownOptions.wait, async () => {
        const sessions =
          id === undefined ? listSessions(finder, { open: true, waiting: true }) : [await look(parseSessionId(id))];
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
    snip: (id, entries, asked) =>
      wait('snip()', asked, knownOptions.act, () => {
        const by = actor(asked);
        const send = (session: SessionId) => sendSignal(temporal, session, SIGNALS.snip, [{ entries, by }]);
        const now = async (session: SessionId) => reader.entries(session, await headNow(session));
        return snipEntries({ look, entries: now, send }, parseSessionId(id), entries);
      }),
    damage: (id, waiting) =>
      wait('damage()', waiting, knownOptions.wait, async () =>
        examineDamage({ temporal, store }, await look(parseSessionId(id))),
      ),
    repair: (id, asked) =>
      wait('repair()', asked, knownOptions.act, async () => {
        const described = await look(parseSessionId(id));
        if (described.status !== 'open') throw sessionClosedProblem(described);
        const damage = await examineDamage({ temporal, store }, described);
        if (damage.kind !== 'repairable') return damage;
        const { from, to, lost } = damage;
        await decisions.update(described.session, UPDATES.repair, { from, to, lost }, { by: actor(asked) });
        return damage;
      }),
    list: (which = {}) => {
      refuseUnknown('list()', which, knownOptions.list);
      return each(which, () => listSessions(finder, which));
    },
    page: (which = {}) => wait('page()', which, knownOptions.page, () => listPage(finder, which)),
    counts: (which = {}) => wait('counts()', which, knownOptions.list, () => countSessions(finder, which)),
    describe: (id, waiting) =>
      wait('describe()', waiting, knownOptions.wait, async () => observePhase(await look(parseSessionId(id)))),
    follow: (id, followed) => {
      refuseUnknown('follow()', followed, knownOptions.follow);
      const lookThere = async (session: SessionId) => observeHost(await look(session));
      return follow({ ...reader, live, look: lookThere, head: headNow, everyMs: lookMs }, parseSessionId(id), followed);
    },
    result: (id, run, waiting) =>
      wait('result()', waiting, knownOptions.wait, async () => {
        const session = parseSessionId(id);
        const { last } = await look(session);
        return last ? reader.outcome(session, last.head, run ?? last.run) : null;
      }),
    schedules: guardSchedules(createSchedules(options), { wait, each }),
    transcript: (id, read = {}) => {
      refuseUnknown('transcript()', read, knownOptions.transcript);
      const { from = 0 } = read;
      if (!Number.isSafeInteger(from) || from < 0)
        throw new ClientProblem('refused', `${from} is no position of an entry: give a whole number from 0`);
      return each(read, async function* () {
        const session = parseSessionId(id);
        await look(session);
        yield* entriesFrom(store, session, await headNow(session), from);
      });
    },
    files: (id, waiting) =>
      wait('files()', waiting, knownOptions.wait, async () => {
        const { session } = await look(parseSessionId(id));
        return listCaptures(await wholeTranscript(session));
      }),
    rewind: (id, asked = {}) =>
      wait('rewind()', asked, knownOptions.rewind, () =>
        rewindSession(rewinding(), parseSessionId(id), { ...asked, by: actor(asked) }),
      ),
    undoRewind: (id, asked = {}) =>
      wait('undoRewind()', asked, knownOptions.undoRewind, () =>
        undoRewind(rewinding(), parseSessionId(id), { ...asked, by: actor(asked) }),
      ),
    diff: (id, asked = {}) =>
      wait('diff()', asked, knownOptions.diff, async () => {
        const { session, cwd } = await look(parseSessionId(id));
        const entries = await wholeTranscript(session);
        if (!options.snapshots) throw new ClientProblem('refused', 'this client has no data folder with snapshots');
        return diffSession({ session, cwd, reading: options.snapshots() }, { entries, first: 0 }, asked);
      }),
  };
}

function guardSchedules(schedules: Schedules, { wait, each }: MethodWaits): Schedules {
  const named = <T>(name: string, options: Abortable | undefined, work: () => Promise<T>): Promise<T> =>
    wait(`schedules.${name}()`, options, knownOptions.wait, work);
  return {
    create: (cron, task, given = {}) =>
      wait('schedules.create()', given, knownOptions.schedule, () => schedules.create(cron, task, given)),
    list: (asked = {}) => {
      refuseUnknown('schedules.list()', asked, knownOptions.wait);
      return each(asked, () => schedules.list());
    },
    describe: (name, asked) => named('describe', asked, () => schedules.describe(name)),
    settings: (name, asked) => named('settings', asked, () => schedules.settings(name)),
    update: (name, changes) =>
      wait('schedules.update()', changes, knownOptions.scheduleChanges, () => schedules.update(name, changes)),
    pause: (name, asked) => named('pause', asked, () => schedules.pause(name)),
    resume: (name, asked) => named('resume', asked, () => schedules.resume(name)),
    delete: (name, asked) => named('delete', asked, () => schedules.delete(name)),
    trigger: (name, asked) => named('trigger', asked, () => schedules.trigger(name, asked)),
  };
}

type MethodWaits = {
  /** Checks the options of a method and runs it until its signal aborts. */
  wait<T>(
    method: string,
    options: Abortable | undefined,
    keys: Readonly<Record<string, true>>,
    work: () => Promise<T>,
  ): Promise<T>;
  /** Does the same for each item of an iteration. */
  each<T>(options: Abortable, items: () => AsyncIterable<T>): AsyncIterable<T>;
};

function createWaits(temporal: Client): MethodWaits {
  const until = <T>(ended: AbortSignal | undefined, work: () => Promise<T>): Promise<T> =>
    ended ? untilAborted(ended, () => temporal.withAbortSignal(ended, work)) : work();
  return {
    wait: async (method, options, keys, work) => {
      refuseUnknown(method, options, keys);
      return until(options?.signal, work);
    },
    each: async function* ({ signal: ended }, items) {
      const iterator = items()[Symbol.asyncIterator]();
      for (;;) {
        const next = await until(ended, () => iterator.next());
        if (next.done) return;
        yield next.value;
      }
    },
  };
}

function decidePorts(options: ClientOptions, look: DecidePorts['look']): DecidePorts {
  const { temporal, store } = options;
  const few = createLimit(MOST_UPDATES);
  return {
    store,
    name: options.by ?? temporal.options.identity,
    look,
    update: (session, name, arg, signed) =>
      few(async () => {
        const { taskQueue, configuration } = await look(session);
        return update({ temporal, session, name, arg, signed, taskQueue, configuration });
      }),
  };
}
