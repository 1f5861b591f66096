// A boundary that was made while the run went on (L9). Once appended it stands for what it
// summarises, unless that has been changed meanwhile.
import type { Append, AppendedFacts } from '../../workflows/contract/append.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import { readMarks } from './marks.ts';
import { hashOf, type Store, StoreError } from '../values/store.ts';
import { taskListOf } from '../view/task-list.ts';
import type { BoundaryEntry, Entry } from '../log/entries.ts';

/** `at` is how many entries there were when it was made. */
type PreparedBoundary = { readonly at: number; readonly boundary: BoundaryEntry };

export function encodeBoundary(
  boundary: BoundaryEntry,
  at: number,
): { readonly hash: Hash; readonly bytes: Uint8Array } {
  const bytes = new TextEncoder().encode(JSON.stringify({ at, boundary } satisfies PreparedBoundary));
  return { hash: hashOf(bytes), bytes };
}

/**
 * Returns the boundary as it is to be appended to `entries`, or null when the model would no longer
 * see what it was made from. Throws StoreError.
 */
export async function takeBoundary(
  store: Pick<Store, 'get'>,
  hash: Hash,
  entries: readonly Entry[],
): Promise<BoundaryEntry | null> {
  const bytes = await store.get(hash);
  if (!bytes)
    throw new StoreError('missing', `the prepared boundary ${hash} is not there: restore the store from a backup`);
  const { at, boundary } = JSON.parse(new TextDecoder().decode(bytes)) as PreparedBoundary;
  if (entries.slice(at).some(changesEarlier)) return null;
  const { tasks: _then, bareBefore: _before, ...stored } = boundary;
  const tasks = taskListOf(entries);
  const { bareBefore } = readMarks(entries);
  return { ...stored, ...(tasks !== null && { tasks }), ...(bareBefore > 0 && { bareBefore }) };
}

/** `added`: what became of `append`, before anything else of the step. */
export function findLeftOut(append: readonly Append[], { added }: { readonly added: readonly Entry[] }): AppendedFacts {
  const wasAsked = append.some(({ kind }) => kind === 'prepared_boundary');
  return wasAsked && !added.some(({ kind }) => kind === 'boundary') ? { leftOut: true } : {};
}

function changesEarlier(entry: Entry): boolean {
  return entry.kind === 'boundary' || entry.kind === 'epoch' || entry.kind === 'snip' || entry.kind === 'microcompact';
}
