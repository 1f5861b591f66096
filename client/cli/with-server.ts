// For commands that need a server and nobody who works: opens it, does the work, leaves.
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { Opened } from '../connect/open-server.ts';
import type { Cli } from './cli.ts';
import { aborted, openUnlessTold } from './opening.ts';
import { listenForSignals } from './signals.ts';

/** On a server that is not ours: a worker that just came up is not seen at once. */
const PATIENCE_MS = 3_000;
const LONG_MS = 3_000;

/** The exit status of `work`, or of a signal: then the server is left at once. */
export async function withServer(cli: Cli, work: (opened: Opened) => Promise<number>): Promise<number> {
  const signals = listenForSignals(process, (status) => process.exit(status));
  const { openServer } = await import('../connect/open-server.ts');
  const opening = openServer({ env: cli.env, role: 'command', worker: false, say: ifItTakesLong(cli) });
  const opened = await openUnlessTold(signals, opening);
  if (opened === null) return signals.status();
  const told = aborted(AbortSignal.any([signals.interrupt, signals.terminate]));
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

/** Progress is worth a line only to someone who waits. */
function ifItTakesLong(cli: Cli): (line: string) => void {
  if (cli.verbose) return cli.say;
  const begun = Date.now();
  return (line) => void (Date.now() - begun > LONG_MS && cli.say(line));
}

/** What was sent is safe; a person has to know when nothing will come of it for now. */
export async function sayIfNobodyWorks(
  cli: Cli,
  { embedded, folder, temporal, sessions }: Opened,
  session: SessionId,
): Promise<void> {
  const workers = await sessions.describe(session);
  const { taskQueue, configuration } = workers;
  const { nobodyWorks } = await import('../connect/worker-polls.ts');
  if (embedded !== null) {
    const { workersOf } = await import('../../worker/embedded/members.ts');
    if (workersOf(folder, taskQueue).length > 0) return;
    if (configuration) return cli.say(nobodyWorks(workers, session));
    cli.say(
      `no worker runs: \`${cli.self} watch ${session}\` starts one and follows the session, \`${cli.self} worker\` starts one that stays`,
    );
    return;
  }
  const { waitForWorker } = await import('../connect/worker-polls.ts');
  const signal = new AbortController().signal;
  const polled = await waitForWorker({ temporal: temporal.client, taskQueue }, PATIENCE_MS, signal);
  if (!polled) cli.say(nobodyWorks(workers, session));
}
