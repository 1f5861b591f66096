// Counts the sessions of views that a browser keeps.
import type { PagePorts } from '../ports.ts';
import { sumCounts } from '../frame/frame-state.tsx';
import { filterProblem, readFleetView, wholeFilter } from './fleet-view.ts';

/** More views have no counts. */
const MOST = 20;

/** By address, as a view is kept; null for one that cannot be counted. */
export async function countViews(
  { counts }: Pick<PagePorts, 'counts'>,
  addresses: readonly string[],
): Promise<readonly (number | null)[]> {
  const counted = addresses.slice(0, MOST).map(async (address) => {
    if (!address.startsWith('/?')) return null;
    const filter = wholeFilter(readFleetView(new URLSearchParams(address.slice(2))));
    return filterProblem(filter) === null ? sumCounts(await counts({ filter })) : null;
  });
  return Promise.all(counted);
}
