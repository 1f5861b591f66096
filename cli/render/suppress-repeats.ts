// Suppresses repeated facts. The entries that a step appends are told before its attempt has
// succeeded. If it dies, a retry or the call after a parking tells them again; they were true all
// along, and a person need not read them twice.
import { RecentMap } from '../../system/recent-map.ts';
import type { WatchedEvent } from '../../store/live/events.ts';

/**
 * Returns true for an event that an attempt told before it died. Must be called with each event, in
 * order.
 */
type IsRepeat = (event: WatchedEvent) => boolean;

/** Number of attempts that may still die, at least as many as calls run in parallel. */
const KEPT_TELLINGS = 64;

export function suppressRepeats(): IsRepeat {
  const byAttempt = new RecentMap<string, string[]>(KEPT_TELLINGS);
  const pending = new Set<string>();
  return (event) => {
    const attempt = `${event.step}.${event.attempt}`;
    if (event.type === 'tombstone') {
      for (const fact of byAttempt.get(attempt) ?? []) pending.add(fact);
      byAttempt.delete(attempt);
    }
    // The reply stores the pending entries.
    if (event.type === 'reply') pending.clear();
    const fact = factOf(event);
    if (fact === null) return false;
    byAttempt.set(attempt, [...(byAttempt.get(attempt) ?? []), fact]);
    return pending.delete(fact);
  };
}

function factOf(event: WatchedEvent): string | null {
  switch (event.type) {
    case 'user':
      return `user ${event.id}`;
    case 'transition':
      return `transition ${event.iteration}`;
    case 'steered':
      return `steered ${JSON.stringify(event.steered)}`;
    case 'notice':
      return `notice ${JSON.stringify(event.notice)}`;
    case 'microcompact':
      return `microcompact ${event.before}`;
    case 'collapse_committed':
      return `collapse_committed ${event.count}`;
    case 'snip':
      return `snip ${event.entries.join(' ')}`;
    default:
      return null;
  }
}
