// The activity port, implemented: bodies bound to their dependencies and to Temporal's attempt.
import type { Activities } from '../workflows/contract/activities.ts';
import { afterStop } from './after-stop.ts';
import { activity } from './attempt.ts';
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

export function createActivities(deps: Deps): Activities {
  return {
    openRun: activity(openRun(deps)),
    callModel: activity(callModel(deps)),
    findReply: activity(findReply(deps)),
    runTool: activity(runTool(deps)),
    commit: activity(commit(deps)),
    compact: activity(compact(deps)),
    collapse: activity(collapse(deps)),
    runStopHooks: activity(runStopHooks(deps)),
    summarizeBatch: activity(summarizeBatch(deps)),
    afterStop: activity(afterStop(deps)),
  };
}
