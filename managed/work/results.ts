// Whose result counts (G58, G59): that of the lease that was given the call. Where no worker was,
// anybody who may steer the session can give it, and this is the call's claim.
import { offerCall, wasOffered } from '../../store/sandbox/offers.ts';
import { ManagedError } from '../errors.ts';
import type { OpenWait } from '../events/parts.ts';
import type { Timeline } from '../events/timelines.ts';
import type { ManagedPorts } from '../ports.ts';
import type { FoundSession } from '../sessions.ts';
import type { SessionLease } from './credentials.ts';
import { toolOf } from './view.ts';

type Sending = { readonly found: FoundSession; readonly lease: SessionLease | undefined };

/** Throws ManagedError 403 for a worker, and 400 for a person while a worker has the call. */
export async function requireOffer(
  { store, now }: Pick<ManagedPorts, 'store' | 'now'>,
  { projection }: Timeline,
  { found: { id: session }, lease }: Sending,
  { call }: OpenWait,
): Promise<void> {
  const offered = { session, call, tool: toolOf(projection, call) };
  if (lease !== undefined) {
    if (await wasOffered(store, offered, lease)) return;
    throw new ManagedError(403, 'This call was not given to your lease: nothing was done');
  }
  const claim = { work: 'api', g: 0, at: now() };
  if ((await wasOffered(store, offered, claim)) || (await offerCall(store, offered, claim))) return;
  throw new ManagedError(400, 'A worker has this call: its result is the worker’s to give');
}
