// Replays histories with today's workflow, all on one replay worker. Several worlds of a tier's sessions are gathered while its tests
// run and replayed at the end of each file: what a task did once, it does again.
import { readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from '@temporalio/worker';
import type { Client } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import { bundlePath } from '../../worker/bundle.ts';
import { chainOf, type Chained } from './chain.ts';
import { oneRuntime } from './one-runtime.ts';

type History = temporal.api.history.v1.IHistory;
type Named = { readonly workflowId: string; readonly history: History };

/** Why each of them does not replay, by its name. It is replayed under its own id, of which those of its children are made. */
export async function replayProblems(histories: readonly Named[]): Promise<ReadonlyMap<string, string>> {
  const problems = new Map<string, string>();
  if (histories.length === 0) return problems;
  refuseOldBundle();
  oneRuntime();
  const options = { workflowBundle: { codePath: bundlePath() } };
  const named = histories.map(({ workflowId: name, history }) => {
    const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
    return { name, history, workflowId: started?.workflowId || name, runId: started?.originalExecutionRunId ?? '' };
  });
  for await (const { runId, error } of Worker.runReplayHistories(options, named)) {
    const { name = runId } = named.find((each) => each.runId === runId) ?? {};
    if (error) problems.set(name, error.message);
  }
  return problems;
}

/** Else a change that is not built yet is said not to replay. */
function refuseOldBundle(): void {
  const folder = fileURLToPath(new URL('../../workflows/', import.meta.url));
  const built = statSync(bundlePath()).mtimeMs;
  const newer = readdirSync(folder, { recursive: true, encoding: 'utf8' }).find(
    (name) => name.endsWith('.ts') && statSync(`${folder}${name}`).mtimeMs > built,
  );
  if (newer !== undefined) throw new Error(`workflows/${newer} is newer than ${bundlePath()}: npm run build`);
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
