// Turns Ctrl-C and termination signals into values to wait for. Until `end`, they do not kill the
// process. A server or workplace is opened unless one comes first: that may take minutes when a
// server does not answer.
import { pause } from '../system/async.ts';

export type Signals = {
  /** Aborts at the first SIGINT. */
  readonly interrupt: AbortSignal;
  /** Aborts at SIGTERM or SIGHUP: leave in good order. */
  readonly terminate: AbortSignal;
  /** Aborts at the second SIGINT: leave at once. */
  readonly abandon: AbortSignal;
  /** Returns the status as a shell reports it: 128 plus the number of the last signal. */
  status(): number;
  end(): void;
};

const numbers = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;
type Name = keyof typeof numbers;

type Source = Pick<NodeJS.Process, 'on' | 'off'>;

/**
 * Listens for signals. `kill` ends the process when a signal is repeated while it is already
 * leaving.
 */
export function listenForSignals(source: Source, kill: (status: number) => void): Signals {
  const interrupt = new AbortController();
  const terminate = new AbortController();
  const abandon = new AbortController();
  let last: Name = 'SIGINT';
  const on = (name: Name): void => {
    last = name;
    const again = abandon.signal.aborted || (name !== 'SIGINT' && terminate.signal.aborted);
    if (again) kill(128 + numbers[name]);
    else if (name !== 'SIGINT') terminate.abort();
    else if (interrupt.signal.aborted) abandon.abort();
    else interrupt.abort();
  };
  const names = Object.keys(numbers) as Name[];
  for (const name of names) source.on(name, on);
  return {
    interrupt: interrupt.signal,
    terminate: terminate.signal,
    abandon: abandon.signal,
    status: () => 128 + numbers[last],
    end: () => {
      for (const name of names) source.off(name, on);
    },
  };
}

/**
 * Milliseconds for closing a server that is nearly open. Otherwise the next command takes it over.
 */
const GRACE_MS = 1_000;

/**
 * Returns null when a signal came first: opening may take minutes if the server has to be built,
 * and Ctrl-C must not wait for that.
 */
export async function openUnlessTold<T extends { close(): Promise<void> }>(
  { interrupt, terminate }: Pick<Signals, 'interrupt' | 'terminate'>,
  opening: Promise<T>,
): Promise<T | null> {
  const signal = AbortSignal.any([interrupt, terminate]);
  const first = await Promise.race([opening, waitForAbort(signal)]);
  if (first !== undefined && !signal.aborted) return first;
  const leaving = opening.then((opened) => opened.close());
  // The failure no longer matters.
  await Promise.race([leaving.catch(() => undefined), pause(GRACE_MS, new AbortController().signal)]);
  return null;
}

export function waitForAbort(signal: AbortSignal): Promise<undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined), { once: true }));
}
