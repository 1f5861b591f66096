// Everything that the page needs from outside: visibility, the store, the live channel, and what
// people send to sessions.
import type { Told } from '../store/live/events.ts';
import type { Store } from '../store/values/store.ts';
import type { Hash, SessionId } from '../workflows/contract/ids.ts';
import type { PendingApproval } from '../workflows/contract/session.ts';
import type { Env } from '../connection/data-folder.ts';
import { Client } from '@temporalio/client';
import { createClientConverter } from '../connection/payloads/data-converter.ts';
import { createClient } from '../client/client.ts';
import { SetupProblem } from '../system/setup-problem.ts';
import type { PerdureClient } from '../client/perdure-client.ts';
import type { Opened } from '../client/runtime/open-server.ts';
import { backgroundRoot } from '../system/process/background-files.ts';
import type { WaitingApproval } from '../client/sessions/waiting-approval.ts';
import { folderPorts } from '../client/sessions/folder-ports.ts';
import type { SessionDescription } from '../client/sessions/info.ts';
import { readSession, type SessionReading } from '../client/sessions/read.ts';
import { headOf } from '../client/sessions/newest-head.ts';
import { transcriptReader } from '../client/sessions/transcript-reader.ts';
import type { ListOptions, SessionCounts } from '../client/sessions/find/list-sessions.ts';
import { backgroundReader, type BackgroundReader } from '../client/sessions/history/background-reader.ts';
import { readRecent, type RecentRequests } from '../client/sessions/history/recent.ts';
import { stepReader, type StepReader } from '../client/sessions/history/steps.ts';
import { isQueuePolled } from '../client/sessions/worker-polls.ts';
import { describeNoWorker } from '../client/sessions/no-worker.ts';
import { RecentMap } from '../system/recent-map.ts';

/** Methods that act on sessions for a person. */
export type Acting = Pick<
  PerdureClient,
  | 'start'
  | 'send'
  | 'interrupt'
  | 'resume'
  | 'cancel'
  | 'approve'
  | 'deny'
  | 'answer'
  | 'approvals'
  | 'topUp'
  | 'setOptions'
  | 'snip'
  | 'askAside'
  | 'schedules'
>;

/** Where a person acts; it follows their name in Temporal's history. */
export type Place = 'on the ops page' | 'over HTTP';

/** Makes the identity of a client. */
export const identityOfPerson = (name: string, place: Place): string => `${name} ${place}`;

export type PagePorts = Acting &
  Pick<PerdureClient, 'diff' | 'files' | 'page' | 'follow' | 'result' | 'transcript'> & {
    /**
     * Acts in a person's name, which Temporal's history notes with each action; null acts as this
     * process.
     */
    as(name: string | null, place: Place): Acting;
    /** Counts sessions by phase; the result is at most a few seconds old. */
    counts(): Promise<SessionCounts>;
    /**
     * Lists the calls of all sessions that wait for a person; the result is at most a second or two
     * old.
     */
    inbox(): Promise<readonly WaitingApproval[]>;
    /** Throws ClientProblem when the session does not exist. */
    describe(session: string): Promise<SessionDescription>;
    head(session: SessionId): Promise<Hash | null>;
    /** Reads what people lately asked of the session. */
    recent(session: SessionId): Promise<RecentRequests>;
    live(session: SessionId, signal: AbortSignal): AsyncIterable<Told>;
    waiting(session: SessionId, pending: PendingApproval): Promise<WaitingApproval>;
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
/** Milliseconds for which the inbox is reused: each view of all sessions shows it. */
const INBOX_HOLD_MS = 1_500;
/** Milliseconds for which steps are reused: all viewers of a timeline draw it anew together. */
const STEPS_HOLD_MS = 1_500;
/** Most answers of one kind to keep: the question may be about many queues. */
const MOST_HELD = 200;

const ALL: ListOptions = {};

/**
 * Makes the ports. `hosted` means that people of other machines open the page; the embedded
 * server's UI is out of their reach.
 */
export function pagePorts(opened: Opened, env: Env, { hosted = false }: { readonly hosted?: boolean } = {}): PagePorts {
  const { temporal, target, folder, store, sessions, embedded } = opened;
  const { client } = temporal;
  const people = new RecentMap<string, Acting>(MOST_HELD);
  const named = readUiAddress(env);
  // The embedded server's UI may come and go with its starts.
  const uiNow = (): string | null => named ?? (hosted ? null : (embedded?.ui() ?? null));
  const polls = holdAnswers(
    (taskQueue: string) => isQueuePolled({ temporal: client, taskQueue }),
    () => POLLS_HOLD_MS,
  );
  const counts = holdAnswers(
    (which: ListOptions) => sessions.counts(which),
    ({ note }) => (note === undefined ? COUNTS_HOLD_MS : SLOW_COUNTS_HOLD_MS),
  );
  const inbox = holdAnswers(
    (_which: 'all') => sessions.approvals(),
    () => INBOX_HOLD_MS,
  );
  const read = stepReader(client);
  const steps = holdAnswers(
    (asked: string) => {
      const [session, from, to] = JSON.parse(asked) as Parameters<StepReader>;
      return read(session, from, to);
    },
    () => STEPS_HOLD_MS,
  );
  return {
    ...sessions,
    temporalUi: (session) => {
      const ui = uiNow();
      return ui && `${ui}/namespaces/${encodeURIComponent(target.namespace)}/workflows/${encodeURIComponent(session)}`;
    },
    steps: (...asked) => steps(JSON.stringify(asked)),
    as: (name, place) => {
      if (name === null) return sessions;
      const identity = identityOfPerson(name, place);
      const known = people.get(identity) ?? clientOf(opened, env, identity);
      people.set(identity, known);
      return known;
    },
    background: (session) => backgroundReader(backgroundRoot(folder.root), session),
    counts: () => counts(ALL),
    inbox: () => inbox('all'),
    store,
    read: (session) => readSession(opened, session as SessionId),
    live: folderPorts(client, env).live,
    head: (session) => headOf(client, session),
    recent: (session) => readRecent(client, session),
    waiting: (session, pending) => transcriptReader(store).waiting(session, pending),
    nobodyWorks: async (seen) => ((await polls(seen.taskQueue)) ? null : describeNoWorker(seen, seen.session)),
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
  const held = new RecentMap<Key, Held>(MOST_HELD);
  return (key) => {
    const known = held.get(key);
    if (known && now() < known.until) return known.answer;
    const asked: Held = { answer: ask(key), until: Infinity };
    held.set(key, asked);
    asked.answer.then(
      (answer) => (asked.until = now() + holdMs(answer)),
      () => (asked.until = 0),
    );
    return asked.answer;
  };
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
function clientOf({ temporal, target, embedded }: Opened, env: Env, identity: string): Acting {
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
