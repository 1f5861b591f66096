// What is on its way when its sender leaves has a while to arrive: the server may be gone, or the worker that would answer.
import { setImmediate as turn } from 'node:timers/promises';
import { reasonOf } from '../worker/embedded/setup-problem.ts';
import { pause } from './pause.ts';

/** Milliseconds: the server, or a worker, was asked once and could have answered. */
const LEAVING_MS = 10_000;

/** What `sent` resolves to; `late` when that takes longer, or someone is in a hurry. */
export async function inTime<T>(sent: Promise<T>, late: T, hurry?: AbortSignal, ms = LEAVING_MS): Promise<T> {
  const over = new AbortController();
  const enough = hurry ? AbortSignal.any([over.signal, hurry]) : over.signal;
  try {
    return await Promise.race([sent, isOver(ms, enough).then(() => late)]);
  } finally {
    over.abort();
  }
}

/** Null when it arrived; a sentence when it may not have. */
export async function arrival(what: string, sent: Promise<unknown>): Promise<string | null> {
  const why = sent.then(
    () => null,
    (error: unknown) => reasonOf(error),
  );
  const problem = await inTime(why, 'nobody has answered');
  return problem && `${what} may not have arrived: ${problem}`;
}

/** What has arrived already is not late, however great the hurry. */
async function isOver(ms: number, enough: AbortSignal): Promise<void> {
  await pause(ms, enough);
  await turn();
}
