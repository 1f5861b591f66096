// Tells what has changed in a folder from what is captured of it: a file that only one of two
// snapshots has may have been there at both times (T2).
import type { RawPath, SnapshotChange } from './listing.ts';
import { createAbsenceJudge } from './read-notes.ts';
import { gitArguments, requireSnapshotId, shadowEnvironment, type ShadowReading } from './shadow.ts';
import type { UncapturedWhy } from './snapshot-notes.ts';

const REASONS: Readonly<Record<UncapturedWhy, string>> = {
  ignored: 'a rule ignored it',
  large: 'it was too large',
  files: 'there were too many files',
  bytes: 'there were too many bytes',
  unreadable: 'it could not be read',
  no_file: 'a pipe, a socket or a device was there',
  repository: 'it lay in a repository that was left out',
  git: "it was git's own",
  data: "it was Perdure's own data",
};

/** Says why a file was not captured; `when` is as in `it was not captured then`. */
export const describeUncaptured = (why: UncapturedWhy, when: string): string => `${when} (${REASONS[why]})`;

/** Says it of a file that may not have changed, as in `no longer captured (it was too large)`. */
export const describeUnchanged = ({ kind, why }: Uncaptured): string =>
  describeUncaptured(why, kind === 'deleted' ? 'no longer captured' : 'not captured before');

/** The paths in a snapshot's tree that decide whether a file is captured. */
const DECIDING = ['omitted', 'rules', ':(glob)files/**/.gitignore'];

/** A file that one of two snapshots lacks may be there, or have been there, all the same. */
export type Uncaptured = { readonly kind: 'added' | 'deleted'; readonly why: UncapturedWhy };

/** Returns those of the changes between two snapshots that may be none. */
export async function findUncaptured(
  reading: ShadowReading,
  { from, to }: { readonly from: string; readonly to: string },
  changes: readonly Pick<SnapshotChange, 'path' | 'kind'>[],
): Promise<ReadonlyMap<RawPath, Uncaptured>> {
  const pathsOf = (kind: Uncaptured['kind']): readonly RawPath[] =>
    changes.flatMap((change) => (change.kind === kind ? [change.path] : []));
  const added = pathsOf('added');
  const candidates = [...added, ...pathsOf('deleted')];
  // A file that was captured stays captured, and one that a rule ignores all the time may have been
  // captured in between.
  if (candidates.length === 0 || (added.length === 0 && !(await hasDecidedAnew(reading, from, to)))) return new Map();
  // A file that is new where much is left out is told as new: nothing is lost by that.
  const before = await createAbsenceJudge(reading, from, candidates, 'of listed');
  const after = await createAbsenceJudge(reading, to, candidates);
  const judge = (kind: Uncaptured['kind'], [lacks, has]: readonly (typeof before)[]) =>
    pathsOf(kind).flatMap((path): readonly (readonly [RawPath, Uncaptured])[] => {
      const why = lacks?.(path) ?? null;
      // One that was captured whatever rule ignored it was not left out for that rule.
      const stayed = kind === 'deleted' && why === 'ignored' && has?.(path) === 'ignored';
      return why === null || stayed ? [] : [[path, { kind, why }]];
    });
  return new Map([...judge('deleted', [after, before]), ...judge('added', [before, after])]);
}

/** Where nothing that decides it differs, a file is captured in both or in none. */
async function hasDecidedAnew({ gitDir, git, run }: ShadowReading, from: string, to: string): Promise<boolean> {
  for (const tree of [from, to]) requireSnapshotId(tree);
  const args = ['diff-tree', '-r', '--name-only', '-z', '--end-of-options', from, to, '--', ...DECIDING];
  return (await run(gitArguments(git, { gitDir }, args), { env: shadowEnvironment(), cwd: gitDir })) !== '';
}
