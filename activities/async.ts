// Foreign code that may not heed its signal: it is waited for until then, and no longer.
import { ApplicationFailure } from '@temporalio/common';
import { z } from 'zod';
import type { Attempt, Body } from './attempt.ts';
import { isForAnotherWorker } from './guards.ts';

/** What `run` comes to; rejects with the signal's reason once that is aborted, whatever `run` does. */
export async function untilAborted<Value>(signal: AbortSignal, run: () => Value | Promise<Value>): Promise<Value> {
  let give = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    give = () => reject(signal.reason as Error);
    if (signal.aborted) give();
    else signal.addEventListener('abort', give, { once: true });
  });
  try {
    return await Promise.race([Promise.resolve().then(run), aborted]);
  } finally {
    signal.removeEventListener('abort', give);
  }
}

// Activities beside the loop are tried a few times only. What an attempt leaves to another worker is no try.

/** `tries`: begun so far. `left`: what the body remembered; JSON has no place for undefined. */
const countSchema = z.object({ tries: z.number(), left: z.unknown().optional() });

/**
 * An attempt counts from its first heartbeat, at once when there was one before it: so there may be one more than `most`, but a body
 * that kills its worker is not begun for ever. Throws what cannot be retried when they are spent.
 */
export function atMost<Input, Output>(most: number, body: Body<Input, Output>): Body<Input, Output> {
  return async (attempt, input) => {
    const counted = countSchema.safeParse(attempt.remembered);
    const before = counted.success ? counted.data : { tries: 0, left: undefined };
    if (before.tries >= most) {
      const message = `tried ${most} times, and each ended without a result`;
      throw ApplicationFailure.create({ type: 'TriesSpent', message, nonRetryable: true });
    }
    const tries = before.tries + 1;
    let { left } = before;
    const remember: Attempt['remember'] = (details, when) => {
      left = details;
      attempt.remember({ tries, left }, when);
    };
    remember(left, attempt.number > 1 ? 'now' : undefined);
    try {
      return await body({ ...attempt, remembered: before.left, remember }, input);
    } catch (error) {
      attempt.remember({ tries: isForAnotherWorker(error) ? before.tries : tries, left }, 'now');
      throw error;
    }
  };
}

// At most `max` of something at once; the rest wait in line.

type Limit = <T>(run: () => Promise<T>) => Promise<T>;

export function createLimit(max: number): Limit {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (run) => {
    if (running >= max) await new Promise<void>((go) => waiting.push(go));
    else running += 1;
    try {
      return await run();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
