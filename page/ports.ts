// All that the page asks of the world: visibility, the store, the live channel, and a person's
// words to a session.
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
import { waitingApproval, type WaitingApproval } from '../client/sessions/decide.ts';
import { folderPorts } from '../client/sessions/folder-ports.ts';
import type { SessionDescription } from '../client/sessions/info.ts';
import { headOf, readSession, type SessionReading } from '../client/sessions/read.ts';
import type { ListOptions, SessionCounts } from '../client/sessions/find/list-sessions.ts';
import { backgroundReader, type BackgroundReader } from '../client/sessions/history/background-reader.ts';
import { readRecent, type Recent } from '../client/sessions/history/recent.ts';
import { stepReader, type StepReader } from '../client/sessions/history/steps.ts';
import { describeNoWorker, workerPolls } from '../client/sessions/worker-polls.ts';
import { RecentMap } from '../system/recent-map.ts';
import { loadView } from '../store/view/view.ts';

/** A person's words to sessions. */
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

/** Where somebody acts, behind their name in Temporal's history. */
export type Place = 'on the ops page' | 'over HTTP';

/** A client as it names itself. */
export const identityOf = (name: string, place: Place): string => `${name} ${place}`;

export type PagePorts = Acting &
  Pick<PerdureClient, 'page' | 'follow' | 'result' | 'transcript'> & {
    /**
     * The same in somebody's name, which stands in Temporal's history beside each; null: as this
     * process is known there.
     */
    as(name: string | null, place: Place): Acting;
    /** How many there are of each phase, a few seconds ago at most. */
    counts(): Promise<SessionCounts>;
    /** Calls of all sessions that wait for a person, a second or two ago at most. */
    inbox(): Promise<readonly WaitingApproval[]>;
    /** Throws ClientProblem when there is no such session. */
    describe(session: string): Promise<SessionDescription>;
    head(session: SessionId): Promise<Hash | null>;
    /** What people asked of it lately. */
    recent(session: SessionId): Promise<Recent>;
    live(session: SessionId, signal: AbortSignal): AsyncIterable<Told>;
    waiting(session: SessionId, pending: PendingApproval): Promise<WaitingApproval>;
    /** A sentence when no worker polls for the session; null when one does. */
    nobodyWorks(session: SessionDescription): Promise<string | null>;
    /** A second or two old at most. */
    readonly steps: StepReader;
    /** All of a transcript, checked. */
    read(session: string): Promise<SessionReading>;
    /** The commands that it has in the background, where they are on this machine (L84). */
    background(session: SessionId): BackgroundReader;
    readonly store: Store;
    /**
     * The address of a session in Temporal's own UI; null where nobody has said where that is, and
     * the server that Perdure started has none.
     */
    temporalUi(session: string): string | null;
  };

/** Milliseconds for which an answer about workers holds: their polls are a minute long. */
const POLLS_HOLD_MS = 5_000;
/** For which counts hold; where the server lacks search attributes they read every session. */
const COUNTS_HOLD_MS = 3_000;
const SLOW_COUNTS_HOLD_MS = 10_000;
/** For which the inbox holds: each view of all sessions shows it. */
const INBOX_HOLD_MS = 1_500;
/** For which steps hold: all who watch a timeline draw it anew together. */
const STEPS_HOLD_MS = 1_500;
/** Answers that are held of one question: it may be asked about many queues. */
const MOST_HELD = 200;

const ALL: ListOptions = {};

/** `hosted`: people of other machines open it, where the embedded server's UI is out of reach. */
export function pagePorts(opened: Opened, env: Env, { hosted = false }: { readonly hosted?: boolean } = {}): PagePorts {
  const { temporal, target, folder, store, sessions, embedded } = opened;
  const { client } = temporal;
  const people = new RecentMap<string, Acting>(MOST_HELD);
  const named = namedUi(env);
  // The embedded server's may come and go with its starts.
  const uiNow = (): string | null => named ?? (hosted ? null : (embedded?.ui() ?? null));
  const polls = holdAnswers(
    (taskQueue: string) => workerPolls({ temporal: client, taskQueue }),
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
      const identity = identityOf(name, place);
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
    waiting: (session, pending) =>
      waitingApproval(store, () => loadView(store, session, pending.head), session, pending),
    nobodyWorks: async (seen) => ((await polls(seen.taskQueue)) ? null : describeNoWorker(seen, seen.session)),
  };
}

/**
 * One answer for all who ask while it is sought, and for some time after. One that failed is sought
 * again.
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

/** Without a slash at its end. Throws SetupProblem. */
function namedUi(env: Env): string | null {
  const set = env['PERDURE_TEMPORAL_UI']?.trim();
  if (!set) return null;
  const url = URL.canParse(set) ? new URL(set) : null;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new SetupProblem('PERDURE_TEMPORAL_UI is no address of a web page: give one such as http://127.0.0.1:8233');
  return `${url.origin}${basePath(url)}`;
}

/** Temporal notes the identity of a client with all that it sends. */
function clientOf({ temporal, target, embedded }: Opened, env: Env, identity: string): Acting {
  const { namespace, keys } = target;
  const { connection } = temporal;
  const named = new Client({ connection, namespace, identity, dataConverter: createClientConverter(keys) });
  const profile = embedded === null ? 'fleet' : 'machine';
  return createClient({ temporal: named, env, profile, sealed: keys !== undefined, by: identity });
}

/** Of an address, without a slash at its end. */
const basePath = ({ pathname }: URL): string =>
  pathname
    .split('/')
    .filter((part) => part !== '')
    .map((part) => `/${part}`)
    .join('');
