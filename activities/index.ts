// The activity port, implemented: bodies bound to their dependencies and to Temporal's attempt.
import type { ActivityBodies, StoredText, StoreText } from '../workflows/contract/activities.ts';
import type { SessionId } from '../workflows/contract/ids.ts';
import { afterStop, runStopHooks } from './after-stop.ts';
import { isStoppedBy, limitTries, refuseToBegin, skipWithdrawnAlert, type StopOrder } from './guards.ts';
import { createActivity } from './activity.ts';
import type { Attempt } from './attempt.ts';
import { callModel } from './call-model.ts';
import { gradeGoal } from './grade-goal.ts';
import { findReply } from './find-reply.ts';
import { commit } from './commit.ts';
import { collapse } from './compaction/collapse.ts';
import { compact } from './compaction/compact.ts';
import { prepareCompaction } from './compaction/prepare-compaction.ts';
import { summarizeBatch } from './compaction/summarize.ts';
import type { Deps } from './deps.ts';
import { answerAside } from './run/answer-aside.ts';
import { openRun } from './run/open-run.ts';
import { endWorktree } from './run/inherit.ts';
import { lookAtFiring } from './run/look-at-firing.ts';
import { readResult } from './run/read-result.ts';
import { tellAlert } from './run/tell-alert.ts';
import { sendWebhook, tellWebhooks } from './run/webhooks.ts';
import { leaveHost, takeOver } from './hosts/take-over.ts';
import { requireFolder } from './hosts/host-record.ts';
import { runTool } from './run-tool.ts';
import { concludeLease, holdLease, lapseLease } from './sandbox/leases.ts';
import type { CheckOutFiles, FilesCheckedOut } from '../workflows/contract/fork.ts';
import type { FilesPreview, FilesRewound, RewindFiles } from '../workflows/contract/rewind.ts';

/** Makes the activities. `stops` is the one run that the worker is there to stop. */
export function createActivities(deps: Deps, stops: StopOrder | null = null): ActivityBodies {
  const work = refuseToBegin(stops);
  const onHost = requireFolder(deps);
  const isStopped = (session: SessionId): boolean => isStoppedBy(stops, session);
  return {
    // With the hooks of the session's start it is a beginning, and the run after it is another
    // worker's to open.
    openRun: createActivity(
      work(openRun(deps), {
        unless: (session, { run, begins }) =>
          isStopped(session) && (run === stops?.run || session !== stops?.session) && !begins,
      }),
    ),
    callModel: createActivity(work(onHost(callModel(deps)))),
    findReply: createActivity(findReply(deps)),
    readResult: createActivity(readResult(deps)),
    lookAtFiring: createActivity(lookAtFiring),
    storeText: createActivity(storeText(deps)),
    runTool: createActivity(
      work(onHost(runTool(deps), { unless: ({ stopped }) => stopped === true }), {
        unless: (_session, { stopped }) => stopped === true,
      }),
    ),
    endWorktree: createActivity(work(endWorktree(deps), { unless: isStopped })),
    commit: createActivity(commit(deps)),
    checkOutFiles: createActivity(work(checkOutFiles(deps), { unless: isStopped })),
    leaveHost: createActivity(work(leaveHost(deps))),
    takeOver: createActivity(work(takeOver(deps))),
    rewindFiles: createActivity(work(rewindFiles(deps), { unless: isStopped })),
    previewRewind: createActivity(work(limitTries(2, previewRewind(deps)), { unless: isStopped })),
    compact: createActivity(work(compact(deps))),
    prepareCompaction: createActivity(work(limitTries(3, prepareCompaction(deps)))),
    collapse: createActivity(work(collapse(deps))),
    runStopHooks: createActivity(work(onHost(runStopHooks(deps)))),
    gradeGoal: createActivity(work(onHost(gradeGoal(deps)))),
    summarizeBatch: createActivity(work(limitTries(2, summarizeBatch(deps)))),
    // Its attempts are bounded, not its time: an alert outlives an outage of a minute.
    tellAlert: createActivity(work(skipWithdrawnAlert(stops, limitTries(5, tellAlert(deps))), { unless: isStopped })),
    // A worker that only stops a run passes on what that tells.
    tellWebhooks: createActivity(tellWebhooks(deps)),
    sendWebhook: createActivity(work(sendWebhook(deps))),
    answerAside: createActivity(work(limitTries(2, answerAside(deps)))),
    holdLease: createActivity(holdLease),
    lapseLease: createActivity(lapseLease(deps)),
    concludeLease: createActivity(concludeLease(deps)),
    // A session closes when its own handlers are over (L56).
    afterStop: createActivity(work(limitTries(3, afterStop(deps)), { unless: isStopped })),
  };
}

/**
 * Stores a text that is too long to travel in a message, a piece at a time, for a workflow that
 * starts an agent with it (Q4): by its content, so that a second attempt returns the same hash.
 */
function storeText({ store }: Deps): (attempt: unknown, input: StoreText) => Promise<StoredText> {
  return async (_attempt, { text, after }) => {
    const before = after === undefined ? new Uint8Array() : await store.get(after);
    const whole = Buffer.concat([before, new TextEncoder().encode(text)]);
    return { hash: await store.put(whole), bytes: whole.length };
  };
}

// The activity that checks the files of a fork out into a folder of its own (T10).
function checkOutFiles({ snapshots }: Deps): (attempt: Attempt, input: CheckOutFiles) => Promise<FilesCheckedOut> {
  return async (attempt, input) => {
    if (!snapshots) return { kind: 'refused', problem: 'this worker has no snapshots' };
    return await snapshots.checkOut({ ...input, attempt });
  };
}

// The activities that bring the folders of a session back to snapshots, and that look what this
// would do (T7).
const NO_SNAPSHOTS = { kind: 'refused', problem: 'this worker has no snapshots' } as const;

function rewindFiles({ snapshots }: Deps): (attempt: Attempt, input: RewindFiles) => Promise<FilesRewound> {
  return async (attempt, input) => (snapshots ? await snapshots.rewind({ ...input, attempt }) : NO_SNAPSHOTS);
}

function previewRewind({ snapshots }: Deps): (attempt: Attempt, input: RewindFiles) => Promise<FilesPreview> {
  return async (attempt, input) => (snapshots ? await snapshots.preview({ ...input, attempt }) : NO_SNAPSHOTS);
}
