// The activity port, implemented: bodies bound to their dependencies and to Temporal's attempt.
import type { Activities } from '../workflows/contract/activities.ts';
import { activity } from './attempt.ts';
import { callModel } from './call-model.ts';
import { commit } from './commit.ts';
import type { Deps } from './deps.ts';
import { openRun } from './open-run.ts';
import { runTool } from './run-tool.ts';

export function createActivities(deps: Deps): Activities {
  return {
    openRun: activity(openRun(deps)),
    callModel: activity(callModel(deps)),
    runTool: activity(runTool(deps)),
    commit: activity(commit(deps)),
  };
}
