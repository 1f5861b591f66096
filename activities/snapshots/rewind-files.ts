// The activity that brings the folders of a session back to snapshots (T7).
import type { FilesRewound, RewindFiles } from '../../workflows/contract/rewind.ts';
import type { Attempt } from '../attempt.ts';
import type { Deps } from '../deps.ts';

export function rewindFiles({ snapshots }: Deps): (attempt: Attempt, input: RewindFiles) => Promise<FilesRewound> {
  return async (attempt, input) => {
    if (!snapshots) return { kind: 'refused', problem: 'this worker has no snapshots' };
    return await snapshots.rewind({ ...input, attempt });
  };
}
