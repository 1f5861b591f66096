// Derives a session's status, pending calls, outcomes and end from its log and workflow (G25).
import type { SessionDescription } from '../client/faces/types.ts';
import { pendingOutcome } from './events/outcome-parts.ts';
import type { EventFact, Outcome, Projection } from './events/parts.ts';
import { terminatedFact } from './events/project.ts';
import type { SessionItem } from './log/stored.ts';
import type { SessionStatus } from './shapes/sessions.ts';

/** A session of the log. `description`: its workflow's, null before that was started. */
export type FoundSession = {
  readonly id: string;
  readonly item: SessionItem;
  readonly description: SessionDescription | null;
};

/** A call that waits for whom no event tells of is part of a running turn. */
export function statusOf({ item, description }: FoundSession): SessionStatus {
  if (item.archivedAt !== null) return 'terminated';
  if (description === null) return item.isStarted ? 'terminated' : 'idle';
  const { status, phase, unseen, waits = 0 } = description;
  if (status !== 'open' || phase === 'closed') return 'terminated';
  if (waits > 0 || isAtBudget({ description })) return 'idle';
  if (phase === 'parked') return 'rescheduling';
  return phase === 'idle' && !unseen ? 'idle' : 'running';
}

/** Whether all that a session at rest does is to take up the labels that it was just told. */
export const isTakingUpLabels = (before: SessionDescription | null, { description: after }: FoundSession): boolean =>
  before !== null &&
  !before.unseen &&
  after?.unseen === true &&
  before.phase === after.phase &&
  before.head === after.head;

/** Whether calls wait for a person or an app. */
export const isWaiting = ({ description }: FoundSession): boolean => (description?.waits ?? 0) > 0;

/** Whether the run under way waits at the session's budget. */
export const isAtBudget = ({ description }: Pick<FoundSession, 'description'>): boolean =>
  description?.status === 'open' && description.atBudget === true;

export type Extension = { readonly perdure?: { readonly phase: string; readonly waits_for?: string } };

/** Returns fields that the API lacks: the phase, and what the session waits for (G84). */
export function perdureFacts(description: SessionDescription | null): Extension {
  if (description === null) return {};
  const { phase, waitsFor } = description;
  return { perdure: { phase, ...(waitsFor !== undefined && { waits_for: waitsFor }) } };
}

/** All outcomes of a session; one that was sent and not taken up yet is the last. */
export function outcomesOf(found: FoundSession, { outcomes }: Pick<Projection, 'outcomes'>): readonly Outcome[] {
  const { outcome: sent } = found.item;
  const status = statusOf(found);
  if (!sent || status === 'idle' || status === 'terminated') return outcomes;
  const pending = pendingOutcome(sent.event, sent.description);
  return outcomes.some(({ id }) => id === pending.id) ? outcomes : [...outcomes, pending];
}

/** The end of a session whose transcript cannot tell it: without a workflow, or ended by force. */
export function endOutside({ id, item, description }: FoundSession, facts: readonly EventFact[]): readonly EventFact[] {
  const at = description === null ? item.archivedAt : description.closedAt;
  const isForced = description !== null && description.status !== 'open' && description.status !== 'cancelled';
  const isNeverRun = description === null && !item.isStarted;
  if (at === null || !(isForced || isNeverRun)) return [];
  return facts.at(-1)?.type === 'session.status_terminated' ? [] : [terminatedFact(id, at, facts.at(-1))];
}
