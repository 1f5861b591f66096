// A worker's view of a session's events (G56, G57). The SDK's runner executes every call it sees
// without a result, so a call is shown only when it may run, and one with an effect only once.
import { present } from '../../client/faces/basics.ts';
import { isOfWorker, placeInName } from '../../client/faces/outside.ts';
import type { Store, WorkItem } from '../../client/faces/types.ts';
import {
  isUnbegun,
  offerCall,
  recordStream,
  refuseLease,
  stateOfItem,
  type WorkQueues,
} from '../../client/faces/work-items.ts';
import { randomName } from '../../system/random-name.ts';
import type { EventFact, OpenWait } from '../events/parts.ts';
import type { Timeline } from '../events/timelines.ts';
import type { SessionLease } from './credentials.ts';

export type ViewParts = {
  readonly ports: { readonly store: Store; readonly now: () => number };
  readonly queues: WorkQueues;
};

/** Types of events that have a runner execute something. */
const CALLS: ReadonlySet<EventFact['type']> = new Set(['agent.tool_use', 'agent.custom_tool_use']);

export const RESULTS: ReadonlySet<EventFact['type']> = new Set(['user.tool_result', 'user.custom_tool_result']);

export const isCall = ({ type }: EventFact): boolean => CALLS.has(type);

/** Returns the ids of calls whose results a runner takes for answers. */
export const findAnswered = (facts: readonly EventFact[]): ReadonlySet<string> =>
  new Set(facts.flatMap(({ type, settles }) => (RESULTS.has(type) ? (settles ?? []) : [])));

/**
 * Leaves out calls that no worker has to run: those that ended without one, and those that are not
 * open yet. Open ones are offered only when they are sent.
 */
export function listForWorker({ facts, projection }: Timeline): readonly EventFact[] {
  const answered = findAnswered(facts);
  return facts.filter((fact) => !isCall(fact) || answered.has(fact.id) || openCall(projection, fact.id) !== undefined);
}

/** Tells whether a fact is a call without a result. */
export const isOpenCall = (facts: readonly EventFact[], fact: EventFact): boolean =>
  isCall(fact) && !findAnswered(facts).has(fact.id);

/** Leaves out open calls that may not be shown to the lease; the others are recorded as shown. */
export async function offerToWorker(
  parts: ViewParts,
  lease: SessionLease,
  timeline: Timeline,
  facts: readonly EventFact[],
): Promise<readonly EventFact[]> {
  const answered = findAnswered(timeline.facts);
  const visible: EventFact[] = [];
  for (const fact of facts)
    if (
      !isCall(fact) ||
      answered.has(fact.id) ||
      ((await isLive(parts, lease)) && (await offerFact(parts, lease, timeline, fact)))
    )
      visible.push(fact);
  return visible;
}

/**
 * Like `offerToWorker`, for a runner that runs a call before it reads what follows: a call with a
 * result is never shown. Adds to `sent` the calls that need no further look.
 */
export async function streamToWorker(
  parts: ViewParts,
  lease: WorkerStream,
  timeline: Timeline,
  { unsent, sent }: { readonly unsent: readonly EventFact[]; readonly sent: Set<string> },
): Promise<readonly EventFact[]> {
  const answered = findAnswered(timeline.facts);
  const visible: EventFact[] = [];
  for (const fact of unsent) {
    const isOpen = isCall(fact) && openCall(timeline.projection, fact.id) !== undefined;
    if (isCall(fact) && !isOpen && !answered.has(fact.id)) continue;
    // One that has not begun, or is about to end, may be shown nothing: it is asked again later.
    if (isOpen && !(await isLive(parts, lease))) continue;
    sent.add(fact.id);
    if (!isCall(fact) || (isOpen && (await offerFact(parts, lease, timeline, fact)))) visible.push(fact);
  }
  return visible;
}

/**
 * Offers a call to a lease. A call that may be shown once is offered to one live lease, and shown
 * again where it surely has not begun: what was sent first may be lost. Returns false for a call that isn't open, and for a lease that ended while the offer was recorded: that
 * record is found when the lease is concluded.
 */
async function offerFact(
  parts: ViewParts,
  lease: WorkerStream,
  { projection }: Timeline,
  { id }: EventFact,
): Promise<boolean> {
  const open = openCall(projection, id);
  if (open === undefined || open.isStopping) return false;
  const { store, now } = parts.ports;
  const { session, work, g } = lease;
  const call = { session, ...open };
  const isShown = (await offerCall(store, call, { work, g, at: now() })) || (await isUnbegun(store, call, lease));
  return isShown && isLive(parts, lease);
}

type LeaseParts = Pick<ViewParts, 'queues'>;

/** A lease with the stream that its worker listens to; absent for other requests of the worker. */
export type WorkerStream = SessionLease & { readonly stream?: string };

/** Makes a stream the newest of its lease: those before it end, also at other servers. */
export async function beginStream({ queues }: LeaseParts, lease: SessionLease): Promise<WorkerStream> {
  const { environment, work, g } = lease;
  const stream = randomName();
  await queues.of(environment).change(work, `work ${work}`, (item) => recordStream(item, g, stream));
  return { ...lease, stream };
}

const isNewest = ({ lease }: WorkItem, stream: string | undefined): boolean =>
  stream === undefined || stream === lease?.stream;

/** Tells whether calls may run: the worker has sent a heartbeat, and was not asked to stop. */
export async function isLive({ queues }: LeaseParts, { environment, work, g, stream }: WorkerStream): Promise<boolean> {
  const item = (await queues.of(environment).items()).get(work);
  return (
    item !== undefined && refuseLease(item, g) === null && stateOfItem(item) === 'active' && isNewest(item, stream)
  );
}

/** Milliseconds for which listeners share a look at the queue. */
const OVER_AGE_MS = 500;

/** Tells whether a lease has ended or lapsed, or another one or a newer stream has followed it. */
export async function isOver({ queues }: LeaseParts, { environment, work, g, stream }: WorkerStream): Promise<boolean> {
  const item = (await queues.of(environment).items(OVER_AGE_MS)).get(work);
  return item === undefined || refuseLease(item, g) !== null || !isNewest(item, stream);
}

type OpenCall = Pick<OpenWait, 'call' | 'why' | 'isStopping'> & { readonly tool: string };

/** Returns the name of a call's tool. */
export const toolOf = ({ calls }: Timeline['projection'], call: string): string =>
  calls[placeInName(call).index]?.name ?? '';

/** Returns the calls that wait for a worker. */
export const openCalls = (projection: Timeline['projection']): readonly OpenCall[] =>
  projection.waiting.flatMap(({ call, why, isStopping }) =>
    isOfWorker(why) ? [{ call, tool: toolOf(projection, call), why, ...present({ isStopping }) }] : [],
  );

/** Returns a call that waits for a result, by its event's id. */
export function openCall(projection: Timeline['projection'], id: string): OpenCall | undefined {
  const found = projection.waiting.find((wait) => wait.id === id && wait.why !== 'ask');
  return found && { ...found, tool: toolOf(projection, found.call) };
}
