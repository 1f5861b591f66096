// Everything that the page needs from outside: visibility, the store, the live channel, and what
// people send to sessions.
import type {
  ChannelItem,
  Entry,
  Store,
  PerdureClient,
  WaitingApproval,
  DiffOptions,
  SessionDiff,
  SessionDescription,
  SessionCounts,
  ListOptions,
  OpenedServer,
  SessionReading,
  Finder,
  BackgroundReader,
  LastDecision,
  RecentRequests,
  ReadRunning,
  StepReader,
  Hash,
  SessionId,
  PendingApproval,
  RunOptions,
} from '../client/faces/types.ts';
import { hasPacks, diffSession, openShadowReading } from '../client/faces/files.ts';
import { abortWith, describeNoWorker } from '../client/faces/sessions.ts';
import {
  createClient,
  ClientMeans,
  openUnstored,
  withPorts,
  countSessions,
  holdRows,
  listPage,
  readRecent,
  runningReader,
  findSessionHost,
} from '../client/faces/reading.ts';
import {
  readSession,
  headOf,
  transcriptReader,
  backgroundReader,
  findLastDecision,
  readStartOptions,
  stepReader,
} from '../client/faces/history.ts';
import type { Env } from '../connection/data-folder.ts';
import { AsyncResource } from 'node:async_hooks';
import { Client } from '@temporalio/client';
import { createClientConverter } from '../connection/payloads/data-converter.ts';
import { readBeats, type WorkerBeat } from '../connection/worker-beats.ts';
import { SetupProblem } from '../system/setup-problem.ts';
import { backgroundRoot } from '../system/process/background-files.ts';
import type { OperationName } from '../client/operations/operations.ts';
import { isQueuePolled } from '../connection/worker-polls.ts';
import type { FileNow } from './call-views/file-change.ts';
import { readWorkspaceFile } from './inbox/workspace-file.ts';
import { readStartedSince } from './usage/usage-page.tsx';
import { RecentMap } from '../system/recent-map.ts';
import { countBy, type FleetHistorian, fleetHistorian } from './fleet/fleet-history.ts';
import { readPrometheusAddress } from './fleet/prometheus-range.ts';
import { type FrameHealth, lookAtHealth, countStrayed } from './frame/health.ts';
import { type ReadPollers, readPollers } from './workers/pollers.ts';

/** Methods that act on sessions for a person. */
export type Acting = Pick<PerdureClient, OperationName | 'start' | 'approvals' | 'schedules'>;

/** Where a person acts; it follows their name in Temporal's history. */
export type Place = 'on the ops page' | 'over HTTP';

/** Makes the identity of a client. */
export const identityOfPerson = (name: string, place: Place): string => `${name} ${place}`;

