// The work of one delegated call, in a workflow of its own (L63): its session may continue as new,
// which no activity and no child of it would survive. It reports its end once, by a signal to the
// session's id.
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
import { BY_HAND, findUndecodable } from '../contract/failures.ts';
import type { SessionId } from '../contract/ids.ts';
import { DETAIL_LENGTH, isGone, LAST_LOOK_MS, tell } from './reports.ts';

/** Its author gave no limit of time. */
const LONGEST_ATTEMPT = '1 hour';

/** Most work has ended by then, and costs its session no signal. */
const FIRST_LOOK_MS = 15_000;

export async function delegatedWork({ work, report, root = report.to }: DelegatedInput): Promise<void> {
  // The session asks now and then whether it still runs.
  setDefaultSignalHandler(() => {});
  const watches = patched('perdure-work-looks');
  const end = await (watches ? performWatched(work, new Set([report.to, root])) : performWork(work));
  const told: DelegatedReport = { key: report.key, end };
  await tell(report.to, told);
}

/**
 * Nothing delegated outlives its session, nor the one that a person began (L64): whether both are
 * there is asked less and less often.
 */
async function performWatched(work: DelegatedWork, sessions: ReadonlySet<SessionId>): Promise<DelegatedEnd> {
  const [working, watching] = [new CancellationScope(), new CancellationScope()];
  const watched = watching.run(async () => {
    let look = FIRST_LOOK_MS;
    do {
      await sleep(look);
      look = Math.min(2 * look, LAST_LOOK_MS);
    } while (!(await isAnyGone(sessions)));
    working.cancel();
  });
  const over = watched.catch((error: unknown) => {
    if (!isCancellation(error)) throw error;
  });
  const end = await working.run(() => performWork(work));
  watching.cancel();
  await over;
  return end;
}

async function isAnyGone(sessions: ReadonlySet<SessionId>): Promise<boolean> {
  for (const session of sessions) if (await isGone(session, true)) return true;
  return false;
}

async function performWork(work: DelegatedWork): Promise<DelegatedEnd> {
  try {
    return doneWith(await (work.kind === 'activity' ? runActivity(work) : runWorkflow(work)));
  } catch (error) {
    if (isCancellation(error)) return { kind: 'stopped', ended: true };
    // What is no failure of Temporal's is about how it was to be done, such as a timeout that is
    // none.
    return { kind: 'failed', detail: rootMessage(error as Error).slice(0, DETAIL_LENGTH) };
  }
}

function runActivity({ name, taskQueue, args, options }: Extract<DelegatedWork, { kind: 'activity' }>) {
  const { startToCloseTimeout, scheduleToCloseTimeout } = options;
  const unlimited = startToCloseTimeout === undefined && scheduleToCloseTimeout === undefined;
  const chosen = {
    ...options,
    ...(unlimited ? { startToCloseTimeout: LONGEST_ATTEMPT } : {}),
    ...(taskQueue === undefined ? {} : { taskQueue }),
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  } as ActivityOptions;
  return proxyActivities<Record<string, (...given: unknown[]) => Promise<unknown>>>(chosen)[name]!(...args);
}

function runWorkflow({ type, taskQueue, args, options }: Extract<DelegatedWork, { kind: 'workflow' }>) {
  return executeChild(type, {
    ...(options as object),
    ...(taskQueue === undefined ? {} : { taskQueue }),
    workflowId: `${workflowInfo().workflowId}.work`,
    args: [...args],
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    parentClosePolicy: 'REQUEST_CANCEL',
  });
}

function doneWith(result: unknown): DelegatedEnd {
  const unread = findUndecodable(result);
  if (unread) return { kind: 'failed', detail: `its result ${unread.why}` };
  const json = JSON.stringify(result) as string | undefined;
  if (json === undefined) return { kind: 'done' };
  return json.length > LARGEST_RESULT ? { kind: 'done', cut: json.slice(0, LARGEST_RESULT) } : { kind: 'done', result };
}

/** Temporal wraps what the author threw: theirs is the innermost. */
function rootMessage(error: Error): string {
  let inner = error;
  while (inner.cause instanceof Error) inner = inner.cause;
  if (!(inner instanceof ApplicationFailure)) return inner.message;
  // A worker of the user's own writes failures as Temporal does, without our seal on their type.
  if (inner.type === BY_HAND.type && inner.message.startsWith(BY_HAND.prefix))
    return inner.message.slice(BY_HAND.prefix.length);
  return inner.type && inner.type !== 'Error' ? `${inner.type}: ${inner.message}` : inner.message;
}
