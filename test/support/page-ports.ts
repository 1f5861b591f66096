// The page without a server: sessions as a test says they stand, transcripts in memory, a live
// channel that says what it is given.
import type { ChannelItem } from '../../store/live/events.ts';
import type { Entry } from '../../store/log/entries.ts';
import { memoryStore } from './memory-store.ts';
import { ownAccess } from '../../page/hosting/access.ts';
import { newPass } from '../../page/hosting/passes.ts';
import { fleetHistorian } from '../../page/fleet/fleet-history.ts';
import { type MountApp, OpsPage } from '../../page/page-app.tsx';
import type { PagePorts } from '../../page/ports.ts';
import { noRecentRequests } from '../../client/sessions/history/recent.ts';
import { ClientProblem } from '../../client/problem.ts';
import type { ScheduleInfo } from '../../client/schedules/schedules.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { SessionDescription } from '../../client/sessions/info.ts';
import { createMailbox } from '../../client/async.ts';
import { description } from '../client/support.ts';
import { stored } from './transcript.ts';

export const PAGE_HOST = 'perdure-1a2b.localhost:4567';

export type Asked = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
};

export type Staged = {
  readonly entries?: readonly Entry[];
  readonly seen?: Partial<SessionDescription>;
  readonly ports?: Partial<PagePorts>;
};

export const noSessions = { running: 0, waiting_worker: 0, waiting_approval: 0, parked: 0, idle: 0, closed: 0 };

async function* noEvents(): AsyncGenerator<never> {}

export const nightly: ScheduleInfo = {
  name: 'nightly',
  cron: '0 6 * * 1',
  timeZone: 'UTC',
  title: 'Look for news.',
  session: null,
  overlap: 'skip',
  configuration: null,
  paused: false,
  next: 60_000,
  coming: [60_000, 120_000],
  firings: [{ session: 'nightly-19700101T000000Z' as SessionId, at: 0 }],
  catchUpMs: 86_400_000,
  clockChanges: [],
  skipped: 0,
  waitsForWorker: false,
  taskQueue: 'perdure',
};

const noSchedules = (noted: (what: string) => () => Promise<never>): PagePorts['schedules'] => ({
  list: () => noEvents(),
  describe: (name) =>
    name === 'nightly'
      ? Promise.resolve(nightly)
      : Promise.reject(new ClientProblem('no_schedule', `no schedule ${name}`)),
  create: noted('schedules.create'),
  settings: ({ length }) =>
    Promise.resolve({ ...nightly, task: 'Look for news.', options: { cwd: '/work', maxTurns: length } }),
  update: noted('schedules.update'),
  pause: noted('schedules.pause'),
  resume: noted('schedules.resume'),
  delete: noted('schedules.delete'),
  trigger: () => noted('schedules.trigger')().then(() => ({ outcome: 'started', session: 's-1' as SessionId })),
});