export type PagePorts = Acting &
  Pick<PerdureClient, 'diff' | 'files' | 'page' | 'follow' | 'result' | 'transcript'> & {
    /**
     * Acts in a person's name, which Temporal's history notes with each action.
     */
    as(name: string, place: Place): Acting;
    /**
     * Counts the sessions that match, or all, by phase; the result is at most a few seconds old.
     */
    counts(which?: Pick<ListOptions, 'filter'>): Promise<SessionCounts>;
    /** Looks at sessions with a run under way; a row is at most a few seconds old. */
    readonly running: ReadRunning;
    /** Tells how the fleet stood over time; `note` takes a look at it into account. */
    readonly fleet: FleetHistorian;
    /**
     * Lists the calls of all sessions that wait for a person; the result is at most a second or two
     * old.
     */
    inbox(): Promise<readonly WaitingApproval[]>;
    /**
     * Finds who decided last, among the newest sessions; the result is at most some seconds old.
     */
    lastDecision(): Promise<LastDecision | null>;
    /** Looks at server, store and workers; the result is at most a few seconds old. */
    health(): Promise<FrameHealth>;
    /** Counts open sessions whose transcripts are in another store; may be half a minute old. */
    strayedCount(): Promise<number>;
    /** Returns who polls a queue; the result is at most a few seconds old. */
    readonly pollers: ReadPollers;
    /** Returns the heartbeats of workers; null where the server keeps none. */
    beats(): Promise<readonly WorkerBeat[] | null>;
    /** Counts the schedules; the result may be half a minute old. */
    scheduleCount(): Promise<number>;
    /** Throws ClientProblem when the session does not exist. */
    describe(session: string): Promise<SessionDescription>;
    head(session: SessionId): Promise<Hash | null>;
    /** Reads what people lately asked of the session. */
    recent(session: SessionId): Promise<RecentRequests>;
    /** Reads the options that the session was started with; null when they are not known. */
    startOptions(session: SessionId): Promise<RunOptions | null>;
    /** Tells what the session says now; of what is stored, no more than the newest step. */
    live(session: SessionId, signal: AbortSignal): AsyncIterable<ChannelItem>;
    waiting(session: SessionId, pending: PendingApproval): Promise<WaitingApproval>;
    /** Returns what the model said before the call, in the same reply. */
    said(session: SessionId, pending: PendingApproval): Promise<string>;
    /** Tells what has changed between two captures of a session's entries. Throws ClientProblem. */
    diffOf(
      description: Pick<SessionDescription, 'session' | 'cwd'>,
      entries: readonly Entry[],
      options: DiffOptions,
    ): Promise<SessionDiff>;
    /** Looks at a file of the session's folder, as it is now on this host. */
    file(description: Pick<SessionDescription, 'cwd' | 'host'>, path: string): Promise<FileNow>;
    /** Returns a sentence when no worker polls for the session, else null. */
    nobodyWorks(session: SessionDescription): Promise<string | null>;
    /** Reads steps; the result is at most a second or two old. */
    readonly steps: StepReader;
    /** Reads the whole transcript and checks it. */
    read(session: string): Promise<SessionReading>;
    /** Reads the session's background commands on this machine (L84). */
    background(session: SessionId): BackgroundReader;
    readonly store: Store;
    /**
     * Returns the address of a session in Temporal's own UI; null when no address is set and the
     * embedded server runs without the UI.
     */
    temporalUi(session: string): string | null;
  };

/** Milliseconds for which an answer about workers is reused: their polls last a minute. */
const POLLS_HOLD_MS = 5_000;
/**
 * Milliseconds for which counts are reused. Without search attributes on the server they read every
 * session.
 */
const COUNTS_HOLD_MS = 3_000;
const SLOW_COUNTS_HOLD_MS = 10_000;
/** Looks at running sessions at once where the server has the same processors: lists go first. */
const LOOKS_BESIDE_SERVER = 2;
/** Milliseconds for which all filters reuse what was read to decide them here. */
const ROWS_HOLD_MS = 1_000;
/** Milliseconds for which the inbox is reused: each view of all sessions shows it. */
const INBOX_HOLD_MS = 1_500;
/** Milliseconds for which steps are reused: all viewers of a timeline draw it anew together. */
const STEPS_HOLD_MS = 1_500;
/** Milliseconds that a page of sessions waits for looks at running ones: the next has the rest. */
const RUNNING_WAIT_MS = 100;
/** Milliseconds for which the fleet's history is reused. */
const HISTORY_HOLD_MS = 10_000;
/** A reading of all sessions of a span may take seconds, and is not to keep a processor busy. */
const SUMS_REST = 20;
/** Milliseconds after which a look that all viewers share is given up. */
const LOOK_LIMIT_MS = 60_000;
/** Most answers of one kind to keep: the question may be about many queues. */
const MOST_HELD = 200;

/** Milliseconds for which the state of the parts and the number of schedules are reused. */
const HEALTH_HOLD_MS = 3_000;
const SCHEDULES_HOLD_MS = 30_000;

export type PortsOptions = {
  /** People of other machines open the page; the embedded server's UI is out of their reach. */
  readonly hosted?: boolean;
  /** Wraps looks at running sessions. */
  readonly look?: (read: ReadRunning) => ReadRunning;
};

export function pagePorts(opened: OpenedServer, env: Env, { hosted = false, look }: PortsOptions = {}): PagePorts {
  const { store, sessions } = opened;
  const people = new RecentMap<string, Acting>(MOST_HELD);
  const live = openUnstored(env);
  return {
    ...sessions,
    ...fleetPorts(opened, env, look),
    ...shareLooks(opened),
    ...sessionReaders(opened, env),
    as: (name, place) => {
      const identity = identityOfPerson(name, place);
      const known = people.get(identity) ?? clientOf(opened, env, identity);
      people.set(identity, known);
      return known;
    },
    store,
    live: live.live,
    temporalUi: uiAddresses(opened, readUiAddress(env), hosted),
  };
}

