// The lock under which the processes of a data folder decide who starts, stops, joins and leaves
// its server. It is not reentrant.
import type { DataFolder } from '../../connection/data-folder.ts';
import { withLock } from '../../system/process/file-lock.ts';

/** Milliseconds, longer than a start or a stop takes at its worst. */
const WAIT_MS = 90_000;

/** Runs `work` under the lock. Throws SetupProblem when another process keeps it for too long. */
export function withFolderLock<T>(folder: Pick<DataFolder, 'root' | 'lockDir'>, work: () => Promise<T>): Promise<T> {
  const doing = `starting or stopping the Temporal server of ${folder.root}`;
  return withLock(folder.lockDir, { doing, waitMs: WAIT_MS }, work);
}
