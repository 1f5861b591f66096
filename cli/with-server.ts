// Opens a server for commands that need no worker, does the work, and leaves.
import { type Log, formatLog } from '../system/log.ts';
import type { MessageId, SessionId, OpenedServer } from '../client/faces/types.ts';
import { personAt, sessionArgument, sessionMeant } from './arguments.ts';
import type { Cli } from './cli.ts';
import { listenForSignals, openUnlessTold, waitForAbort } from './signals.ts';

/** Time for a worker that has just started on a server that is not ours to become visible. */
const PATIENCE_MS = 3_000;
const LONG_MS = 3_000;

/** Returns the exit status of `work`, or of a signal, after which the server is left at once. */
export async function withServer(cli: Cli, work: (opened: OpenedServer) => Promise<number>): Promise<number> {
  const signals = listenForSignals(process, (status) => process.exit(status));
  const { openWholeServer } = await import('../client/faces/servers.ts');
  const opening = openWholeServer({
    env: cli.env,
    role: 'command',
    worker: false,
    say: ifItTakesLong(cli),
    ...personAt(cli),
  });
  const opened = await openUnlessTold(signals, opening);
  if (opened === null) return signals.status();
  const interruption = waitForAbort(AbortSignal.any([signals.interrupt, signals.terminate]));
  const stopped = interruption.then(() => signals.status());
  const working = work(opened);
  // After a signal its failure no longer matters.
  working.catch(() => undefined);
  try {
    return await Promise.race([working, stopped]);
  } finally {
    await opened.close();
    signals.end();
  }
}

/**
 * Works like withServer, on the session whose id, or beginning of an id, is `id`. Throws
 * UsageError.
 */
export async function withSession(
  cli: Cli,
  id: string,
  work: (opened: OpenedServer, session: SessionId) => Promise<number>,
): Promise<number> {
  const argument = sessionArgument(id);
  return withServer(cli, async (opened) => work(opened, await sessionMeant(opened, argument)));
}

/** Says progress only after a while, to a person who waits, and details only with --verbose. */
function ifItTakesLong(cli: Cli): (line: string, isDetail?: true) => void {
  if (cli.verbose) return cli.say;
  const beganAt = Date.now();
  return (line, isDetail) => void (Date.now() - beganAt > LONG_MS && !isDetail && cli.say(line));
}

/** Says at a terminal how to follow a sent message; a program gets its id. */
export function showSent(
  cli: Pick<Cli, 'isTerminal' | 'print' | 'self'>,
  session: SessionId,
  messageId: MessageId,
): void {
  cli.print(cli.isTerminal ? `Sent. Follow with \`${cli.self} watch ${session}\`.\n` : `${messageId}\n`);
}

/** Tells a person that the message is safe but that no worker will act on it for now. */
export async function sayIfNobodyWorks(
  cli: Cli,
  { embedded, folder, temporal, sessions }: OpenedServer,
  session: SessionId,
): Promise<void> {
  const workers = await sessions.describe(session);
  const { taskQueue, configuration } = workers;
  const { describeNoWorker: nobodyWorks } = await import('../client/faces/sessions.ts');
  if (embedded !== null) {
    const { workersOf } = await import('../client/faces/servers.ts');
    if (workersOf(folder, taskQueue).length > 0) return;
    if (configuration) return cli.say(nobodyWorks(workers, session));
    cli.say(
      `no worker runs: \`${cli.self} watch ${session}\` starts one and follows the session, \`${cli.self} worker\` starts one that stays`,
    );
    return;
  }
  const { waitForWorker } = await import('../connection/worker-polls.ts');
  const signal = new AbortController().signal;
  const polled = await waitForWorker({ temporal: temporal.client, taskQueue }, PATIENCE_MS, signal);
  if (!polled) cli.say(nobodyWorks(workers, session));
}

/**
 * Makes the log of a worker that ends with its command. Each line appears once, since a failing
 * activity repeats its words.
 */
export function logToPerson(cli: Cli): Log {
  const printed = new Set<string>();
  return (_, message, { attempt, ...fields } = {}) => {
    const line = formatLog(message, fields);
    if (printed.has(line) && !cli.verbose) return;
    printed.add(line);
    cli.say(attempt === undefined || !cli.verbose ? line : formatLog(message, { ...fields, attempt }));
  };
}