/** Addresses in the UI that is named, else in the embedded server's, which may come and go. */
function uiAddresses(
  { target, embedded }: OpenedServer,
  named: string | null,
  hosted: boolean,
): PagePorts['temporalUi'] {
  return (session) => {
    const ui = named ?? (hosted ? null : (embedded?.ui() ?? null));
    return ui && `${ui}/namespaces/${encodeURIComponent(target.namespace)}/workflows/${encodeURIComponent(session)}`;
  };
}

/** Reads what all sessions do, now and over time. */
function fleetPorts(
  opened: OpenedServer,
  env: Env,
  wrap: PortsOptions['look'],
): Pick<PagePorts, 'running' | 'fleet' | 'page' | 'counts'> {
  const { temporal } = opened;
  const finder = openFinder(opened, env, wrap);
  const count = (filter: string): Promise<SessionCounts> => countSessions(finder, { filter });
  const counts = holdAnswers(count, ({ note }) => (note === undefined ? COUNTS_HOLD_MS : SLOW_COUNTS_HOLD_MS));
  const look = (filter: string): Promise<SessionCounts> => countSessions(finder, { filter, running: true });
  const filtered = holdAnswers(look, () => SLOW_COUNTS_HOLD_MS);
  const page: PagePorts['page'] = (which = {}) =>
    abortWith(temporal.client, which.signal, () => listPage(finder, which));
  const startedSince = holdAnswers(
    async (hours: number) => {
      const start = performance.now();
      const { sessions, cut } = await readStartedSince({ page }, hours);
      return { sessions: cut ? null : sessions, took: performance.now() - start };
    },
    ({ took }) => Math.max(COUNTS_HOLD_MS, SUMS_REST * took),
  );
  const historian = fleetHistorian({
    count: countBy(temporal.client),
    prometheus: readPrometheusAddress(env['PERDURE_PROMETHEUS']),
    startedSince: async (hours) => (await startedSince(hours)).sessions,
  });
  return {
    running: finder.readRunning,
    fleet: { note: historian.note, read: holdAnswers(historian.read, () => HISTORY_HOLD_MS) },
    page,
    counts: ({ filter = '' } = {}) => (filter === '' ? counts : filtered)(filter),
  };
}

/**
 * Finds sessions as a client does, but waits less for looks at running ones, and reads those that
 * are under way less often.
 */
function openFinder({ temporal, store, embedded }: OpenedServer, env: Env, wrap: PortsOptions['look']): Finder {
  const options = withPorts({ temporal: temporal.client, store, env });
  const { finder } = new ClientMeans(options);
  const reader = runningReader({ ...options, ...(embedded && { together: LOOKS_BESIDE_SERVER }) });
  const readRunning = wrap?.(reader) ?? reader;
  const readUnderWay = holdAnswers(
    (_all: 'all') => finder.readUnderWay(),
    () => ROWS_HOLD_MS,
  );
  return {
    ...finder,
    readRunning: (sessions) => readRunning(sessions, RUNNING_WAIT_MS),
    readUnderWay: () => readUnderWay('all'),
    readAll: holdRows(temporal.client, ROWS_HOLD_MS),
  };
}

type SharedLooks = Pick<
  PagePorts,
  'inbox' | 'lastDecision' | 'health' | 'scheduleCount' | 'strayedCount' | 'pollers' | 'beats' | 'steps' | 'nobodyWorks'
>;

/** Looks that all viewers share for some seconds. */
function shareLooks(opened: OpenedServer): SharedLooks {
  const { temporal, sessions } = opened;
  const { client } = temporal;
  const hold = <Key, Answer>(ask: (key: Key) => Promise<Answer>, ms: number) =>
    holdAnswers(
      (key: Key) => client.withDeadline(Date.now() + LOOK_LIMIT_MS, () => ask(key)),
      () => ms,
    );
  const inbox = hold((_all: 'all') => sessions.approvals(), INBOX_HOLD_MS);
  const last = hold((_all: 'all') => findLastDecision(opened), HEALTH_HOLD_MS);
  const health = hold((_all: 'all') => lookAtHealth(opened), HEALTH_HOLD_MS);
  const strayed = hold((_all: 'all') => countStrayed(opened), SCHEDULES_HOLD_MS);
  const schedules = hold((_all: 'all') => countSchedules(sessions.schedules), SCHEDULES_HOLD_MS);
  const polls = hold((taskQueue: string) => isQueuePolled({ temporal: client, taskQueue }), POLLS_HOLD_MS);
  const read = stepReader(client);
  const steps = hold((key: string) => read(...(JSON.parse(key) as Parameters<StepReader>)), STEPS_HOLD_MS);
  return {
    inbox: () => inbox('all'),
    lastDecision: () => last('all'),
    health: () => health('all'),
    strayedCount: () => strayed('all'),
    scheduleCount: () => schedules('all'),
    beats: () => readBeats(client),
    pollers: hold((queue: string) => readPollers(client, queue), HEALTH_HOLD_MS),
    steps: (...args) => steps(JSON.stringify(args)),
    nobodyWorks: async (description) =>
      (await polls(description.taskQueue)) ? null : describeNoWorker(description, description.session),
  };
}

