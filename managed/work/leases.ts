// Leases of work items on Temporal (G76). Each is a workflow with one activity that is heartbeated
// from here, so the server's timer detects a lost worker whichever server runs. Heartbeats add
// nothing to the history.
import { setTimeout as pause } from 'node:timers/promises';
import {
  ActivityNotFoundError,
  type Client,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowHandle,
} from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { callUntilAnswered, impatient } from '../../client/faces/outside.ts';
import type { LeaseInput, LeaseName } from '../../client/faces/types.ts';
import { LEASE_ACTIVITY, LEASE_TYPE, leaseId } from '../../client/faces/work-items.ts';

export type Leases = {
  /** Begins to watch a lease; a repeat changes nothing. */
  open(input: LeaseInput): Promise<void>;
  /** Returns false when the lease has lapsed or has ended. */
  beat(lease: LeaseName): Promise<boolean>;
  /** Ends a lease whose worker has left; one whose watch does not begin in time lapses. */
  end(lease: LeaseName): Promise<void>;
  /** Returns when the last heartbeat came, in milliseconds since the epoch; null without one. */
  lastBeat(lease: LeaseName): Promise<number | null>;
};

/** Milliseconds to wait for the activity of a lease that ends at once, and between looks. */
const BEGIN_MS = 5_000;
const LOOK_MS = 100;

export function temporalLeases(client: Client, taskQueue: string): Leases {
  const findActivity = async (lease: LeaseName) => {
    const { raw } = await client.workflow.getHandle(leaseId(lease)).describe();
    return raw.pendingActivities?.find(({ activityId }) => activityId === LEASE_ACTIVITY) ?? null;
  };
  /** Also true before a worker has begun the activity: its timeout doesn't run until then. */
  const isHeld = async (lease: LeaseName): Promise<boolean> => {
    const handle = client.workflow.getHandle(leaseId(lease));
    if ((await handle.describe()).status.name !== 'RUNNING') return false;
    const { events } = await handle.fetchHistory();
    return !(events ?? []).some(endsActivity);
  };
  const activityOf = (lease: LeaseName) => ({ workflowId: leaseId(lease), activityId: LEASE_ACTIVITY });
  const answered = <T>(doing: string, call: () => Promise<T>): Promise<T> =>
    callUntilAnswered(client, doing, call, impatient);
  /** Returns false where the activity is over, or has not begun. */
  const complete = (lease: LeaseName): Promise<boolean> =>
    answered('end a lease', async () => {
      try {
        await client.activity.complete(activityOf(lease), { done: null });
        return true;
      } catch (error) {
        if (!isGone(error)) throw error;
        return false;
      }
    });
  return {
    open: (input) =>
      answered('open a lease', async () => {
        try {
          await client.workflow.start(LEASE_TYPE, {
            workflowId: leaseId(input),
            taskQueue,
            args: [input],
            workflowIdReusePolicy: 'REJECT_DUPLICATE',
          });
        } catch (error) {
          if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        }
      }),
    beat: (lease) =>
      answered('renew a lease', async () => {
        try {
          await client.activity.heartbeat(activityOf(lease));
          return true;
        } catch (error) {
          if (!isGone(error)) throw error;
          return (await orNull(isHeld(lease))) === true;
        }
      }),
    end: async (lease) => {
      const until = performance.now() + BEGIN_MS;
      while (!(await complete(lease)) && (await orNull(isHeld(lease))) === true && performance.now() < until)
        await pause(LOOK_MS);
    },
    lastBeat: async (lease) => {
      const seconds = (await answered('look at a lease', () => orNull(findActivity(lease))))?.lastHeartbeatTime
        ?.seconds;
      return seconds === undefined || seconds === null ? null : Number(seconds) * 1_000;
    },
  };
}

type HistoryEvent = NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>[number];

/** The lease's activity is the first of its workflow, so that the first end of one is its own. */
const endsActivity = (event: HistoryEvent): boolean =>
  Boolean(
    event.activityTaskTimedOutEventAttributes ??
    event.activityTaskCompletedEventAttributes ??
    event.activityTaskFailedEventAttributes ??
    event.activityTaskCanceledEventAttributes,
  );

const isGone = (error: unknown): boolean =>
  error instanceof ActivityNotFoundError || error instanceof WorkflowNotFoundError;

async function orNull<T>(looking: Promise<T | null>): Promise<T | null> {
  try {
    return await looking;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}
