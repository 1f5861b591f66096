// Opening a server may take minutes when it has to be built first: whoever presses Ctrl-C does not wait for that.
import { pause } from '../async.ts';
import type { Signals } from './signals.ts';

/** Milliseconds for what is nearly open to be left in good order. Else the next command takes it over. */
const GRACE_MS = 1_000;

/** Null when a signal came first. */
export async function openUnlessTold<T extends { close(): Promise<void> }>(
  { interrupt, terminate }: Pick<Signals, 'interrupt' | 'terminate'>,
  opening: Promise<T>,
): Promise<T | null> {
  const told = AbortSignal.any([interrupt, terminate]);
  const first = await Promise.race([opening, aborted(told)]);
  if (first !== undefined && !told.aborted) return first;
  const leaving = opening.then((opened) => opened.close());
  // Nobody waits any more for what it fails with.
  await Promise.race([leaving.catch(() => undefined), pause(GRACE_MS, new AbortController().signal)]);
  return null;
}

export function aborted(signal: AbortSignal): Promise<undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined), { once: true }));
}
