// The activities as the workflow schedules them. Timeouts and retries are Temporal's part; what each failure means is the activity's.
import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from './contract/activities.ts';

/** No maximumAttempts: an activity decides itself when to give up, by returning a value or a non-retryable failure. */
const retry = { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '30s' } as const;

/** Long: a model streams and a tool runs for as long as it heartbeats. */
export const { callModel, runTool } = proxyActivities<Activities>({
  startToCloseTimeout: '7 days',
  heartbeatTimeout: '30s',
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  retry,
});

/** Short: a few writes to the store. */
export const { openRun, commit } = proxyActivities<Activities>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '30s',
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  retry,
});
