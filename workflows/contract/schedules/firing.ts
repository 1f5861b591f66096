// A firing of a schedule (L87): a workflow that opens a session, or sends an existing one its next
// message.
import type { SessionId } from '../ids.ts';
import type { TerminalReason } from '../loop.ts';
import type { MessageBody } from '../people.ts';
import type { OptionChanges, SessionInput } from '../session.ts';

export const SCHEDULED_TYPE = 'perdure.scheduledPrompt';

/**
 * `open`: the input of a new session, and what its memo has from the start. `send`: to an existing
 * session, with options from that run on.
 */
export type ScheduledInput = {
  /** The schedule's name. */
  readonly schedule: string;
  readonly body: MessageBody;
  /** The facts for lists since the schedule was changed; its memo stays as it was created. */
  readonly about?: unknown;
} & (
  | {
      readonly kind: 'open';
      readonly input: Omit<SessionInput, 'first' | 'until'>;
      readonly memo: Readonly<Record<string, unknown>>;
    }
  | { readonly kind: 'send'; readonly session: SessionId; readonly options?: OptionChanges }
);

/** `reason`: how the run ended; absent where a message was sent. */
export type FiringResult = { readonly session: SessionId; readonly reason?: TerminalReason };

/**
 * Asks whether the server's own schedule has started this firing (L87). `schedule`: its id at the
 * server. `begun`: when the firing began, in milliseconds since the epoch.
 */
export type LookAtFiring = { readonly schedule: string; readonly begun: number; readonly step: number };

/** `why`: a sentence without its full stop. */
export type FiringFound = { readonly due: true } | { readonly due: false; readonly why: string };

const FIRINGS = 'perdure.schedule.';

/** Returns the schedule's id at the server, with which the ids of its firings begin. */
export function scheduleId(name: string): string {
  return `${FIRINGS}${name}`;
}

/** Returns the name of the schedule with this id; null for one that is not ours. */
export function scheduleName(id: string): string | null {
  const name = id.startsWith(FIRINGS) ? id.slice(FIRINGS.length) : '';
  return isScheduleName(name) ? name : null;
}

/**
 * Names are short enough for their sessions' ids, which end with the time and have at most 100
 * characters.
 */
export function isScheduleName(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$/.test(name);
}

/** Temporal appends the time that a firing was due, in UTC. A session's id has no colon. */
const FIRING = /^(perdure\.schedule\.(.+))-(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)$/;

/**
 * Returns the schedule's id of a firing's workflow, and the id of the session that it opens.
 * Returns null for any other workflow.
 */
export function firingOf(workflowId: string): { readonly schedule: string; readonly session: SessionId } | null {
  const [, schedule, name, due] = FIRING.exec(workflowId) ?? [];
  if (schedule === undefined || due === undefined) return null;
  return { schedule, session: `${name}-${due.replaceAll(/[-:]/g, '')}` as SessionId };
}
