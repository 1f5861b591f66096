// Results refused because their call had ended, or wasn't given to their sender (G50). They change
// nothing and are kept as evidence; the model learns of those whose call was concluded as unknown
// (G58).
import { createHash } from 'node:crypto';
import type { SettledEntry } from '../../workflows/contract/waits.ts';
import { ResourceLog } from '../values/resource-log.ts';
import { keySegment, type Store } from '../values/store.ts';

/** `id`: of the event that tells of the call. `settled`: the end that it would have had. */
export type RefusedResult = {
  readonly id: string;
  readonly why: 'late' | 'not_given';
  readonly work?: string;
  readonly settled: SettledEntry;
};

/** Results that are kept of one session and of one item of its work, the first. */
const MOST_REFUSED = 100;
const MOST_OF_ITEM = 20;

type Place = { readonly store: Store; readonly session: string };

const logOf = ({ store, session }: Place, now: () => number): ResourceLog<RefusedResult> =>
  new ResourceLog({ store, now, name: `refused-${keySegment(session)}` });

/** A repeat is kept once. Throws StoreError. */
export function keepRefused(place: Place, refused: RefusedResult): Promise<void> {
  const { call, by = '', result, at } = refused.settled;
  const name = createHash('sha256')
    .update(JSON.stringify([call, by, result]))
    .digest('hex');
  return logOf(place, () => at).append(by, (all) =>
    all.has(name) || isFull(all, refused.work) ? null : { id: name, item: refused },
  );
}

function isFull(all: ReadonlyMap<string, RefusedResult>, work: string | undefined): boolean {
  const ofItem = [...all.values()].filter((one) => one.work === work).length;
  return all.size >= MOST_REFUSED || (work !== undefined && ofItem >= MOST_OF_ITEM);
}

/** Returns the refused results of a session, oldest first. Throws StoreError. */
export async function readRefused(place: Place): Promise<readonly RefusedResult[]> {
  return [...(await logOf(place, Date.now).read()).values()];
}
