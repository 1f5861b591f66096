// Calls whose worker holds its lease and does not answer (G61): the look at each heartbeat gives
// them an unknown outcome after a while, so that a result that was lost on its way holds up nobody.
import { refuseLease } from '../../store/sandbox/item.ts';
import { describeLost, findOffer, type Offer } from '../../store/sandbox/offers.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { ClientProblem } from '../../client/problem.ts';
import { lineOf } from '../errors.ts';
import type { Parts } from '../request.ts';
import type { SessionLease } from './credentials.ts';
import { openCalls } from './view.ts';

/** Milliseconds that a call may take; the SDK's runners end one after two minutes. */
const CALL_MS = 15 * 60_000;

/** Never throws: a heartbeat must not fail by it, and the next one looks again. */
export async function concludeOverdue(parts: Parts, lease: SessionLease): Promise<void> {
  try {
    const found = await parts.sessions.find(lease.session);
    const { projection } = await parts.sessions.timeline(found);
    for (const open of openCalls(projection)) {
      const offer = await findOffer(parts.ports.store, { session: lease.session, ...open }, lease);
      if (offer && (await isOverdue(parts, lease, offer))) await giveLost(parts, lease.session, open.call, offer);
    }
  } catch (error) {
    parts.ports.log(`managed agents: calls of session ${lease.session} were not looked at: ${lineOf(error)}`);
  }
}

/** An offer of a lease that is over was recorded while that was concluded. */
async function isOverdue({ ports, queues }: Parts, { environment }: SessionLease, offer: Offer): Promise<boolean> {
  if (ports.now() - offer.at > CALL_MS) return true;
  const item = (await queues.of(environment).items()).get(offer.work);
  const refusal = item ? refuseLease(item, offer.g) : 'stopped';
  return refusal === 'stopped' || refusal === 'superseded';
}

async function giveLost({ ports }: Parts, session: string, call: string, offer: Offer): Promise<void> {
  const result = { body: { kind: 'text', text: describeLost(offer) }, isError: true } as const;
  try {
    await ports.giveResult(session as SessionId, { call, result });
  } catch (error) {
    if (!(error instanceof ClientProblem) || error.kind === 'unanswered') throw error;
  }
}
