// Ends leases on work items (G60). The workflow that watches a lease calls these activities in
// order; each may be tried twice.
import { CompleteAsyncError } from '@temporalio/activity';
import { WorkflowNotFoundError, WorkflowUpdateFailedError, type Client } from '@temporalio/client';
import { lapse, silentAfter, stop, type WorkItem } from '../../store/sandbox/queue.ts';
import { type Offer, readOffer } from '../../store/sandbox/offers.ts';
import { isOfWorker } from '../../workflows/contract/delegation.ts';
import type { LeaseInput } from '../../workflows/contract/lease.ts';
import { QUERIES, type SessionView, UPDATES } from '../../workflows/contract/session.ts';
import { describeLost, type GivenResult, type SilentWorkers } from '../../workflows/contract/waits.ts';
import type { Attempt } from '../attempt.ts';
import type { Deps } from '../deps.ts';

type LeaseDeps = Pick<Deps, 'store' | 'work'>;

/** Stays open after it returns: the server that the worker polls sends heartbeats and the end. */
export function holdLease(): Promise<never> {
  return Promise.reject(new CompleteAsyncError());
}

/** From here on heartbeats are refused, and results are taken for the time of grace. */
export function lapseLease({ work }: LeaseDeps): (attempt: Attempt, input: LeaseInput) => Promise<void> {
  return async (_attempt, { environment, work: id, g }) => {
    await work.of(environment).change(id, WATCH, (item, now) => lapse(item, g, now));
  };
}

const WATCH = 'the watch of a lease';

/**
 * Ends the item. Calls that its worker was shown and has not answered have an unknown outcome;
 * where others are open, another item is queued.
 */
export function concludeLease({ store, work }: LeaseDeps): (attempt: Attempt, input: LeaseInput) => Promise<void> {
  return async ({ temporal }, { environment, session, work: id, g }) => {
    if (!temporal) throw new Error('there is no server to tell of the end of a lease');
    const queue = work.of(environment);
    const item = (await queue.items()).get(id);
    if (!isOf(item, g)) return;
    await queue.change(id, WATCH, stop);
    let isNeeded = false;
    for (const call of await openCalls(temporal, session)) {
      const offer = await readOffer(store, { session, call });
      if (offer === null) isNeeded = true;
      // An item that was queued meanwhile may have been given others.
      else if (offer.work === id) await giveLost(temporal, session, call, offer);
    }
    if (!isNeeded) return;
    await queue.ensureAfter(item, WATCH);
    if (silentAfter(item) === MOST_SILENT) await reportSilent(temporal, session, id);
  };
}

/** Items in a row without a heartbeat, after which people are told. */
const MOST_SILENT = 5;

/** A session that waits no more has nothing to be told; a repeat counts once. */
async function reportSilent(temporal: Client, session: string, work: string): Promise<void> {
  const silent: SilentWorkers = { work, items: MOST_SILENT };
  const options = { args: [silent] as [SilentWorkers], updateId: `silent-${work}` };
  await unlessOver(() => temporal.workflow.getHandle(session).executeUpdate(UPDATES.reportWorkers, options));
}

const isOf = (item: WorkItem | undefined, g: number): item is WorkItem =>
  item !== undefined && (item.lease?.g ?? 0) === g;

/** Returns the calls of a session that wait for a worker of its environment. */
async function openCalls(temporal: Client, session: string): Promise<readonly string[]> {
  try {
    const { waits = [] } = await temporal.workflow.getHandle(session).query<SessionView>(QUERIES.view);
    return waits.filter(({ why }) => isOfWorker(why)).map(({ call }) => call);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return [];
    throw error;
  }
}

/** A result that came first counts. */
async function giveLost(temporal: Client, session: string, call: string, offer: Offer): Promise<void> {
  const result = { body: { kind: 'text', text: describeLost(offer) }, isError: true } as const;
  const request: GivenResult = { call, result };
  await unlessOver(() => temporal.workflow.getHandle(session).executeUpdate(UPDATES.giveResult, { args: [request] }));
}

/** Runs an update that a session which is over, or past it, may refuse. */
async function unlessOver(update: () => Promise<unknown>): Promise<void> {
  try {
    await update();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || error instanceof WorkflowUpdateFailedError) return;
    throw error;
  }
}
