// For commands that need a server and nobody who works: opens it, does the work, leaves.
import { type Log, formatLog } from '../system/log.ts';
import type { SessionId } from '../workflows/contract/ids.ts';
import type { Opened } from '../client/runtime/open-server.ts';
import { personAt, sessionArgument, sessionMeant } from './arguments.ts';
import type { Cli } from './cli.ts';
import { listenForSignals, type Signals } from './signals.ts';
import type { ChosenConfig } from '../client/runtime/session-workers.ts';
import type { OpenWorkplace, Workplace } from '../client/runtime/workplace.ts';
import { pause } from '../system/async.ts';

/** On a server that is not ours: a worker that just came up is not seen at once. */
const PATIENCE_MS = 3_000;
const LONG_MS = 3_000;

/** The exit status of `work`, or of a signal: then the server is left at once. */
export async function withServer(cli: Cli, work: (opened: Opened) => Promise<number>): Promise<number> {
  const signals = listenForSignals(process, (status) => process.exit(status));
  const { openServer } = await import('../client/runtime/open-server.ts');
  const opening = openServer({
    env: cli.env,
    role: 'command',
    worker: false,
    say: ifItTakesLong(cli),
    ...personAt(cli),
  });
  const opened = await openUnlessTold(signals, opening);
  if (opened === null) return signals.status();
  const told = waitForAbort(AbortSignal.any([signals.interrupt, signals.terminate]));
  const stopped = told.then(() => signals.status());
  const working = work(opened);
  // After a signal nobody waits for what it fails with.
  working.catch(() => undefined);
  try {
    return await Promise.race([working, stopped]);
  } finally {
    await opened.close();
    signals.end();
  }
}

/**
 * As withServer, with the session that `id` is the id of, or the beginning of its id. Throws
 * UsageError.
 */
export async function withSession(
  cli: Cli,
  id: string,
  work: (opened: Opened, session: SessionId) => Promise<number>,
): Promise<number> {
  const given = sessionArgument(id);
  return withServer(cli, async (opened) => work(opened, await sessionMeant(opened, given)));
}

/** Progress is worth a line only to someone who waits. */
function ifItTakesLong(cli: Cli): (line: string) => void {
  if (cli.verbose) return cli.say;
  const begun = Date.now();
  return (line) => void (Date.now() - begun > LONG_MS && cli.say(line));
}

/** The message is safe; a person has to know when nothing will come of it for now. */
export async function sayIfNobodyWorks(
  cli: Cli,
  { embedded, folder, temporal, sessions }: Opened,
  session: SessionId,
): Promise<void> {
  const workers = await sessions.describe(session);
  const { taskQueue, configuration } = workers;
  const { describeNoWorker: nobodyWorks } = await import('../client/sessions/worker-polls.ts');
  if (embedded !== null) {
    const { workersOf } = await import('../worker/embedded/members.ts');
    if (workersOf(folder, taskQueue).length > 0) return;
    if (configuration) return cli.say(nobodyWorks(workers, session));
    cli.say(
      `no worker runs: \`${cli.self} watch ${session}\` starts one and follows the session, \`${cli.self} worker\` starts one that stays`,
    );
    return;
  }
  const { waitForWorker } = await import('../client/sessions/worker-polls.ts');
  const signal = new AbortController().signal;
  const polled = await waitForWorker({ temporal: temporal.client, taskQueue }, PATIENCE_MS, signal);
  if (!polled) cli.say(nobodyWorks(workers, session));
}

// Opens a workplace for a command, and leaves it in the way the command was told to go.

/** Milliseconds for leaving a server when someone is in a hurry. */
const HURRY_MS = 3_000;

type WithinWorkplace = Pick<OpenWorkplace, 'anywhere' | 'beforeWork'> & {
  readonly chosen: ChosenConfig;
  /** That is there, or is begun under this id. */
  readonly session?: string | undefined;
  /** Where signals come from; absent: the process. */
  readonly signals?: Parameters<typeof listenForSignals>[0];
};

/** The exit status of `work`, or of the signal that came before it could begin. */
export async function withinWorkplace(
  cli: Cli,
  { signals: source = process, ...open }: WithinWorkplace,
  work: (workplace: Workplace, signals: Signals) => Promise<number>,
): Promise<number> {
  const signals = listenForSignals(source, (status) => process.exit(status));
  const { openWorkplace } = await import('../client/runtime/workplace.ts');
  const opening = openWorkplace({ ...open, env: cli.env, say: cli.say, log: saidLog(cli), ...personAt(cli) });
  const workplace = await openUnlessTold(signals, opening);
  if (workplace === null) return signals.status();
  try {
    return await work(workplace, signals);
  } finally {
    // Calls under way may finish, for they were paid for. Left undone, another worker makes them
    // again.
    await Promise.race([workplace.close(), inAHurry(signals, workplace)]);
    signals.end();
  }
}

async function inAHurry({ abandon }: Signals, workplace: Workplace): Promise<void> {
  await waitForAbort(abandon);
  await Promise.race([workplace.leave(), pause(HURRY_MS, new AbortController().signal)]);
}

/**
 * The log of a worker that goes with its command. Each line once: an activity that fails is tried
 * again and again, with the same words.
 */
export function saidLog(cli: Cli): Log {
  const said = new Set<string>();
  return (_, message, { attempt, ...fields } = {}) => {
    const line = formatLog(message, fields);
    if (said.has(line) && !cli.verbose) return;
    said.add(line);
    cli.say(attempt === undefined || !cli.verbose ? line : formatLog(message, { ...fields, attempt }));
  };
}

// Opening a server may take minutes when it has to be built first: whoever presses Ctrl-C does not
// wait for that.

/**
 * Milliseconds for what is nearly open to be left in good order. Else the next command takes it
 * over.
 */
const GRACE_MS = 1_000;

/** Null when a signal came first. */
export async function openUnlessTold<T extends { close(): Promise<void> }>(
  { interrupt, terminate }: Pick<Signals, 'interrupt' | 'terminate'>,
  opening: Promise<T>,
): Promise<T | null> {
  const told = AbortSignal.any([interrupt, terminate]);
  const first = await Promise.race([opening, waitForAbort(told)]);
  if (first !== undefined && !told.aborted) return first;
  const leaving = opening.then((opened) => opened.close());
  // Nobody waits any more for what it fails with.
  await Promise.race([leaving.catch(() => undefined), pause(GRACE_MS, new AbortController().signal)]);
  return null;
}

export function waitForAbort(signal: AbortSignal): Promise<undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined), { once: true }));
}
