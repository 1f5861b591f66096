// Builds the segment that new entries make after a view.
import type { Hash } from '../../workflows/contract/ids.ts';
import type { View } from './shared-view.ts';
import type { Entry } from '../log/entries.ts';
import { behindOf } from './behind.ts';
import { encodeSegment, hasNear, hasPage } from '../log/segments.ts';
import { hashOf } from '../values/store.ts';

export type NextSegment = {
  readonly hash: Hash;
  readonly bytes: Uint8Array;
  /** The view with the segment, valid once `bytes` are stored. */
  readonly view: View;
};

/**
 * Returns the segment that `entries` (at least one) make after `view`. It is not stored: give
 * `bytes` to `put` or `writeStep`.
 */
export function nextSegment(view: View, entries: readonly Entry[]): NextSegment {
  if (entries.length === 0) throw new RangeError('a segment needs at least one entry');
  const bounded = entries.some(({ kind }) => kind === 'boundary');
  const behind = bounded ? behindOf([...view.entries, ...entries], view.begin) : undefined;
  const bytes = encodeSegment({
    v: 1,
    session: view.session,
    parent: view.head,
    n: view.segments,
    first: view.length,
    ...(hasPage(view.segments) && { page: view.recent }),
    ...(hasNear(view.segments) && { near: view.recent }),
    ...(behind && { behind }),
    entries,
  });
  const hash = hashOf(bytes);
  return { hash, bytes, view: view.grow({ hash, bytes: bytes.length, entries }) };
}
