// Finds the server that already runs on a database, and makes sure of it before it is used.
import type { DataFolder } from '../../connection/data-folder.ts';
import {
  markComplete,
  recordServer,
  findRunningServer,
  type ServerRecord,
  findUnrecordedServer,
} from './server-record.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import { waitReady } from './wait-ready.ts';

/**
 * Milliseconds, longer than a start takes on a busy machine: its starter may have been killed a
 * moment ago.
 */
const ANSWER_MS = 15_000;

/**
 * Resolves to null when no server runs. The caller holds the folder's lock, so that none can come
 * meanwhile. Throws SetupProblem when one runs and does not answer: another one would share its
 * database.
 */
export async function findReadyServer(folder: DataFolder): Promise<ServerRecord | null> {
  const running = findRunningServer(folder) ?? findAndRecord(folder);
  if (running === null) return null;
  const hasEnded = () => findRunningServer(folder) === null;
  const ready = await waitReady(running.address, ANSWER_MS, hasEnded);
  if (ready.kind === 'ready') {
    markComplete(folder);
    return running;
  }
  if (hasEnded()) return null;
  const remedy = `stop it with \`kill -9 ${running.pid}\` and try again`;
  throw new SetupProblem(
    `the Temporal server of ${folder.root}, process ${running.pid}, does not answer at ${running.address} (${ready.why}): ${remedy}`,
  );
}

function findAndRecord(folder: DataFolder): ServerRecord | null {
  const found = findUnrecordedServer(folder);
  if (found !== null) recordServer(folder, found);
  return found;
}
