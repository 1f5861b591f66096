// What numbers of sessions take, computed from what one turn, one run and one session were measured
// to take. docs/capacity.md has these tables: a test compares them. Pure.
import { formatSize } from '../client/units.ts';

/** Costs of one turn with a call that writes a file, or of a run beside its turns. */
type Costs = {
  readonly historyEvents: number;
  readonly historyBytes: number;
  /** As Temporal Cloud bills them. */
  readonly actions: number;
  /** Of the embedded server. */
  readonly databaseBytes: number;
  /** As a bucket has them: values lie in the record of their step, and under their own names. */
  readonly storeBytes: number;
  readonly storeObjects: number;
  readonly workerMs: number;
  readonly serverMs: number;
};

/** Measured by `npm run bench -- units`. */
const TURN: Costs = {
  historyEvents: 6.2,
  historyBytes: 1_760,
  actions: 1,
  databaseBytes: 5_800,
  storeBytes: 4_050,
  storeObjects: 3,
  workerMs: 27,
  serverMs: 17,
};
const RUN: Costs = {
  historyEvents: 30,
  historyBytes: 8_000,
  actions: 7,
  databaseBytes: 8_500,
  storeBytes: 31_400,
  storeObjects: 4,
  workerMs: 77,
  serverMs: 88,
};
/** Bytes that a Redis keeps of a step whose reply comes in 100 pieces. */
const LIVE_BYTES = 13_100;

/** What a session has had so far, and how many turns of it make a run. */
const LIFE = { runs: 5, turns: 50 } as const;
const TURNS_A_RUN = LIFE.turns / LIFE.runs;

const SIZES = [1_000, 100_000, 1_000_000] as const;

type Mix = { readonly name: string; readonly turnsAnHour: number };

/** By turns of each session an hour. One that waits for a person takes what an idle one takes. */
const MIXES: readonly Mix[] = [
  { name: 'idle, or waiting', turnsAnHour: 0 },
  { name: 'a run a day', turnsAnHour: TURNS_A_RUN / 24 },
  { name: 'working, 20 turns an hour', turnsAnHour: 20 },
];

/** Costs of a turn with its share of its run. */
const shareOf = (cost: keyof Costs): number => TURN[cost] + RUN[cost] / TURNS_A_RUN;
const lifeOf = (cost: keyof Costs): number => LIFE.turns * TURN[cost] + LIFE.runs * RUN[cost];

/** The share of its one core that a worker's main thread is planned for. */
const WORKER_LOAD = 0.7;

const DAY_S = 86_400;
const MONTH_S = 30 * DAY_S;

/** The tables of the page, in its order. */
export function planTables(): string {
  return [unitTable(), storedTable(), flowTable(), limitTable()].join('\n\n');
}

const UNITS: readonly (readonly [name: string, cost: keyof Costs, render: (value: number) => string])[] = [
  ['events of the history', 'historyEvents', count],
  ['bytes of the history', 'historyBytes', count],
  ['actions, as Temporal Cloud bills them', 'actions', count],
  ['bytes of the embedded server’s database', 'databaseBytes', count],
  ['objects in a bucket', 'storeObjects', count],
  ['bytes in a bucket', 'storeBytes', count],
  ['CPU of the worker', 'workerMs', (ms) => `${count(ms)} ms`],
  ['CPU of the embedded server', 'serverMs', (ms) => `${count(ms)} ms`],
];

function unitTable(): string {
  const rows = UNITS.map(([name, cost, render]) => [name, render(TURN[cost]), render(RUN[cost])]);
  const live = ['bytes of a Redis, for a reply of 100 pieces', count(LIVE_BYTES), ''];
  return table(['what', 'a turn', 'a run, beside its turns'], [...rows, live]);
}

function storedTable(): string {
  const row = (name: string, render: (sessions: number) => string): string[] => [name, ...SIZES.map(render)];
  const size = (cost: keyof Costs) => (sessions: number) => sizeOf(sessions * lifeOf(cost));
  return table(
    ['stored', ...SIZES.map((sessions) => `${count(sessions)} sessions`)],
    [
      row('history at the Temporal server', size('historyBytes')),
      row('the embedded server’s database', size('databaseBytes')),
      row('objects in a bucket', (sessions) => round(sessions * lifeOf('storeObjects'))),
      row('bytes in a bucket', size('storeBytes')),
      row('a Redis, each session with the words of one run', (sessions) => sizeOf(sessions * TURNS_A_RUN * LIVE_BYTES)),
    ],
  );
}

