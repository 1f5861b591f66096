// Session changes as events (G27): read from the transcript, or from the log before the first
// message.
import { isDeepStrictEqual } from 'node:util';
import type { BetaManagedAgentsSessionAgent } from '@anthropic-ai/sdk/resources/beta/sessions';
import type { z } from 'zod';
import { present } from '../../client/faces/basics.ts';
import { isDamage } from '../../client/faces/sessions.ts';
import type { Hash, SessionLabels, SteeringRecord } from '../../client/faces/types.ts';
import { budgetOf, budgetOfUsd } from '../budgets.ts';
import { eventId, formatMicros } from '../ids.ts';
import type { SessionItem, SessionUpdate } from '../log/stored.ts';
import { patchMetadata } from '../shapes/parse.ts';
import type { sessionUpdate } from '../shapes/sessions.ts';
import { type EventFact, type Part, partId, type Projection, type Step } from './parts.ts';

const type = 'session.updated';

type Labelling = Pick<z.output<typeof sessionUpdate>, 'title' | 'metadata'> & { readonly agent?: Hash | undefined };

/** Returns null where a person's act changes no budget and no label. */
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
  const hasAgent = labels.agent !== undefined && labels.agent !== known.agent;
  if (!isNew && !hasMetadata && !hasAgent) return null;
  const changed = {
    ...(isNew && { title: labels.title }),
    ...(hasMetadata && { metadata: labels.metadata }),
    ...(hasAgent && { agent: labels.agent }),
  };
  const id = partId(projection, projection.position, 'updated');
  return { parts: [buildUpdate(id, changed)], next: { labels: { ...known, ...labels } } };
}

/** The API leaves out metadata that is empty. */
function buildUpdate(id: string, { title, metadata, budget, agent }: Omit<SessionUpdate, 'at'>): Part {
  const changed = {
    ...(title !== undefined && { title }),
    ...(metadata !== undefined && Object.keys(metadata).length > 0 && { metadata: { ...metadata } }),
    ...(budget !== undefined && { budget: budget === null ? null : budgetOf(budget) }),
  };
  return { id, type, ...present({ agent }), make: (about) => ({ ...about, type, ...changed }) };
}

type Agent = BetaManagedAgentsSessionAgent;

/**
 * Puts the session's agent into the events that tell of a new one. Anyone can send the signal that
 * names it: an event without it is left where the store has no agent of that name. Throws
 * StoreError when the store is away.
 */
export async function withNewAgents(
  facts: readonly EventFact[],
  read: (hash: Hash) => Promise<Agent>,
): Promise<readonly EventFact[]> {
  const agents = new Map<Hash, Agent | null>();
  for (const { agent } of facts) if (agent && !agents.has(agent)) agents.set(agent, await findAgent(read(agent)));
  return agents.size === 0
    ? facts
    : facts.map((fact) => withAgent(fact, (fact.agent && agents.get(fact.agent)) ?? null));
}

async function findAgent(reading: Promise<Agent>): Promise<Agent | null> {
  try {
    const found = (await reading) as Partial<Agent> | null;
    return found?.type === 'agent' ? (found as Agent) : null;
  } catch (error) {
    if (!isDamage(error)) throw error;
    return null;
  }
}

function withAgent(fact: EventFact, agent: Agent | null): EventFact {
  if (agent === null) return fact;
  const change = (event: ReturnType<EventFact['make']>) => (event.type === type ? { ...event, agent } : event);
  return { ...fact, make: (bodies) => change(fact.make(bodies)) };
}

/** The changes before the first message. `first`: the first event of the transcript. */
export function earlyUpdates(
  session: string,
  { updates = [] }: SessionItem,
  first: EventFact | undefined,
): readonly EventFact[] {
  return updates.map((update, nth): EventFact => {
    const part = buildUpdate(eventId(session, 'updated', nth), update);
    const latest = (first?.at ?? Infinity) - (updates.length - nth);
    const at = Math.min(update.at * 1000 + nth, latest);
    const about = { id: part.id, processed_at: formatMicros(at) };
    const more = present({ agent: part.agent });
    return { id: part.id, type, at, entry: null, ...more, make: (bodies) => part.make(about, bodies) };
  });
}

/** Returns what a request changes of the session's title, metadata and agent. Throws ManagedError. */
export function diffLabels(item: SessionItem, body: Labelling): SessionLabels {
  const title = body.title === undefined ? item.title : body.title;
  const metadata = patchMetadata(item.metadata, body.metadata);
  return {
    ...(title !== item.title && { title }),
    ...(!isDeepStrictEqual(metadata, item.metadata) && { metadata }),
    ...(body.agent !== undefined && body.agent !== item.agent && { agent: body.agent }),
  };
}

/** Changes of a session without messages that its record keeps; later ones are not told. */
const MOST_UPDATES = 8;

export function noteUpdate(
  { updates = [] }: SessionItem,
  update: Omit<SessionUpdate, 'at'>,
  at: number,
): Partial<SessionItem> {
  if (Object.keys(update).length === 0 || updates.length >= MOST_UPDATES) return {};
  return { updates: [...updates, { ...update, at }] };
}
