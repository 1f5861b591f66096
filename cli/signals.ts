// Ctrl-C and the signals of a system that wants the process gone, as values to wait for. Until
// `end`, they do not kill it.

export type Signals = {
  /** The first SIGINT. */
  readonly interrupt: AbortSignal;
  /** SIGTERM or SIGHUP: go, in good order. */
  readonly terminate: AbortSignal;
  /** The second SIGINT: go at once. */
  readonly abandon: AbortSignal;
  /** As a shell reports it: 128 and the number of the last signal. */
  status(): number;
  end(): void;
};

const numbers = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;
type Name = keyof typeof numbers;

type Source = Pick<NodeJS.Process, 'on' | 'off'>;

/** `kill` ends the process when someone insists while it is going already. */
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
