// Opens a workplace for a command, and leaves it in the way the command was told to go.
import type { ChosenConfig } from '../connect/session-workers.ts';
import type { OpenWorkplace, Workplace } from '../connect/workplace.ts';
import { pause } from '../async.ts';
import type { Cli } from './cli.ts';
import { aborted, openUnlessTold } from './opening.ts';
import { listenForSignals, type Signals } from './signals.ts';

/** Milliseconds for leaving a server when someone is in a hurry. */
const HURRY_MS = 3_000;

export type WithinWorkplace = Pick<OpenWorkplace, 'anywhere' | 'beforeWork'> & {
  readonly chosen: ChosenConfig;
  /** That is there, or is begun under this id. */
  readonly session?: string | undefined;
};

/** The exit status of `work`, or of the signal that came before it could begin. */
export async function withinWorkplace(
  cli: Cli,
  open: WithinWorkplace,
  work: (workplace: Workplace, signals: Signals) => Promise<number>,
): Promise<number> {
  const signals = listenForSignals(process, (status) => process.exit(status));
  const { openWorkplace } = await import('../connect/workplace.ts');
  const opening = openWorkplace({ ...open, env: cli.env, say: cli.say, warn: warnings(cli) });
  const workplace = await openUnlessTold(signals, opening);
  if (workplace === null) return signals.status();
  try {
    return await work(workplace, signals);
  } finally {
    // What is under way may finish, for it was paid for. Left undone, another worker does it again.
    await Promise.race([workplace.close(), inAHurry(signals, workplace)]);
    signals.end();
  }
}

async function inAHurry({ abandon }: Signals, workplace: Workplace): Promise<void> {
  await aborted(abandon);
  await Promise.race([workplace.leave(), pause(HURRY_MS, new AbortController().signal)]);
}

/** Each once: an activity that fails is tried again and again, with the same words. */
export function warnings(cli: Cli): (line: string) => void {
  const said = new Set<string>();
  return (line) => {
    if (said.has(line) && !cli.verbose) return;
    said.add(line);
    cli.say(line);
  };
}
