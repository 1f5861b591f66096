// Opens a server or workplace unless a signal comes first. Opening may take minutes when a server
// has to be built, and Ctrl-C must not wait for that.
import type { Signals } from './signals.ts';
import { pause } from '../system/async.ts';

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
