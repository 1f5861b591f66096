// A firing of a schedule (L87): a workflow that opens a session for it, or sends one that is there
// its next message.
import type { SessionId } from '../ids.ts';
import type { TerminalReason } from '../loop.ts';
import type { MessageBody } from '../people.ts';
import type { OptionChanges, SessionInput } from '../session.ts';

export const SCHEDULED_TYPE = 'perdure.scheduledPrompt';

/**
 * `open`: the input of a session of its own, and what its memo has from the start. `send`: to a
 * session that is there, with options from that run on.
 */
export type ScheduledInput = {
  /** The schedule's name. */
  readonly schedule: string;
  readonly body: MessageBody;
} & (
  | {
      readonly kind: 'open';
      readonly input: Omit<SessionInput, 'first' | 'until'>;
      readonly memo: Readonly<Record<string, unknown>>;
    }
  | { readonly kind: 'send'; readonly session: SessionId; readonly options?: OptionChanges }
);

/** `reason`: how the run ended; absent where a message was sent. */
export type Fired = { readonly session: SessionId; readonly reason?: TerminalReason };

/**
 * Whether the server's own schedule has started this firing (L87). `schedule`: its id at the
 * server. `begun`: when the firing did, in milliseconds since the epoch.
 */
export type LookAtFiring = { readonly schedule: string; readonly begun: number; readonly step: number };

/** `why`: a sentence without its full stop. */
export type FiringFound = { readonly due: true } | { readonly due: false; readonly why: string };

const FIRINGS = 'perdure.schedule.';

/** The schedule's id at the server, and the id that those of its firings begin with. */
export function scheduleId(name: string): string {
  return `${FIRINGS}${name}`;
}

/** The name of the schedule with this id; null for one that is not ours. */
export function scheduleName(id: string): string | null {
  const name = id.startsWith(FIRINGS) ? id.slice(FIRINGS.length) : '';
  return isScheduleName(name) ? name : null;
}

/** The end of its sessions' ids is the time: their 100 characters are not exceeded. */
export function isScheduleName(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$/.test(name);
}

/** Temporal appends the time that a firing was due, in UTC. No session's id has a colon. */
const FIRING = /^(perdure\.schedule\.(.+))-(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)$/;

/**
 * The schedule's id of a firing's workflow, and the id of the session that it opens. Null for any
 * other workflow.
 */
export function firingOf(workflowId: string): { readonly schedule: string; readonly session: SessionId } | null {
  const [, schedule, name, due] = FIRING.exec(workflowId) ?? [];
  if (schedule === undefined || due === undefined) return null;
  return { schedule, session: `${name}-${due.replaceAll(/[-:]/g, '')}` as SessionId };
}
