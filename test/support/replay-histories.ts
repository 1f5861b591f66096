// Replays histories with today's workflow, all on one replay worker. Several worlds of a tier's sessions are gathered while its tests
// run and replayed at the end of each file: what a task did once, it does again.
import { Worker } from '@temporalio/worker';
import type { Client } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import { bundlePath } from '../../worker/bundle.ts';
import { chainOf, type Chained } from './chain.ts';
import { oneRuntime } from './one-runtime.ts';

type History = temporal.api.history.v1.IHistory;
type Named = { readonly workflowId: string; readonly history: History };

/** Why each of them does not replay, by its name. */
export async function replayProblems(histories: readonly Named[]): Promise<ReadonlyMap<string, string>> {
  const problems = new Map<string, string>();
  if (histories.length === 0) return problems;
  oneRuntime();
  const options = { workflowBundle: { codePath: bundlePath() } };
  for await (const { workflowId, error } of Worker.runReplayHistories(options, histories)) {
    if (error) problems.set(workflowId, error.message);
  }
  return problems;
}

let gathered: Named[] = [];

/** Every run of its chain, for the end of the file. */
export async function gatherChain(client: Client, session: Chained): Promise<void> {
  let run = 0;
  for await (const history of chainOf(client, session)) {
    run += 1;
    gathered.push({ workflowId: run === 1 ? session.id : `${session.id}+${run}`, history });
  }
}

/** What has been gathered, which is forgotten. */
export async function replayGathered(): Promise<ReadonlyMap<string, string>> {
  const histories = gathered;
  gathered = [];
  return replayProblems(histories);
}
