// The work of one delegated call, in a workflow of its own (L63): its session may continue as new,
// which no activity or child of the session would survive. It reports its end once, by a signal to
// the session's id.
import {
  CancellationScope,
  executeChild,
  isCancellation,
  patched,
  proxyActivities,
  setDefaultSignalHandler,
  sleep,
  workflowInfo,
  type ActivityOptions,
} from '@temporalio/workflow';
import { ApplicationFailure } from '@temporalio/common';
import {
  LARGEST_RESULT,
  type DelegatedEnd,
  type DelegatedInput,
  type DelegatedReport,
  type DelegatedWork,
} from '../contract/delegation.ts';
import { BY_HAND } from '../contract/failures.ts';
import { findUndecodable } from '../contract/undecodable.ts';
import type { SessionId } from '../contract/ids.ts';
import { DETAIL_LENGTH, isGone, LAST_LOOK_MS, tellSession } from './reports.ts';
import { present } from '../contract/present.ts';

/** The limit of work whose author gave none. */
const LONGEST_ATTEMPT = '1 hour';

/** Most work has ended by then, and its session is never looked for. */
const FIRST_LOOK_MS = 15_000;

export async function delegatedWork({ work, report, root = report.to }: DelegatedInput): Promise<void> {
  // The session signals now and then to find out whether this workflow still runs.
  setDefaultSignalHandler(() => {});
  const watches = patched('perdure-work-looks');
  const end = await (watches ? performWatched(work, new Set([report.to, root])) : performWork(work));
  const signal: DelegatedReport = { key: report.key, end };
  await tellSession(report.to, signal);
}

/**
 * Ends the work when its session, or the root session, is gone: delegated work outlives neither
 * (L64). It looks at growing intervals.
 */
async function performWatched(work: DelegatedWork, sessions: ReadonlySet<SessionId>): Promise<DelegatedEnd> {
  const working = new CancellationScope();
  const watching = new CancellationScope();
  const watch = watching.run(async () => {
    let look = FIRST_LOOK_MS;
    do {
      await sleep(look);
      look = Math.min(2 * look, LAST_LOOK_MS);
    } while (!(await isAnyGone(sessions)));
    working.cancel();
  });
  const watchEnd = watch.catch((error: unknown) => {
    if (!isCancellation(error)) throw error;
  });
  const end = await working.run(() => performWork(work));
  watching.cancel();
  await watchEnd;
  return end;
}

async function isAnyGone(sessions: ReadonlySet<SessionId>): Promise<boolean> {
  for (const session of sessions) if (await isGone(session, true)) return true;
  return false;
}

async function performWork(work: DelegatedWork): Promise<DelegatedEnd> {
  try {
    return endWithResult(await (work.kind === 'activity' ? runActivity(work) : runWorkflow(work)));
  } catch (error) {
    if (isCancellation(error)) return { kind: 'stopped', ended: true };
    // An error other than Temporal's failures is about the options, such as a timeout that cannot
    // be read.
    return { kind: 'failed', detail: rootMessage(error as Error).slice(0, DETAIL_LENGTH) };
  }
}

function runActivity({ name, taskQueue, args, options }: Extract<DelegatedWork, { kind: 'activity' }>) {
  const { startToCloseTimeout, scheduleToCloseTimeout } = options;
  const unlimited = startToCloseTimeout === undefined && scheduleToCloseTimeout === undefined;
  const chosen = {
    ...options,
    ...(unlimited && { startToCloseTimeout: LONGEST_ATTEMPT }),
    ...present({ taskQueue }),
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  } as ActivityOptions;
  return proxyActivities<Record<string, (...input: unknown[]) => Promise<unknown>>>(chosen)[name]!(...args);
}

function runWorkflow({ type, taskQueue, args, options }: Extract<DelegatedWork, { kind: 'workflow' }>) {
  return executeChild(type, {
    ...(options as object),
    ...present({ taskQueue }),
    workflowId: `${workflowInfo().workflowId}.work`,
    args: [...args],
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    parentClosePolicy: 'REQUEST_CANCEL',
  });
}

function endWithResult(result: unknown): DelegatedEnd {
  const undecodable = findUndecodable(result);
  if (undecodable) return { kind: 'failed', detail: `its result ${undecodable.why}` };
  const json = JSON.stringify(result) as string | undefined;
  if (json === undefined) return { kind: 'done' };
  return json.length > LARGEST_RESULT ? { kind: 'done', cut: json.slice(0, LARGEST_RESULT) } : { kind: 'done', result };
}

/** Returns the innermost message, which is the author's: Temporal wraps it. */
function rootMessage(error: Error): string {
  let inner = error;
  while (inner.cause instanceof Error) inner = inner.cause;
  if (!(inner instanceof ApplicationFailure)) return inner.message;
  // A worker of the user's own writes failures without our seal on their type.
  if (inner.type === BY_HAND.type && inner.message.startsWith(BY_HAND.prefix))
    return inner.message.slice(BY_HAND.prefix.length);
  return inner.type && inner.type !== 'Error' ? `${inner.type}: ${inner.message}` : inner.message;
}
