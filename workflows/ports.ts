// The activities as the workflow schedules them. Timeouts and retries are Temporal's part; what each failure means is the activity's.
import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from './contract/activities.ts';

/** No maximumAttempts: an activity decides itself when to give up, by returning a value or a non-retryable failure. */
const retry = { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '30s' } as const;

/** Long: a model streams, a tool or a hook runs for as long as it heartbeats. */
export const { callModel, runTool, compact, collapse, runStopHooks } = proxyActivities<Activities>({
  startToCloseTimeout: '7 days',
  heartbeatTimeout: '30s',
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  retry,
});

/** Short: a few writes to the store. */
export const { openRun, findReply, commit } = proxyActivities<Activities>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '30s',
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  retry,
});

/** Beside the loop: what they cannot do in time, or in a few tries, is left undone (L42, L56). */
export const { summarizeBatch } = proxyActivities<Activities>({
  startToCloseTimeout: '2 minutes',
  heartbeatTimeout: '30s',
  retry,
});

export const { afterStop } = proxyActivities<Activities>({
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '30s',
  retry,
});
