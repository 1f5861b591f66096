// The files of a session's folder as they were captured last, with their contents: those that the
// folder has now may be on another machine.
import type { Entry } from '../../../store/log/entries.ts';
import { hasSnapshot, listHeldFiles, type ShadowReading } from '../../../store/snapshots/compare.ts';
import { lastSnapshots, withMovedRoots } from '../../../store/snapshots/snapshot-points.ts';
import { showPath } from '../../../store/snapshots/listing.ts';
import { fetchPacks } from '../../../store/snapshots/packs.ts';
import { readBlobs } from '../../../store/snapshots/read-blobs.ts';
import type { Store } from '../../../store/values/store.ts';

/** `blob`: the hash of its content, by which `read` finds it. */
export type CapturedFile = { readonly path: string; readonly blob: string };

export type CapturedFolder = {
  /** Regular files in the order of their paths, which are relative to the folder. */
  readonly files: readonly CapturedFile[];
  /** Yields contents in the order of their hashes. Rejects with what git said. */
  read(blobs: readonly string[]): AsyncGenerator<readonly [blob: string, content: Buffer]>;
};

/** Returns null for a folder that was never captured. Throws StoreError, ClientProblem. */
export async function readCapturedFolder(
  open: () => { readonly reading: ShadowReading; readonly store: Pick<Store, 'get'> },
  entries: readonly Entry[],
  root: string,
): Promise<CapturedFolder | null> {
  const id = lastSnapshots(withMovedRoots(entries)).get(root);
  if (id === undefined) return null;
  const { reading, store } = open();
  if (!(await hasSnapshot(reading, id))) await fetchPacks(reading, store, entries);
  const files = (await listHeldFiles(reading, id)).map(({ path, blob }) => ({ path: showPath(path), blob }));
  return { files, read: (blobs) => readBlobs(reading, blobs) };
}
