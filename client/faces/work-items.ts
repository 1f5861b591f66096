// The work items of self-hosted environments: their queue, who was offered which call, refused
// results, and the workflow that watches a lease.
export {
  acknowledge,
  isPending,
  isQueued,
  itemOf,
  recordStream,
  refuseLease,
  requestStop,
  stateOfItem,
  stop,
  takeLease,
  WorkQueues,
} from '../../store/sandbox/queue.ts';
export {
  beginRun,
  findOffer,
  isUnbegun,
  keepRefused,
  offerCall,
  readRefused,
  recordFenced,
  showingOf,
  wasOffered,
} from '../../store/sandbox/offers.ts';
export { LEASE_ACTIVITY, LEASE_TYPE, leaseId } from '../../workflows/contract/lease.ts';
