// The activities that bring the folders of a session back to snapshots, and that look what this
// would do (T7).
import type { FilesPreview, FilesRewound, RewindFiles } from '../../workflows/contract/rewind.ts';
import type { Attempt } from '../attempt.ts';
import type { Deps } from '../deps.ts';

const NO_SNAPSHOTS = { kind: 'refused', problem: 'this worker has no snapshots' } as const;

export function rewindFiles({ snapshots }: Deps): (attempt: Attempt, input: RewindFiles) => Promise<FilesRewound> {
  return async (attempt, input) => (snapshots ? await snapshots.rewind({ ...input, attempt }) : NO_SNAPSHOTS);
}

export function previewRewind({ snapshots }: Deps): (attempt: Attempt, input: RewindFiles) => Promise<FilesPreview> {
  return async (attempt, input) => (snapshots ? await snapshots.preview({ ...input, attempt }) : NO_SNAPSHOTS);
}
