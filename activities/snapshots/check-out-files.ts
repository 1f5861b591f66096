// The activity that checks the files of a fork out into a folder of its own (T10).
import type { CheckOutFiles, FilesCheckedOut } from '../../workflows/contract/fork.ts';
import type { Attempt } from '../attempt.ts';
import type { Deps } from '../deps.ts';

export function checkOutFiles({
  snapshots,
}: Deps): (attempt: Attempt, input: CheckOutFiles) => Promise<FilesCheckedOut> {
  return async (attempt, input) => {
    if (!snapshots) return { kind: 'refused', problem: 'this worker has no snapshots' };
    return await snapshots.checkOut({ ...input, attempt });
  };
}
