// Folders of one session that lie in each other, as when it worked in one and later in the one
// above: the newest knowledge of either counts, and each file goes back with one of them alone.
import { relative } from 'node:path';
import { isInside } from '../../system/process/places.ts';
import { type Entry, rewoundIn } from '../log/entries.ts';
import { knowledgeIn } from './snapshot-points.ts';
import { isFolder, parseChanges, type RawPath } from './listing.ts';
import { readSnapshotNotes } from './read-notes.ts';
import { gitArguments, nameTree, shadowEnvironment, type ShadowReading } from './shadow.ts';
import { barePath, ITSELF, permissionsAt, type PermissionsNote } from './snapshot-notes.ts';

/** A folder and a snapshot of it that the session knows. */
export type NestedRoot = { readonly root: string; readonly known: string };

const isNested = (one: string, other: string): boolean =>
  one !== other && (isInside(one, other) || isInside(other, one));

/** Returns the folders that lie in one, or around it. */
export function nestedWith(root: string, known: ReadonlyMap<string, string>): readonly NestedRoot[] {
  return [...known].flatMap(([other, id]) => (isNested(root, other) ? [{ root: other, known: id }] : []));
}

/** Drops folders of which one around them tells later: `entries` are those that tell of all. */
export function withoutOutdated(roots: readonly string[], entries: readonly Entry[]): readonly string[] {
  const latest = new Map<string, number>();
  for (const [at, entry] of entries.entries()) {
    for (const { root } of knowledgeIn(entry)) latest.set(root, at);
    // What a rewind only tells of is older than what it brings back.
    for (const { root } of rewoundIn(entry)?.files ?? []) latest.set(root, at + 0.5);
  }
  const timeOf = (root: string): number => latest.get(root) ?? -1;
  return roots.filter(
    (root) => !roots.some((other) => other !== root && isInside(other, root) && timeOf(other) > timeOf(root)),
  );
}

const wayTo = (from: string, to: string): RawPath => Buffer.from(relative(from, to)).toString('latin1');

/** Returns the ways from a folder to those of the others that lie in it. */
export const waysBelow = (root: string, others: readonly { readonly root: string }[]): readonly RawPath[] =>
  others.flatMap((other) => (other.root !== root && isInside(root, other.root) ? [wayTo(root, other.root)] : []));

/** Returns those of the paths in a folder that are not as one of the nested folders knows them. */
export async function findUnknown(
  reading: ShadowReading,
  { root, now, nested }: { readonly root: string; readonly now: string; readonly nested: readonly NestedRoot[] },
  paths: readonly RawPath[],
): Promise<readonly RawPath[]> {
  let left = paths;
  for (const other of nested) {
    if (left.length === 0) break;
    const isOuter = isInside(other.root, root);
    const way = isOuter ? wayTo(other.root, root) : wayTo(root, other.root);
    const candidates = left.filter((path) => isOuter || path.startsWith(`${way}/`));
    if (candidates.length === 0) continue;
    const there = (path: RawPath): RawPath =>
      isOuter ? `${way}/${path === ITSELF ? '' : path}` : path.slice(way.length + 1) || ITSELF;
    const differs = await createComparison(reading, { now, known: other.known, way, isOuter });
    const known = new Set(candidates.filter((path) => !differs(path, there(path))));
    left = left.filter((path) => !known.has(path));
  }
  return left;
}

type Compared = { readonly now: string; readonly known: string; readonly way: RawPath; readonly isOuter: boolean };

/** Compares a path of `now` with the same one as `known` has it. What cannot be read differs. */
async function createComparison(
  reading: ShadowReading,
  { now, known, way, isOuter }: Compared,
): Promise<(here: RawPath, there: RawPath) => boolean> {
  const below = Buffer.from(way, 'latin1').toString('utf8');
  const trees = [now, known].map((id) => nameTree(id, 'files')) as [string, string];
  trees[isOuter ? 1 : 0] += `/${below}`;
  const { gitDir, git, run } = reading;
  const args = ['diff-tree', '-r', '-z', '--raw', '--numstat', '--no-renames', '--end-of-options', ...trees];
  try {
    const printed = await run(gitArguments(git, { gitDir }, args), { env: shadowEnvironment(), cwd: gitDir });
    const contents = new Set(parseChanges(printed).map(({ path }) => path));
    const [has, had] = await Promise.all([readSnapshotNotes(reading, now), readSnapshotNotes(reading, known)]);
    return (here, there) =>
      contents.has(isOuter ? here : there) || isOther([has.permissions, here], [had.permissions, there]);
  } catch {
    return () => true;
  }
}

type Noted = readonly [note: PermissionsNote, path: RawPath];

/** Which of the modes a file has is told apart with its content. */
function isOther(one: Noted, other: Noted): boolean {
  const at = ([note, path]: Noted, mode: string): number | undefined => permissionsAt(note, barePath(path), mode);
  const modes = isFolder(one[1]) ? ['folder'] : ['100644', '100755'];
  return modes.every((mode) => at(one, mode) !== at(other, mode));
}
