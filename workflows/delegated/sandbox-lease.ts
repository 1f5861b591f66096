// Watches one lease on a work item (G60, G76). While heartbeats come it schedules nothing; when
// they stop, or the worker leaves, the calls that the worker was shown are concluded.
import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  proxyActivities,
  sleep,
} from '@temporalio/workflow';
import { activityType, type RegisteredActivities } from '../contract/activities.ts';
import { LEASE_ACTIVITY, type LeaseInput } from '../contract/lease.ts';

/** A lease lasts for as long as its heartbeats come; this is the most that Temporal is told. */
const LONGEST_LEASE = '3650 days';

const records = {
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '30s',
  retry: { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '30s' },
} as const;

const activities = proxyActivities<RegisteredActivities>(records);

export async function sandboxLease(argument: LeaseInput): Promise<void> {
  const input = parseInput(argument);
  const isLeft = await holdLease(input);
  await CancellationScope.nonCancellable(async () => {
    if (!isLeft) {
      await activities[activityType('lapseLease')](input);
      await sleep(input.graceMs);
    }
    await activities[activityType('concludeLease')](input);
  });
}

/** Resolves to true when the worker has left, and to false when its heartbeats have stopped. */
async function holdLease(input: LeaseInput): Promise<boolean> {
  const { [activityType('holdLease')]: hold } = proxyActivities<RegisteredActivities>({
    activityId: LEASE_ACTIVITY,
    startToCloseTimeout: LONGEST_LEASE,
    heartbeatTimeout: input.ttlMs,
    retry: { maximumAttempts: 1 },
  });
  try {
    await hold(input);
    return true;
  } catch (error) {
    if (error instanceof ActivityFailure || isCancellation(error)) return false;
    throw error;
  }
}

/** Anyone who reaches the server can start it with anything. */
function parseInput(argument: unknown): LeaseInput {
  const { environment, session, work, g, ttlMs, graceMs } = (argument ?? {}) as Readonly<Record<string, unknown>>;
  const areTexts = [environment, session, work].every((text) => typeof text === 'string');
  const areNumbers = [g, ttlMs, graceMs].every((number) => typeof number === 'number' && number >= 0);
  if (areTexts && areNumbers) return argument as LeaseInput;
  throw ApplicationFailure.nonRetryable('the argument is no lease', 'UnreadableLease');
}
