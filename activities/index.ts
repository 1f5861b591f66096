// The activity port, implemented: bodies bound to their dependencies and to Temporal's attempt.
import type { ActivityBodies } from '../workflows/contract/activities.ts';
import type { SessionId } from '../workflows/contract/ids.ts';
import { runStopHooks } from './run-stop-hooks.ts';
import { afterStop } from './after-stop.ts';
import { limitTries, refuseToBegin, isStoppedBy, type StopOrder, skipWithdrawnAlert } from './guards.ts';
import { createActivity } from './attempt.ts';
import { callModel } from './call-model.ts';
import { findReply } from './find-reply.ts';
import { commit } from './commit.ts';
import { collapse } from './compaction/collapse.ts';
import { compact } from './compaction/compact.ts';
import { prepareCompaction } from './compaction/prepare-compaction.ts';
import { summarizeBatch } from './compaction/summarize-batch.ts';
import type { Deps } from './deps.ts';
import { answerAside } from './run/answer-aside.ts';
import { openRun } from './run/open-run.ts';
import { endWorktree } from './run/inherit.ts';
import { lookAtFiring } from './run/look-at-firing.ts';
import { readResult } from './run/read-result.ts';
import { storeText } from './run/store-text.ts';
import { tellAlert } from './run/tell-alert.ts';
import { checkOutFiles } from './snapshots/check-out-files.ts';
import { previewRewind, rewindFiles } from './snapshots/rewind-files.ts';
import { runTool } from './run-tool.ts';

/** Makes the activities. `stops` is the one run that the worker is there to stop. */
export function createActivities(deps: Deps, stops: StopOrder | null = null): ActivityBodies {
  const work = refuseToBegin(stops);
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
    callModel: createActivity(work(callModel(deps))),
    findReply: createActivity(findReply(deps)),
    readResult: createActivity(readResult(deps)),
    lookAtFiring: createActivity(lookAtFiring),
    storeText: createActivity(storeText(deps)),
    runTool: createActivity(work(runTool(deps), { unless: (_session, { stopped }) => stopped === true })),
    endWorktree: createActivity(work(endWorktree(deps), { unless: isStopped })),
    commit: createActivity(commit(deps)),
    checkOutFiles: createActivity(work(checkOutFiles(deps), { unless: isStopped })),
    rewindFiles: createActivity(work(rewindFiles(deps), { unless: isStopped })),
    previewRewind: createActivity(work(limitTries(2, previewRewind(deps)), { unless: isStopped })),
    compact: createActivity(work(compact(deps))),
    prepareCompaction: createActivity(work(limitTries(3, prepareCompaction(deps)))),
    collapse: createActivity(work(collapse(deps))),
    runStopHooks: createActivity(work(runStopHooks(deps))),
    summarizeBatch: createActivity(work(limitTries(2, summarizeBatch(deps)))),
    // Its attempts are bounded, not its time: an alert outlives an outage of a minute.
    tellAlert: createActivity(work(skipWithdrawnAlert(stops, limitTries(5, tellAlert(deps))), { unless: isStopped })),
    answerAside: createActivity(work(limitTries(2, answerAside(deps)))),
    // A session closes when its own handlers are over (L56).
    afterStop: createActivity(work(limitTries(3, afterStop(deps)), { unless: isStopped })),
  };
}
