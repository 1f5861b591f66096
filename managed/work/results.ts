// Decides whose result counts (G58, G59): the lease that was offered the call, or before any offer
// anyone who may steer the session, which claims the call. A call whose worker keeps its lease
// without answering ends after a while (G61).
import { setTimeout as pause } from 'node:timers/promises';
import { describeLost, isOfWorker } from '../../client/faces/outside.ts';
import { ClientProblem } from '../../client/faces/start.ts';
import type { Offer, SessionId } from '../../client/faces/types.ts';
import {
  findOffer,
  offerCall,
  refuseLease,
  requestStop,
  showingOf,
  stateOfItem,
  wasOffered,
} from '../../client/faces/work-items.ts';
import { lineOf, ManagedError } from '../errors.ts';
import type { OpenWait } from '../events/parts.ts';
import type { Timeline } from '../events/timelines.ts';
import type { ManagedPorts } from '../ports.ts';
import type { Parts } from '../request.ts';
import type { FoundSession } from '../session-status.ts';
import type { SessionLease } from './credentials.ts';
import { openCalls, RESULTS, toolOf } from './view.ts';

type Sending = { readonly found: FoundSession; readonly lease: SessionLease | undefined };

/** Milliseconds in which an interrupt is stored, or has found nothing to end. */
const INTERRUPT_MS = 10_000;
const LOOK_MS = 100;

/** The work of a person, in place of a worker's. */
const BY_API = 'api';

/**
 * Throws ManagedError 403 for a worker that was not shown the call, and 400 for a person while a
 * worker of the sandbox has it. An app answers its own calls.
 */
export async function requireOffer(
  { store, now }: Pick<ManagedPorts, 'store' | 'now'>,
  { projection }: Timeline,
  { found: { id: session }, lease }: Sending,
  { call, why }: OpenWait,
): Promise<void> {
  const offered = { session, call, tool: toolOf(projection, call) };
  if (lease !== undefined) {
    if (await wasOffered(store, offered, lease)) return;
    throw new ManagedError(403, 'This call was not given to your lease: nothing was done');
  }
  if (!isOfWorker(why)) return;
  const claim = { work: BY_API, g: 0, at: now() };
  if ((await wasOffered(store, offered, claim)) || (await offerCall(store, offered, claim))) return;
  throw new ManagedError(400, 'A worker has this call: its result is the worker’s to give');
}

/** Milliseconds that a call may take; the SDK's runners end one after two minutes. */
const CALL_MS = 15 * 60_000;

/**
 * Checks with each heartbeat whether a result was lost on its way, and whether the worker has been
 * idle for long. Never throws: an error is logged, and the next heartbeat checks again.
 */
export async function lookAfterLease(parts: Parts, lease: SessionLease): Promise<void> {
  try {
    const found = await parts.sessions.find(lease.session);
    const timeline = await parts.sessions.timeline(found);
    await concludeOverdue(parts, lease, timeline);
    await stopIdle(parts, lease, timeline);
  } catch (error) {
    parts.ports.log(`managed agents: calls of session ${lease.session} were not looked at: ${lineOf(error)}`);
  }
}

async function concludeOverdue(parts: Parts, lease: SessionLease, { projection }: Timeline): Promise<void> {
  for (const open of openCalls(projection)) {
    const offer = await findOffer(parts.ports.store, { session: lease.session, ...open }, lease);
    if (offer && (await isOverdue(parts, lease, offer))) await giveLost(parts, lease.session, open.call, offer);
  }
}

/** Stops an idle worker, also while a person is waited for; the next call queues anew (G97). */
async function stopIdle({ ports, queues }: Parts, lease: SessionLease, timeline: Timeline): Promise<void> {
  const { idleLeaseMs, now, store } = ports;
  if (idleLeaseMs === undefined) return;
  const queue = queues.of(lease.environment);
  const item = (await queue.items()).get(lease.work);
  if (item === undefined || refuseLease(item, lease.g) !== null || stateOfItem(item) !== 'active') return;
  const since = Math.max(item.lease?.startedAt ?? Infinity, lastResultAt(timeline));
  if (now() - since < idleLeaseMs) return;
  for (const { call, why } of timeline.projection.waiting) {
    const open = { session: lease.session, call, tool: toolOf(timeline.projection, call) };
    if (isOfWorker(why) || (why === 'custom' && (await wasOffered(store, open, lease)))) return;
  }
  await queue.change(lease.work, 'perdure', (newest, at) =>
    newest.lease?.g === lease.g ? requestStop(newest, at) : 'superseded',
  );
}

/** Returns milliseconds since the epoch; 0 before the first. */
const lastResultAt = ({ facts }: Timeline): number =>
  (facts.findLast(({ type }) => RESULTS.has(type))?.at ?? 0) / 1_000;

/** Also true for an offer recorded while its lease was being concluded. People have no lease. */
async function isOverdue({ ports, queues }: Parts, { environment }: SessionLease, offer: Offer): Promise<boolean> {
  if (ports.now() - offer.at > CALL_MS) return true;
  if (offer.work === BY_API) return false;
  const item = (await queues.of(environment).items()).get(offer.work);
  const refusal = item ? refuseLease(item, offer.g) : 'stopped';
  return refusal === 'stopped' || refusal === 'superseded';
}

const NOT_RUN = 'Not run: interrupted before a worker had it.';
const NOT_AWAITED = 'Interrupted: its result was not awaited.';

/**
 * Ends at once the calls of an interrupted session that no worker has; they are never offered again
 * (G96). Never throws: an error is logged, and the session ends them after a while.
 */
export async function endUngiven(
  { store, giveResult, log, now }: Pick<ManagedPorts, 'store' | 'giveResult' | 'log' | 'now'>,
  session: string,
  read: () => Promise<Timeline['projection']>,
  by: string,
): Promise<void> {
  try {
    for (const open of await findStopped(read)) {
      const showing = showingOf(open.tool);
      // A worker may have been given it under a lease that is not known here.
      if (showing === 'each_lease') continue;
      if (!(await offerCall(store, { session, ...open }, { work: BY_API, g: 0, at: now() }))) continue;
      const text = showing === 'always' ? NOT_AWAITED : NOT_RUN;
      const result = { body: { kind: 'text', text }, isError: true } as const;
      await giveResult(session as SessionId, { call: open.call, result, by });
    }
  } catch (error) {
    log(`managed agents: calls of the interrupted session ${session} end later: ${lineOf(error)}`);
  }
}

/** Calls of a later run, which a repeated interrupt does not reach, are not among them. */
async function findStopped(read: () => Promise<Timeline['projection']>): Promise<ReturnType<typeof openCalls>> {
  const until = performance.now() + INTERRUPT_MS;
  for (let open = openCalls(await read()); open.length > 0; open = openCalls(await read())) {
    if (open.some(({ isStopping }) => isStopping)) return open.filter(({ isStopping }) => isStopping);
    if (performance.now() >= until) return [];
    await pause(LOOK_MS);
  }
  return [];
}

async function giveLost({ ports }: Parts, session: string, call: string, offer: Offer): Promise<void> {
  const result = { body: { kind: 'text', text: describeLost(offer) }, isError: true } as const;
  try {
    await ports.giveResult(session as SessionId, { call, result });
  } catch (error) {
    if (!(error instanceof ClientProblem) || error.kind === 'unanswered') throw error;
  }
}