/** The session is `s-1`; there is no other. */
export async function stagedPorts({ entries = [], seen = {}, ports = {} }: Staged = {}) {
  const store = memoryStore();
  const view = await stored(store, ...(entries.length > 0 ? [entries] : []));
  const described = description({ phase: 'idle', runs: 1, head: view.head, ...seen });
  const live = createMailbox<ChannelItem>();
  const done: string[] = [];
  const noted = (what: string) => (): Promise<never> => {
    done.push(what);
    return Promise.resolve(undefined as never);
  };
  const all: PagePorts = {
    page: () => Promise.resolve({ sessions: [described], next: null }),
    running: () => Promise.resolve(new Map()),
    fleet: fleetHistorian({
      count: () => Promise.resolve(0),
      prometheus: null,
      startedSince: () => Promise.resolve([]),
    }),
    counts: () => Promise.resolve({ ...noSessions, [described.phase]: 1 }),
    describe: (id) =>
      id === 's-1' ? Promise.resolve(described) : Promise.reject(new ClientProblem('no_session', `no session ${id}`)),
    health: () =>
      Promise.resolve({
        server: { ms: 4 },
        store: { ms: 9 },
        workers: 1,
        commands: { confined: 1, refused: 0, unconfined: 0 },
        snapshots: { bytes: 0, diskBytes: 1_000, isFull: false },
      }),
    beats: () => Promise.resolve(null),
    pollers: () => Promise.resolve([{ identity: '1@host', seen: 0 }]),
    lastDecision: () => Promise.resolve(null),
    strayedCount: () => Promise.resolve(0),
    scheduleCount: () => Promise.resolve(0),
    recent: () => Promise.resolve(noRecentRequests),
    startOptions: () => Promise.resolve({ cwd: '/work', maxTurns: 7 }),
    head: () => Promise.resolve(view.head),
    live: () => live,
    waiting: (session, pending) => Promise.resolve({ ...pending, session, input: { path: 'a.txt' } }),
    said: () => Promise.resolve(''),
    file: () => Promise.resolve({ kind: 'new' }),
    as: () => all,
    temporalUi: () => null,
    steps: () => Promise.resolve([]),
    nobodyWorks: () => Promise.resolve(null),
    read: () => Promise.reject(new Error('nothing to read here')),
    inbox: () => Promise.resolve([]),
    approvals: () => Promise.resolve([]),
    start: noted('start'),
    fork: (id, { at } = {}) => {
      done.push(`fork ${String(at)}`);
      const forkedFrom = { session: id as SessionId, position: Number(at ?? 0) };
      return Promise.resolve({
        session: 's-2' as SessionId,
        forkedFrom,
        cwd: '/work-s-2',
        files: true,
        messageId: null,
      });
    },
    snip: noted('snip'),
    rewind: () => noted('rewind')().then(() => ({}) as never),
    undoRewind: () => noted('undoRewind')().then(() => ({}) as never),
    move: () => noted('move')().then(() => ({ kind: 'later' }) as const),
    follow: () => noEvents(),
    result: () => Promise.resolve(null),
    transcript: () => noEvents(),
    files: () => Promise.resolve([]),
    diff: () => Promise.resolve({ files: [], patch: '' }),
    diffOf: () => Promise.resolve({ files: [], patch: '' }),
    send: noted('send'),
    askAside: noted('askAside'),
    answer: noted('answer'),
    interrupt: noted('interrupt'),
    resume: noted('resume'),
    cancel: noted('cancel'),
    approve: noted('approve'),
    deny: noted('deny'),
    topUp: noted('topUp'),
    changeRules: noted('changeRules'),
    setOptions: noted('setOptions'),
    background: () => ({
      read: () => Promise.resolve(null),
      lastOf: () => Promise.resolve(Buffer.alloc(0)),
    }),
    schedules: noSchedules(noted),
    store,
    ...ports,
  };
  return { ports: all, live, done };
}

/** Of the page of a test. */
export const SECRETS = { key: 'k'.repeat(32), apiToken: 'secret', run: 'r'.repeat(32) };

/** What a browser of this machine sends once it was let in. */
export const basic = (pass: string): string => `Basic ${Buffer.from(`perdure:${pass}`).toString('base64')}`;

/** `key`: the page's, or the token of a person. */
export const letInWith = (key: string): string => basic(newPass(key, PAGE_HOST.replace(/:\d+$/, '')));

export async function stagedPage(staged: Staged = {}, access = ownAccess(SECRETS, () => PAGE_HOST), mount?: MountApp) {
  const { ports, live, done } = await stagedPorts(staged);
  const page = new OpsPage(ports, access, mount);
  const ask = (path: string, { method = 'GET', headers = {}, body }: Asked = {}) =>
    page.app.request(path, {
      method,
      headers: { host: PAGE_HOST, authorization: letInWith(SECRETS.key), ...headers },
      ...(body === undefined ? {} : { body }),
    });
  return {
    ask,
    page,
    ports,
    live,
    /** The actions that reached the session. */
    done,
    text: async (path: string): Promise<string> => (await ask(path)).text(),
    /** As the page itself posts. */
    post: (path: string, value: unknown, headers: Readonly<Record<string, string>> = {}) =>
      ask(path, {
        method: 'POST',
        headers: { origin: `http://${PAGE_HOST}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(value),
      }),
  };
}