function flowTable(): string {
  const heads = [
    'each session',
    'sessions',
    'turns a second',
    'actions a second',
    '… a month',
    'bucket writes a second',
  ];
  const rows = MIXES.filter(({ turnsAnHour }) => turnsAnHour > 0).flatMap(({ name, turnsAnHour }) =>
    SIZES.map((sessions) => flowRow(name, sessions, (sessions * turnsAnHour) / 3_600)),
  );
  const idle = MIXES.filter(({ turnsAnHour }) => turnsAnHour === 0).map(({ name }) => [
    name,
    'any',
    ...Array<string>(7).fill('0'),
  ]);
  return table([...heads, 'bucket bytes a day', 'workers', 'cores for the embedded server'], [...idle, ...rows]);
}

function flowRow(name: string, sessions: number, turns: number): readonly string[] {
  const cores = (cost: 'workerMs' | 'serverMs'): number => (turns * shareOf(cost)) / 1_000;
  return [
    name,
    count(sessions),
    round(turns),
    round(turns * shareOf('actions')),
    round(turns * shareOf('actions') * MONTH_S),
    round(turns * shareOf('storeObjects')),
    sizeOf(turns * shareOf('storeBytes') * DAY_S),
    count(Math.ceil(cores('workerMs') / WORKER_LOAD)),
    round(cores('serverMs')),
  ];
}

/** Turns a second that something carries. */
type Limit = { readonly what: string; readonly turns: number; readonly remedy: string };

const BOTH_MS = shareOf('workerMs') + shareOf('serverMs');

/** `3,500 writes` and `500 actions` are published by their services. */
const LIMITS: readonly Limit[] = [
  {
    what: 'two cores with the embedded server and one worker',
    turns: 2_000 / BOTH_MS,
    remedy: 'a Temporal cluster, and workers on machines of their own',
  },
  {
    what: 'one worker process: its main thread has one core',
    turns: 1_000 / shareOf('workerMs'),
    remedy: 'more workers: each session needs only one that polls its queue',
  },
  {
    what: 'one worker with its 100 activities at once, where a reply takes 10 s',
    turns: 100 / 10,
    remedy: '`maxConcurrentActivities`, up to 1,000, or more workers',
  },
  {
    what: 'a namespace of Temporal Cloud that begins at 500 actions a second',
    turns: 500 / shareOf('actions'),
    remedy: 'it rises with use; several namespaces, each with a store',
  },
  {
    what: 'a prefix of Amazon S3, at 3,500 writes a second',
    turns: 3_500 / shareOf('storeObjects'),
    remedy: 'S3 splits prefixes as they grow; names begin with a hash or a session’s id',
  },
];

function limitTable(): string {
  const sessions = (turns: number, { turnsAnHour }: Mix): string => round((turns * 3_600) / turnsAnHour);
  const mixes = MIXES.filter(({ turnsAnHour }) => turnsAnHour > 0);
  const rows = LIMITS.toSorted((one, other) => one.turns - other.turns).map(({ what, turns, remedy }) => [
    what,
    round(turns),
    ...mixes.map((mix) => sessions(turns, mix)),
    remedy,
  ]);
  return table(['what gives', 'turns a second', ...mixes.map(({ name }) => `sessions: ${name}`), 'then'], rows);
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(heads), `|${'---|'.repeat(heads.length)}`, ...rows.map(line)].join('\n');
}

function count(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: 1 });
}

/** Two digits say all that such a number knows. */
function round(value: number): string {
  return value.toLocaleString('en', { maximumSignificantDigits: 2 });
}

function sizeOf(bytes: number): string {
  if (bytes >= 1e12) return `${round(bytes / 1e12)} TB`;
  const digits = Number(bytes.toPrecision(2));
  return formatSize(digits).replace('.0 ', ' ');
}
