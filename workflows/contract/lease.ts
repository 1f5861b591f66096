// The lease of a worker on a work item (G76, G60): a workflow of its own, which outlives whoever
// serves the worker, and notices that its heartbeats stop.

export const LEASE_TYPE = 'perdure.sandboxLease';

/** The id of the activity that heartbeats keep. */
export const LEASE_ACTIVITY = 'lease';

/**
 * `ttlMs`: a lease without a heartbeat for so long has lapsed. `graceMs`: results under way are
 * taken for so long after that.
 */
export type LeaseInput = {
  readonly environment: string;
  readonly session: string;
  readonly work: string;
  readonly g: number;
  readonly ttlMs: number;
  readonly graceMs: number;
};

export const leaseId = ({ work, g }: Pick<LeaseInput, 'work' | 'g'>): string => `${work}.${g}`;