type SessionReaders = Pick<
  PagePorts,
  'background' | 'read' | 'head' | 'recent' | 'startOptions' | 'waiting' | 'said' | 'file' | 'diffOf'
>;

function sessionReaders(opened: OpenedServer, env: Env): SessionReaders {
  const { temporal, folder, store } = opened;
  const here = () => findSessionHost(env, folder.storePlace, folder.root);
  return {
    background: (session) => backgroundReader(backgroundRoot(folder.root), session),
    read: (session) => readSession(opened, session as SessionId),
    head: (session) => headOf(temporal.client, session),
    recent: (session) => readRecent(temporal.client, session),
    startOptions: (session) => readStartOptions(temporal.client, session),
    waiting: (session, pending) => transcriptReader(store).waiting(session, pending),
    said: (session, pending) => transcriptReader(store).said(session, pending),
    file: (description, path) => readWorkspaceFile(description, path, here()),
    diffOf: ({ session, cwd }, entries, options) => {
      const reading = openShadowReading(folder.root, env, hasPacks(entries));
      return diffSession({ session, cwd, reading, store }, { entries, first: 0 }, options);
    },
  };
}

/**
 * Shares one answer among all callers while it is sought and for some time after. A failed answer
 * is sought again.
 */
export function holdAnswers<Key, Answer>(
  ask: (key: Key) => Promise<Answer>,
  holdMs: (answer: Answer) => number,
  now = Date.now,
): (key: Key) => Promise<Answer> {
  type Held = { readonly answer: Promise<Answer>; until: number };
  const answers = new RecentMap<Key, Held>(MOST_HELD);
  // Bound, so that a caller who gives up does not abort what others wait for.
  const askForAll = AsyncResource.bind(ask);
  return (key) => {
    const known = answers.get(key);
    if (known && now() < known.until) return known.answer;
    const entry: Held = { answer: askForAll(key), until: Infinity };
    answers.set(key, entry);
    entry.answer.then(
      (answer) => (entry.until = now() + holdMs(answer)),
      () => (entry.until = 0),
    );
    return entry.answer;
  };
}

async function countSchedules({ list }: Pick<PerdureClient['schedules'], 'list'>): Promise<number> {
  let count = 0;
  for await (const _one of list()) count += 1;
  return count;
}

/** Returns the address without a slash at its end. Throws SetupProblem. */
function readUiAddress(env: Env): string | null {
  const set = env['PERDURE_TEMPORAL_UI']?.trim();
  if (!set) return null;
  const url = URL.canParse(set) ? new URL(set) : null;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new SetupProblem('PERDURE_TEMPORAL_UI is no address of a web page: give one such as http://127.0.0.1:8233');
  return `${url.origin}${basePath(url)}`;
}

/**
 * Makes a client of its own for a person, since Temporal notes the client's identity with
 * everything it sends.
 */
function clientOf({ temporal, target, embedded }: OpenedServer, env: Env, identity: string): Acting {
  const { namespace, keys } = target;
  const { connection } = temporal;
  const named = new Client({ connection, namespace, identity, dataConverter: createClientConverter(keys) });
  const profile = embedded === null ? 'fleet' : 'machine';
  return createClient({ temporal: named, env, profile, sealed: keys !== undefined, by: identity });
}

/** Returns the path of an address without a slash at its end. */
const basePath = ({ pathname }: URL): string =>
  pathname
    .split('/')
    .filter((part) => part !== '')
    .map((part) => `/${part}`)
    .join('');
