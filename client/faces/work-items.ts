// The work items of self-hosted environments: their queue, who was offered which call, refused
// results, and the workflow that watches a lease.
export {
  acknowledge,
  isPending,
  isWaiting,
  recordStream,
  refuseLease,
  requestStop,
  stateOf,
  stop,
  takeLease,
} from '../../store/sandbox/item.ts';
export {
  beginRun,
  findOffer,
  isUnbegun,
  offerCall,
  recordFenced,
  showingOf,
  wasOffered,
} from '../../store/sandbox/offers.ts';
export { itemOf, WorkQueues } from '../../store/sandbox/queue.ts';
export { keepRefused, readRefused } from '../../store/sandbox/refused.ts';
export { LEASE_ACTIVITY, LEASE_TYPE, leaseId } from '../../workflows/contract/lease.ts';
