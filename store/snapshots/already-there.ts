// Finds files that no snapshot of a folder as it is now holds, and that are all the same as another
// snapshot has them (T7): beyond a bound, or ignored by now. There is nothing to restore of them.
import { lstatSync } from 'node:fs';
import { listHeldPairs } from './compare.ts';
import { modeOf } from './folder-index.ts';
import { bytesOf, type RawPath } from './listing.ts';
import { readBlobs } from './read-blobs.ts';
import { readContent } from './read-content.ts';
import type { ShadowReading } from './run-held.ts';
import type { ShadowPlace } from './shadow.ts';

/** Returns those of `paths`, which `now` lacks, that lie in the folder as `to` has them. */
export async function findAlreadyThere(
  reading: ShadowReading & Pick<ShadowPlace, 'root'>,
  { now, to }: { readonly now: string; readonly to: string },
  paths: readonly RawPath[],
): Promise<ReadonlySet<RawPath>> {
  if (paths.length === 0) return new Set();
  const asked = new Set(paths);
  const wanted = new Map<string, { readonly path: RawPath; readonly mode: string }[]>();
  for (const { path, to: held } of await listHeldPairs(reading, { from: now, to, paths: [] })) {
    if (!held || !asked.has(path)) continue;
    const same = wanted.get(held.blob) ?? [];
    wanted.set(held.blob, same);
    same.push({ path, mode: held.mode });
  }
  const found = new Set<RawPath>();
  for await (const [blob, content] of readBlobs(reading, [...wanted.keys()]))
    for (const { path, mode } of wanted.get(blob) ?? [])
      if (isLike(placeOf(reading.root, path), mode, content)) found.add(path);
  return found;
}

const placeOf = (root: string, path: RawPath): Buffer => Buffer.concat([Buffer.from(`${root}/`), bytesOf(path)]);

/** What cannot be looked at is like nothing. */
function isLike(place: Buffer, mode: string, content: Buffer): boolean {
  try {
    const stats = lstatSync(place);
    if (modeOf(stats) !== mode || stats.size !== content.length) return false;
    const there = readContent(place, stats.isSymbolicLink(), content.length);
    return typeof there !== 'string' && there.equals(content);
  } catch {
    return false;
  }
}
