// The server that already runs on a database, found and made sure of before anyone uses it.
import type { DataFolder } from './data-folder.ts';
import { markComplete, recordServer, runningServer, type ServerRecord, unrecordedServer } from './server-record.ts';
import { SetupProblem } from './setup-problem.ts';
import { waitReady } from './wait-ready.ts';

/** Longer than a start takes on a busy machine: its starter may have been killed a moment ago. */
const ANSWER_MS = 15_000;

/**
 * Null when none runs. The caller holds the folder's lock, so that none can come meanwhile.
 * Throws SetupProblem when one runs and does not answer: another beside it would share its database.
 */
export async function readyServer(folder: DataFolder): Promise<ServerRecord | null> {
  const running = runningServer(folder) ?? recordFound(folder);
  if (running === null) return null;
  const gone = () => runningServer(folder) === null;
  const ready = await waitReady(running.address, ANSWER_MS, gone);
  if (ready.kind === 'ready') {
    markComplete(folder);
    return running;
  }
  if (gone()) return null;
  const remedy = `stop it with \`kill -9 ${running.pid}\` and try again`;
  throw new SetupProblem(
    `the Temporal server of ${folder.root}, process ${running.pid}, does not answer at ${running.address} (${ready.why}): ${remedy}`,
  );
}

function recordFound(folder: DataFolder): ServerRecord | null {
  const found = unrecordedServer(folder);
  if (found !== null) recordServer(folder, found);
  return found;
}
