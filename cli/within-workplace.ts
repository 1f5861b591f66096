// Opens a workplace for a command, and leaves it as the signals ask.
import { personAt } from './arguments.ts';
import type { Cli } from './cli.ts';
import { listenForSignals, type Signals, openUnlessTold, waitForAbort } from './signals.ts';
import type { ChosenConfig, OpenWorkplace, Workplace } from '../client/faces/types.ts';
import { pause } from '../system/async.ts';
import { keepHeapSmall, WORKER_HEAP } from '../system/keep-heap-small.ts';
import { logToPerson } from './with-server.ts';

/** Milliseconds for leaving a server after a second Ctrl-C. */
const HURRY_MS = 3_000;

type WithinWorkplace = Pick<OpenWorkplace, 'anywhere' | 'beforeWork'> & {
  readonly chosen: ChosenConfig;
  /** The session's id, existing or new. */
  readonly session?: string | undefined;
  /** Source of signals; absent: the process. */
  readonly signals?: Parameters<typeof listenForSignals>[0];
};

/**
 * Returns the exit status of `work`, or of a signal that came before it could begin. Opens a
 * workplace for a command and leaves it as the signals ask.
 */
export async function withinWorkplace(
  cli: Cli,
  { signals: source = process, ...open }: WithinWorkplace,
  work: (workplace: Workplace, signals: Signals) => Promise<number>,
): Promise<number> {
  keepHeapSmall(WORKER_HEAP);
  const signals = listenForSignals(source, (status) => process.exit(status));
  const { openWorkplace } = await import('../client/faces/workplace.ts');
  const opening = openWorkplace({
    ...open,
    env: cli.env,
    say: sayProgress(cli),
    log: logToPerson(cli),
    ...personAt(cli),
  });
  const workplace = await openUnlessTold(signals, opening);
  if (workplace === null) return signals.status();
  try {
    return await work(workplace, signals);
  } finally {
    // Calls under way may finish, since they were paid for: otherwise another worker repeats them.
    await Promise.race([workplace.close(), inAHurry(signals, workplace)]);
    signals.end();
  }
}

/** Leaves out details, unless the person wants to know more. */
export function sayProgress({ say, verbose }: Cli): (line: string, isDetail?: true) => void {
  return (line, isDetail) => {
    if (!isDetail || verbose) say(line);
  };
}

async function inAHurry({ abandon }: Signals, workplace: Workplace): Promise<void> {
  await waitForAbort(abandon);
  await Promise.race([workplace.leave(), pause(HURRY_MS, new AbortController().signal)]);
}
