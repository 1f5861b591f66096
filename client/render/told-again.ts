// What a step appends to the transcript is told before its attempt has come to anything. When that one dies, a retry or the call
// after a parking tells it again: it was true all the time, and a person need not read it twice.
import type { Watched } from '../../activities/live/events.ts';

/** True for what was told already, by an attempt that died. To be asked about each event, in order. */
export type ToldAgain = (event: Watched) => boolean;

/** Attempts that may still die; as many calls may run beside each other, and more. */
const KEPT = 64;

export function toldAgain(): ToldAgain {
  const byAttempt = new Map<string, string[]>();
  const pending = new Set<string>();
  return (event) => {
    const attempt = `${event.step}.${event.attempt}`;
    if (event.type === 'tombstone') {
      for (const fact of byAttempt.get(attempt) ?? []) pending.add(fact);
      byAttempt.delete(attempt);
    }
    // What was pending is stored with it.
    if (event.type === 'reply') pending.clear();
    const fact = factOf(event);
    if (fact === null) return false;
    byAttempt.set(attempt, [...(byAttempt.get(attempt) ?? []), fact]);
    const [oldest] = byAttempt.keys();
    if (byAttempt.size > KEPT && oldest !== undefined) byAttempt.delete(oldest);
    return pending.delete(fact);
  };
}

function factOf(event: Watched): string | null {
  switch (event.type) {
    case 'user':
      return `user ${event.id}`;
    case 'transition':
      return `transition ${event.iteration}`;
    case 'notice':
      return `notice ${JSON.stringify(event.notice)}`;
    default:
      return null;
  }
}
