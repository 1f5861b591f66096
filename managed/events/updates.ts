// Changes of a session as events (G27): from the transcript where the session has one, and before
// its first message from the log.
import { isDeepStrictEqual } from 'node:util';
import type { SteeringRecord } from '../../client/faces/types.ts';
import { budgetOf, budgetOfUsd } from '../budgets.ts';
import { eventId, formatMicros } from '../ids.ts';
import type { SessionItem, SessionUpdate } from '../log/stored.ts';
import { type EventFact, type Part, partId, type Projection, type Step } from './parts.ts';

const type = 'session.updated';

/** Returns null where what a person has set leaves everything that is told as it was. */
export const updateOf = (projection: Projection, steered: SteeringRecord): Step | null =>
  budgetUpdate(projection, steered) ?? labelsUpdate(projection, steered);

function budgetUpdate(projection: Projection, { changes = {} }: SteeringRecord): Step | null {
  const { sessionBudgetUsd: budgetUsd } = changes;
  if (budgetUsd === undefined || budgetUsd === projection.budgetUsd) return null;
  const budget = budgetOfUsd(budgetUsd);
  const id = partId(projection, projection.position, 'updated');
  return { parts: [{ id, type, make: (about) => ({ ...about, type, budget }) }], next: { budgetUsd } };
}

/** A change that was sent twice is told once. */
function labelsUpdate(projection: Projection, { labels }: SteeringRecord): Step | null {
  if (labels === undefined) return null;
  const known = projection.labels;
  const isNew = labels.title !== undefined && labels.title !== known.title;
  const hasMetadata = labels.metadata !== undefined && !isDeepStrictEqual(labels.metadata, known.metadata);
  if (!isNew && !hasMetadata) return null;
  const told = { ...(isNew && { title: labels.title }), ...(hasMetadata && { metadata: labels.metadata }) };
  const id = partId(projection, projection.position, 'updated');
  return { parts: [updatedPart(id, told)], next: { labels: { ...known, ...labels } } };
}

/** The API leaves out metadata that is empty. */
function updatedPart(id: string, { title, metadata, budget }: Omit<SessionUpdate, 'at'>): Part {
  const changed = {
    ...(title !== undefined && { title }),
    ...(metadata !== undefined && Object.keys(metadata).length > 0 && { metadata: { ...metadata } }),
    ...(budget !== undefined && { budget: budget === null ? null : budgetOf(budget) }),
  };
  return { id, type, make: (about) => ({ ...about, type, ...changed }) };
}

/** The changes before the first message, which come before `first`, the first event of the transcript. */
export function earlyUpdates(
  session: string,
  { updates = [] }: SessionItem,
  first: EventFact | undefined,
): readonly EventFact[] {
  return updates.map((update, nth): EventFact => {
    const part = updatedPart(eventId(session, 'updated', nth), update);
    const latest = (first?.at ?? Infinity) - (updates.length - nth);
    const at = Math.min(update.at * 1000 + nth, latest);
    const about = { id: part.id, processed_at: formatMicros(at) };
    return { id: part.id, type, at, entry: null, make: (bodies) => part.make(about, bodies) };
  });
}
