// The activity port, implemented: bodies bound to their dependencies and to Temporal's attempt.
import type { ActivityBodies } from '../workflows/contract/activities.ts';
import type { SessionId } from '../workflows/contract/ids.ts';
import { afterStop, runStopHooks } from './run-stop-hooks.ts';
import { limitTries, beginNothing, isStoppedBy, type Stops, withoutWithdrawn } from './guards.ts';
import { activity } from './attempt.ts';
import { callModel, findReply } from './call-model.ts';
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
import { storeText } from './run/store-text.ts';
import { tellAlert } from './run/tell-alert.ts';
import { runTool } from './run-tool.ts';

/** `stops`: the one run that the worker is there to stop. */
export function createActivities(deps: Deps, stops: Stops | null = null): ActivityBodies {
  const work = beginNothing(stops);
  const isStopped = (session: SessionId): boolean => isStoppedBy(stops, session);
  return {
    // With the hooks of the session's start it is a beginning, and the run after it is another
    // worker's to open.
    openRun: activity(
      work(openRun(deps), {
        unless: (session, { run, begins }) =>
          isStopped(session) && (run === stops?.run || session !== stops?.session) && !begins,
      }),
    ),
    callModel: activity(work(callModel(deps))),
    findReply: activity(findReply(deps)),
    readResult: activity(readResult(deps)),
    lookAtFiring: activity(lookAtFiring),
    storeText: activity(storeText(deps)),
    runTool: activity(work(runTool(deps), { unless: (_session, { stopped }) => stopped === true })),
    endWorktree: activity(work(endWorktree(deps), { unless: isStopped })),
    commit: activity(commit(deps)),
    compact: activity(work(compact(deps))),
    prepareCompaction: activity(work(limitTries(3, prepareCompaction(deps)))),
    collapse: activity(work(collapse(deps))),
    runStopHooks: activity(work(runStopHooks(deps))),
    summarizeBatch: activity(work(limitTries(2, summarizeBatch(deps)))),
    // It is its tries that are bounded, not its time: an alert outlives an outage of a minute.
    tellAlert: activity(work(withoutWithdrawn(stops, limitTries(5, tellAlert(deps))), { unless: isStopped })),
    answerAside: activity(work(limitTries(2, answerAside(deps)))),
    // A session closes when its own handlers are over (L56).
    afterStop: activity(work(limitTries(3, afterStop(deps)), { unless: isStopped })),
  };
}
