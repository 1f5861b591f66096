// The activity port, implemented: bodies bound to their dependencies and to Temporal's attempt.
import type { Activities } from '../workflows/contract/activities.ts';
import type { SessionId } from '../workflows/contract/ids.ts';
import { afterStop } from './after-stop.ts';
import { activity } from './attempt.ts';
import { beginNothing } from './begin-nothing.ts';
import { callModel } from './call-model.ts';
import { commit } from './commit.ts';
import { collapse } from './compaction/collapse.ts';
import { compact } from './compaction/compact.ts';
import { summarizeBatch } from './compaction/summarize-batch.ts';
import type { Deps } from './deps.ts';
import { findReply } from './find-reply.ts';
import { openRun } from './open-run.ts';
import { runStopHooks } from './run-stop-hooks.ts';
import { runTool } from './run-tool.ts';

/** `stops`: the one session that the worker is there to stop. */
export function createActivities(deps: Deps, stops: SessionId | null = null): Activities {
  const work = beginNothing(stops);
  return {
    openRun: activity(work(openRun(deps), (session) => session === stops)),
    callModel: activity(work(callModel(deps))),
    findReply: activity(findReply(deps)),
    runTool: activity(work(runTool(deps), (_session, input) => input.stopped === true)),
    commit: activity(commit(deps)),
    compact: activity(work(compact(deps))),
    collapse: activity(work(collapse(deps))),
    runStopHooks: activity(work(runStopHooks(deps))),
    summarizeBatch: activity(summarizeBatch(deps)),
    afterStop: activity(afterStop(deps)),
  };
}
